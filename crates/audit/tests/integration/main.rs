//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-audit --test integration ledger::`.

#[path = "../../../wallet/tests/integration/harness/mod.rs"]
mod harness;
#[path = "../../../wallet/tests/integration/house/mod.rs"]
mod house;
mod ledger;
mod receipts;
mod reconcile;
mod scribe;
mod verify;
