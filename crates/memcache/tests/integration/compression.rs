//! Compressed values: what the server has, what other clients wrote, and what cannot be read.

use std::fs;
use std::io::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use stadium_memcache::protocol::{COMPRESSED, CompressionError, Dialect, compress};
use stadium_memcache::{Client, Config, Error, Expiry, Recache, Stored};

use crate::memcached::{Memcached, vectors};

const NEVER: Expiry = Expiry::Never;

fn compressing(server: &Memcached) -> Client {
    Client::with(Config { compress_from: Some(100), ..server.config() }).unwrap()
}

/// A value as the server has it, and its flags.
fn stored(server: &Memcached, key: &str) -> (Vec<u8>, u32) {
    let mut stream = std::os::unix::net::UnixStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    write!(stream, "get {key}\r\n").unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while !answer.ends_with(b"END\r\n") {
        let bytes = std::io::Read::read(&mut stream, &mut buffer).unwrap();
        assert!(bytes > 0);
        answer.extend_from_slice(&buffer[..bytes]);
    }
    let line_end = answer.windows(2).position(|pair| pair == b"\r\n").unwrap();
    let line = String::from_utf8(answer[..line_end].to_vec()).unwrap();
    let flags = line.split(' ').nth(2).unwrap().parse().unwrap();
    (answer[line_end + 2..answer.len() - 7].to_vec(), flags)
}

#[test]
fn large_values_are_compressed_and_come_back_through_every_read() {
    let server = Memcached::unix(&[]);
    let client = compressing(&server);
    let text = "some text, ".repeat(50).into_bytes();
    client.set_flagged("k", &text, 7, NEVER).unwrap().wait().unwrap();
    let (bytes, flags) = stored(&server, "k");
    assert_eq!(flags, COMPRESSED | 7);
    assert_eq!(bytes, compress(&text).unwrap());
    for client in [client.clone(), server.client()] {
        let value = client.get("k").unwrap().unwrap();
        assert_eq!((value.bytes, value.flags), (text.clone(), 7));
        let mut buffer = Vec::new();
        assert_eq!(client.get_into("k", &mut buffer), Ok(Some(7)));
        assert_eq!(buffer, text);
        let value = client.gets("k").unwrap().unwrap();
        assert_eq!(value.bytes, text);
        assert_eq!(client.fetch("k").unwrap().wait().unwrap().unwrap().bytes, text);
        assert_eq!(client.multiget(&["k"]).remove(0).unwrap().unwrap().bytes, text);
        let how = Recache { lease: Duration::from_secs(5), early: Duration::ZERO };
        let read = client.read_through("k", &how, NEVER, || Err::<Vec<u8>, _>(Error::Timeout));
        assert_eq!(read.unwrap().bytes, text);
    }
    assert_eq!(client.replace("k", [1; 200], NEVER).unwrap().wait(), Ok(Stored::Stored));
    assert_eq!(stored(&server, "k").1, COMPRESSED);
    assert_eq!(client.add("added", [1; 200], NEVER).unwrap().wait(), Ok(Stored::Stored));
    assert_eq!(client.get("added").unwrap().unwrap().bytes, [1; 200]);
}

#[test]
fn values_that_are_short_or_do_not_shrink_are_stored_as_they_are() {
    let server = Memcached::unix(&[]);
    let client = compressing(&server);
    let mut random = fastrand::Rng::with_seed(3);
    let noise: Vec<u8> = (0..2_000).map(|_| random.u8(..)).collect();
    for value in [vec![b'a'; 99], noise] {
        client.set("k", &value, NEVER).unwrap().wait().unwrap();
        assert_eq!(stored(&server, "k"), (value, 0));
    }
    client.set("number", "11111111111111111111", NEVER).unwrap().ignore();
    client.set("number", "1", NEVER).unwrap().ignore();
    assert_eq!(client.incr("number", 1).unwrap().wait(), Ok(Some(2)));
    let wrong = Client::with(Config { compress_from: Some(31), ..server.config() });
    assert!(matches!(wrong, Err(Error::Config(_))));
}

#[test]
fn flags_that_are_reserved_and_values_that_cannot_be_read_are_typed_errors() {
    for dialect in [Dialect::Meta, Dialect::Classic] {
        let server = Memcached::unix(&[]);
        let config = Config { value_bytes_max: 10_000, compress_from: Some(100), ..server.config() };
        let client = Client::with(Config { dialect: Some(dialect), ..config }).unwrap();
        let flags = COMPRESSED | 1;
        assert_eq!(
            client.set_flagged("k", "v", flags, NEVER).map(drop).unwrap_err(),
            Error::BadFlags { flags }
        );
        let too_large = Error::TooLarge { bytes: 10_001, bytes_max: 10_000 };
        assert_eq!(client.set("k", [0; 10_001], NEVER).map(drop).unwrap_err(), too_large);

        client.set("k", [7; 200], NEVER).unwrap().ignore();
        client.append("k", "more").unwrap().ignore();
        let damaged = Error::Compression(CompressionError::Damaged);
        assert_eq!(client.get("k").unwrap_err(), damaged);
        assert_eq!(client.fetch("k").unwrap().wait().unwrap_err(), damaged);

        // Another client with a greater bound: a bomb for this one.
        Client::with(Config { compress_from: Some(100), ..server.config() })
            .unwrap()
            .set("bomb", vec![0; 1 << 20], NEVER)
            .unwrap()
            .wait()
            .unwrap();
        let bomb = Error::Compression(CompressionError::TooLong { bytes_max: 10_000 });
        assert_eq!(client.get("bomb").unwrap_err(), bomb);
        client.set("k", "v", NEVER).unwrap().ignore();
        assert_eq!(client.get("k").unwrap().unwrap().bytes, b"v", "the connection goes on");
    }
}

#[test]
fn values_of_other_clients_are_read() {
    let text = fs::read_to_string(vectors().join("compressed.json")).unwrap();
    let vectors: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(vectors["flag"].as_u64(), Some(COMPRESSED.into()));
    let server = Memcached::unix(&[]);
    let client = server.client();
    for one in vectors["values"].as_array().unwrap() {
        let name = one["name"].as_str().unwrap();
        let flags = u32::try_from(one["stored_flags"].as_u64().unwrap()).unwrap();
        let stored = STANDARD.decode(one["stored_base64"].as_str().unwrap()).unwrap();
        // As the other client wrote it, by hand.
        let mut stream = std::os::unix::net::UnixStream::connect(&server.address).unwrap();
        write!(stream, "set {name} {flags} 0 {}\r\n", stored.len()).unwrap();
        stream.write_all(&stored).unwrap();
        write!(stream, "\r\n").unwrap();
        let mut answer = [0; 8];
        std::io::Read::read_exact(&mut stream, &mut answer).unwrap();
        assert_eq!(&answer, b"STORED\r\n");
        match one["value_base64"].as_str() {
            Some(value) => {
                let value = STANDARD.decode(value).unwrap();
                let read = client.get(name).unwrap().unwrap();
                assert_eq!(read.bytes, value, "{name}");
                assert_eq!(Some(u64::from(read.flags)), one["flags"].as_u64(), "{name}");
            }
            None => assert!(matches!(client.get(name), Err(Error::Compression(_))), "{name}"),
        }
    }
}
