//! Sessions that an operator has forgotten: nothing of them is left, and their wills are not
//! published.

use crate::spec::support::*;

/// An operator has a session forgotten: connected, or away with a will that waits.
#[test]
fn a_session_that_is_forgotten_publishes_no_will() {
    for is_away in [false, true] {
        let mut stage = Stage::new();
        let watcher = stage.client("watcher", V5);
        stage.subscribe_as(watcher, "gone", options(ExactlyOnce), None);
        let link = stage.connect(Connect {
            session_expiry_s: Some(600),
            will: Some(Will { delay_s: 10, ..will("gone", b"w") }),
            ..clean("c", V5)
        });
        if is_away {
            stage.server.cut(link);
        }
        assert!(stage.server.forget("c"));
        assert!(!stage.server.forget("c"), "it has no session any more");
        stage.server.advance_ms(25 * 3600 * 1000);
        assert_eq!(stage.messages(watcher), []);
        assert!(!stage.connack(staying("c", V5)).1.session_present);
    }
}
