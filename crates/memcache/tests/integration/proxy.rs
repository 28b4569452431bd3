//! twemproxy between the client and two servers. It knows no meta commands, and hangs up on the first one.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use stadium_memcache::{Client, Config, Error, Expiry, Recache, Stored};
use tempfile::TempDir;

use crate::memcached::{Memcached, SOON, free_port};

struct Proxy {
    child: Child,
    address: String,
    _folder: TempDir,
}

impl Proxy {
    fn before(servers: &[Memcached]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = folder.path().join("proxy.sock").to_string_lossy().into_owned();
        let servers: String = servers.iter().map(|server| format!("   - {}:1\n", server.address)).collect();
        let settings =
            format!("pool:\n  listen: {address}\n  hash: md5\n  distribution: ketama\n  servers:\n{servers}");
        let file = folder.path().join("nutcracker.yml");
        std::fs::write(&file, settings).unwrap();
        let mut command = Command::new("nutcracker");
        // Its page of statistics wants a port of its own, which nobody asks.
        command.arg("-c").arg(&file).args(["-a", "127.0.0.1", "-s", &free_port().to_string()]);
        command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("nutcracker starts: apt-get install nutcracker");
        Self { child, address, _folder: folder }
    }

    fn client(&self) -> Client {
        let config = Config::for_servers([&self.address]).unwrap();
        let client = Client::with(Config { timeout: SOON, ..config }).unwrap();
        let begun = Instant::now();
        while let Err(error) = client.get("a") {
            assert!(begun.elapsed() < SOON, "{error}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        client
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn a_proxy_without_the_meta_protocol_is_spoken_to_by_the_classic_one() {
    let servers: Vec<Memcached> = (0..2).map(|_| Memcached::tcp(&[])).collect();
    let proxy = Proxy::before(&servers);
    let client = proxy.client();
    let keys: Vec<String> = (0..100).map(|number| format!("key:{number}")).collect();
    for key in &keys {
        client.set(key, key.as_str(), Expiry::Never).unwrap().ignore();
    }
    let values = client.multiget(&keys);
    for (key, value) in keys.iter().zip(values) {
        assert_eq!(value.unwrap().unwrap().bytes, key.as_bytes());
    }
    for server in &servers {
        let client = server.client();
        assert!(keys.iter().any(|key| client.get(key).unwrap().is_some()), "each server has some");
    }
    client.set("n", "41", Expiry::Never).unwrap().wait().unwrap();
    assert_eq!(client.incr("n", 1).unwrap().wait().unwrap(), Some(42));
    let value = client.gets("n").unwrap().unwrap();
    let stored = client.cas("n", "43", value.cas.unwrap(), Expiry::Never).unwrap().wait().unwrap();
    assert_eq!(stored, Stored::Stored);
    assert!(client.delete("n").unwrap().wait().unwrap());
    assert_eq!(client.get("n").unwrap(), None);
    let recache = Recache { lease: SOON, early: SOON };
    let refused = client.lookup("n", &recache);
    assert!(matches!(refused, Err(Error::NeedsMeta(_))), "{refused:?}");
}
