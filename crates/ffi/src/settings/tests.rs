//! Settings that are wrong, and secrets in them.

use super::{ClientSettings, ServerSettings};
use crate::error::Error;

fn client(json: &str) -> Result<(), Error> {
    ClientSettings::from_json(json)?.config().map(drop)
}

fn server(json: &str) -> Result<(), Error> {
    ServerSettings::from_json(json)?.config().map(drop)
}

fn says(outcome: Result<(), Error>, what: &str) {
    match outcome {
        Err(Error::Invalid(text)) if text.contains(what) => {}
        other => panic!("expected an error about {what:?}: {other:?}"),
    }
}

#[test]
fn wrong_settings_of_a_client_are_named() {
    assert_eq!(client(r#"{"instances": ["127.0.0.1:7800"]}"#), Ok(()));
    says(client(""), "`instances`");
    says(client(r#"{"instances": ["127.0.0.1:7800"], "dead_line_ms": 5}"#), "dead_line_ms");
    says(client(r#"{"instances": ["127.0.0.1:7800"], "deadline_ms": 0}"#), "deadline_ms is 0");
    says(client(r#"{"instances": ["127.0.0.1:7800"], "deadline_ms": "soon"}"#), "line 1");
    says(client(r#"{"instances": ["127.0.0.1:7800"], "attempts": 11}"#), "1 to 10");
    says(client(r#"{"instances": ["127.0.0.1:7800"], "version": "2"}"#), "`discovery`");
    says(client(r#"{"discovery": {"url": "consul://x"}}"#), "consul://x");
    says(client(r#"{"discovery": {"url": "etcd://127.0.0.1:1", "user": "u"}}"#), "password");
    let tls = r#"{"instances": ["127.0.0.1:7800"], "tls": {"authorities": "no PEM", "server_name": "geo"}}"#;
    says(client(tls), "tls");
}

#[test]
fn wrong_settings_of_a_server_are_named() {
    assert_eq!(server(r#"{"listen": ["127.0.0.1:0"]}"#), Ok(()));
    says(server("{}"), "`listen`");
    says(server(r#"{"listen": ["geo"]}"#), "line 1");
    says(server(r#"{"listen": ["127.0.0.1:0"], "loops": 0}"#), "loops is 0");
    says(server(r#"{"listen": ["127.0.0.1:0"], "admission": {"queue": 1}}"#), "`queue`");
    let tls = r#"{"listen": ["127.0.0.1:0"], "tls": {"certificate": "", "key": "", "client_certificate_required": true}}"#;
    says(server(tls), "client_authorities");
}

#[test]
fn secrets_are_not_shown() {
    let settings = ClientSettings::from_json(
        r#"{"instances": ["127.0.0.1:1"], "bearer": "s3cret", "discovery": {"url": "zk://h:1", "password": "s3cret"}}"#,
    );
    assert!(!format!("{settings:?}").contains("s3cret"));
    let settings = ServerSettings::from_json(r#"{"operators_bearer": "s3cret"}"#);
    assert!(!format!("{settings:?}").contains("s3cret"));
}
