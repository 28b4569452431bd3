//! `stadium key` on a running server: what it refuses.
//!
//! The rights of keys are tested where the server asks for them.

use crate::binary;

use binary::{Server, err};

#[test]
fn a_refusal_shows_its_code_once() {
    let server = Server::trial();
    let refused = |arguments: &[&str], code: &str| {
        let output = server.client(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", err(&output));
        assert_eq!(err(&output).matches(code).count(), 1, "{}", err(&output));
    };
    for action in ["rotate", "revoke"] {
        refused(&["key", action, "k_none"], "HTTP-020");
    }
    let listed = server.answers(&["key", "list"]);
    let [admin] = &**listed["keys"].as_array().expect("a list") else { panic!("{listed}") };
    refused(&["key", "revoke", admin["id"].as_str().expect("text")], "HTTP-021");
}
