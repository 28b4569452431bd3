//! libmemcached's tools read what this client wrote, and this client what they wrote.

use std::process::Command;

use stadium_memcache::{Client, Config, Expiry, Routing};

use crate::memcached::Memcached;

fn tool(name: &str, servers: &str, arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(name);
    let output = command.arg(format!("--servers={servers}")).args(arguments).output();
    let output = output.unwrap_or_else(|_| panic!("{name} starts: apt-get install libmemcached-tools"));
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn libmemcached_reads_our_values_and_we_read_its() {
    let server = Memcached::tcp(&[]);
    let client = server.client();
    let value = "a value\nof two lines";
    client.set("ours", value, Expiry::Never).unwrap().wait().unwrap();
    assert_eq!(tool("memccat", &server.address, &["ours"]), format!("{value}\n").into_bytes());

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("theirs");
    let bytes: Vec<u8> = (0..200_000_u32).map(|at| (at * 7 / 3) as u8).collect();
    std::fs::write(&file, &bytes).unwrap();
    tool("memccp", &server.address, &["--set", file.to_str().unwrap()]);
    assert!(client.get("theirs").unwrap().unwrap().bytes == bytes);

    tool("memcrm", &server.address, &["ours"]);
    assert_eq!(client.get("ours").unwrap(), None);
    assert!(String::from_utf8(tool("memcstat", &server.address, &[])).unwrap().contains("cmd_get"));
}

/// memccat without options spreads keys by libmemcached's default, which no other client has: with one
/// server it does not matter, and for ketama the vectors of libmemcached say where keys go.
#[test]
fn ketama_values_are_on_the_server_that_it_names() {
    let servers: Vec<Memcached> = (0..2).map(|_| Memcached::tcp(&[])).collect();
    let config = Config::for_servers(servers.iter().map(|server| &server.address)).unwrap();
    let client = Client::with(Config { routing: Routing::Ketama, ..config }).unwrap();
    for number in 0..20 {
        let key = format!("k{number}");
        client.set(&key, "v", Expiry::Never).unwrap().wait().unwrap();
        let address = client.server_of(&key).unwrap().to_string();
        assert_eq!(tool("memccat", &address, &[&key]), b"v\n");
    }
}
