//! A memcached that asks for a user and a password (`-Y`).

use std::fs;

use stadium_memcache::protocol::Dialect;
use stadium_memcache::{Client, Config, Credentials, Error, Expiry};

use crate::memcached::Memcached;
use crate::operations::every_operation;

const NEVER: Expiry = Expiry::Never;

fn server() -> Memcached {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users");
    fs::write(&path, "ada:secret\ngrace:another\n").unwrap();
    let path = path.display().to_string();
    Memcached::special(&["-Y", &path], folder, |_, config| {
        let credentials = Some(Credentials::new("ada", "secret").unwrap());
        Config { credentials, ..config }
    })
}

#[test]
fn a_user_with_the_password_may_do_everything() {
    for dialect in [None, Some(Dialect::Classic)] {
        let mut server = server();
        let client = Client::with(Config { dialect, ..server.config() }).unwrap();
        every_operation(&client);
        // Each connection logs in.
        server.restart();
        assert_eq!(client.get("a").unwrap(), None);
    }
}

#[test]
fn others_get_a_typed_error_without_the_password_in_it() {
    let server = server();
    let credentials = Credentials::new("ada", "mistaken").unwrap();
    for credentials in [None, Some(credentials)] {
        for dialect in [None, Some(Dialect::Classic)] {
            let config = Config { credentials: credentials.clone(), dialect, ..server.config() };
            assert!(!format!("{config:?}").contains("mistaken"));
            let error = Client::with(config).unwrap().get("k").unwrap_err();
            assert!(matches!(error, Error::Authentication(_)), "{error:?}");
            assert!(!error.to_string().contains("mistaken"), "{error}");
        }
    }
}

#[test]
fn a_server_that_asks_for_nothing_keeps_nothing() {
    let server = Memcached::unix(&[]);
    let credentials = Some(Credentials::new("ada", "secret").unwrap());
    let client = Client::with(Config { credentials, ..server.config() }).unwrap();
    client.set("k", "v", NEVER).unwrap().wait().unwrap();
    assert_eq!(client.get("stadium-memcache-login").unwrap(), None);
}
