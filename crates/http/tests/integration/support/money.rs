//! Accounts and transfers, as the suites about wallets need them.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::{Fixture, eventually};

/// A transfer's id that nobody uses.
pub const ID: &str = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/// A transfer's id, another one each time.
pub fn id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("00000000-0000-4000-8000-{:012x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A server that knows EUR, with accounts of `alice` and `bob`.
pub fn money_scene() -> Fixture {
    let fixture = Fixture::with_queues();
    let made = fixture.put("/api/assets/EUR", r#"{"scale": 2}"#);
    assert_eq!(made.status, 200, "{}", made.text);
    open(&fixture, "alice");
    open(&fixture, "bob");
    fixture
}

/// Opens an account of EUR.
pub fn open(fixture: &Fixture, wallet: &str) {
    let opened = fixture.post("/api/wallets", &json!({"wallet": wallet, "asset": "EUR"}).to_string());
    assert_eq!(opened.status, 201, "{}", opened.text);
}

/// A transfer of EUR under an id of its own.
pub fn transfer(debit: &str, credit: &str, amount: u64) -> Value {
    json!({"id": id(), "debit": debit, "credit": credit, "asset": "EUR", "amount": amount})
}

/// Books a transfer of EUR.
pub fn book(fixture: &Fixture, debit: &str, credit: &str, amount: u64) {
    let booked = fixture.post("/api/transfers", &transfer(debit, credit, amount).to_string());
    assert_eq!(booked.status, 201, "{}", booked.text);
}

/// The posted balance of EUR.
pub fn balance(fixture: &Fixture, wallet: &str) -> i64 {
    let account = fixture.get(&format!("/api/wallets/{wallet}/EUR"));
    account.json()["posted"].as_i64().unwrap_or_else(|| panic!("{}", account.text))
}

/// Waits until the posted balance of EUR is that. A transfer is decided on the shard of its debit; where the credit lives on
/// another one, it is there a short time after the answer.
pub fn comes_to(fixture: &Fixture, wallet: &str, amount: i64) {
    eventually(&format!("{wallet} has {amount}"), || balance(fixture, wallet) == amount);
}
