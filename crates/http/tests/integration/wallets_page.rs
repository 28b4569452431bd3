//! The wallets' page in a real headless Chromium, over real shards.
//!
//! It shows, searches, opens a wallet and a transfer, looks into the past, saves a statement, and fits a phone.

use crate::browser;
use crate::support;

use browser::{Browser, Look};
use serde_json::json;
use support::Fixture;
use support::money::{book, id, money_scene, open, transfer};

const DESKTOP: Look = Look { width: 1440, height: 1100, scheme: "dark", motion: "no-preference" };
const PHONE: Look = Look { width: 390, height: 844, scheme: "light", motion: "no-preference" };

/// Two assets, forty wallets, and a busy one of them: `alice`.
fn busy_scene() -> Fixture {
    let fixture = money_scene();
    assert_eq!(fixture.put("/api/assets/VOTE", r#"{"scale": 0}"#).status, 200);
    for n in 0..38 {
        open(&fixture, &format!("tenant-{n:02}"));
    }
    assert_eq!(
        fixture.post("/api/wallets", r#"{"wallet": "alice", "asset": "VOTE", "ceiling": 50}"#).status,
        201
    );
    book(&fixture, "@bank", "alice", 123_456);
    for n in 0..60 {
        let mut body = transfer("alice", if n % 3 == 0 { "@prize" } else { "@shop" }, 125 + n);
        body["reference"] = format!("order-{n}").into();
        body["metadata"] = json!({"note": "<b id=\"injected\">bold</b>"});
        assert_eq!(fixture.post("/api/transfers", &body.to_string()).status, 201);
    }
    let hold = json!({"id": id(), "kind": "hold", "debit": "alice", "credit": "@shop", "asset": "EUR", "amount": 4_200,
                      "expires_after_ms": 3_600_000});
    assert_eq!(fixture.post("/api/transfers", &hold.to_string()).status, 201);
    let vote = json!({"id": id(), "debit": "@bank", "credit": "alice", "asset": "VOTE", "amount": 7});
    assert_eq!(fixture.post("/api/transfers", &vote.to_string()).status, 201);
    fixture
}

fn text(id: &str) -> String {
    format!("document.getElementById('{id}').textContent")
}

fn click(selector: &str) -> String {
    format!("document.querySelector('{selector}').click()")
}

fn type_into(id: &str, typed: &str) -> String {
    format!(
        "{{ const box = document.getElementById('{id}'); box.value = '{typed}'; box.dispatchEvent(new Event('input')) }}"
    )
}

fn rows(id: &str, count: usize) -> String {
    format!("document.querySelectorAll('#{id} tr').length === {count}")
}

#[test]
fn the_books_the_accounts_and_the_movers_are_shown() {
    let fixture = busy_scene();
    let mut browser = Browser::start();
    browser.open(&fixture.url(&format!("/wallets#key={}", fixture.admin)), DESKTOP);
    browser.wait_until(&rows("account-rows", 25));
    assert_eq!(browser.evaluate("location.hash"), "", "the key does not stay in the address");
    browser.wait_until(&rows("asset-rows", 2));
    assert_eq!(browser.evaluate(&text("verdict")), "The books balance");
    assert_eq!(browser.evaluate(&text("state-text")), "Ready");
    assert_eq!(browser.evaluate(&text("sum-holds")), "1");
    browser.wait_until("document.querySelector('#mover-rows a').textContent === 'alice'");
    let mover = browser.evaluate("document.querySelector('#mover-rows tr').innerText").to_string();
    assert!(mover.contains("61") && mover.contains("1,234.56"), "{mover}");
    assert_eq!(browser.evaluate("document.querySelectorAll('#root-rows tr').length"), 2);

    browser.evaluate(&click("#accounts-on"));
    browser.wait_until("!document.getElementById('accounts-first').hidden");
    browser.evaluate(&type_into("search", "tenant-1"));
    browser.wait_until(&rows("account-rows", 10));
    assert_eq!(browser.evaluate("location.search"), "?search=tenant-1");
    browser.evaluate(&type_into("search", ""));
    browser.evaluate("{ const asset = document.getElementById('asset'); asset.value = 'VOTE'; asset.dispatchEvent(new Event('change')) }");
    browser.wait_until(
        "[...document.querySelectorAll('#account-rows a')].map(a => a.textContent).join() === '@bank,alice'",
    );
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_wallet_shows_its_accounts_holds_and_history() {
    let fixture = busy_scene();
    let mut browser = Browser::start();
    browser.open(&fixture.url(&format!("/wallets?search=alice#key={}", fixture.admin)), DESKTOP);
    browser.wait_until(&rows("account-rows", 2));
    browser.evaluate(&click("#account-rows a"));
    browser.wait_until(&rows("entry-rows", 50));
    assert_eq!(browser.evaluate("location.pathname + location.search"), "/wallets/alice?asset=EUR");
    // 123,456 less 60 debits of 125 to 184.
    assert_eq!(browser.evaluate(&text("one-posted")), "1,141.86");
    assert_eq!(browser.evaluate(&text("one-held")), "42.00");
    assert_eq!(browser.evaluate(&text("one-available")), "1,099.86");
    assert_eq!(browser.evaluate("document.querySelectorAll('#hold-rows tr').length"), 1);
    let newest = browser.evaluate("document.querySelector('#entry-rows tr').innerText").to_string();
    assert!(newest.contains("−1.84") && newest.contains("order-59") && newest.contains("@shop"), "{newest}");

    browser.evaluate(&click("#entries-on"));
    browser.wait_until(&rows("entry-rows", 11));
    browser.evaluate(&click("#direction [data-direction=credit]"));
    browser.wait_until(&rows("entry-rows", 1));
    assert_eq!(browser.evaluate("location.search"), "?asset=EUR&direction=credit");
    browser.evaluate(&click("#direction [data-direction=\"\"]"));
    browser.evaluate(&type_into("other", "@prize"));
    browser.wait_until(&rows("entry-rows", 20));
    browser.evaluate(&type_into("other", ""));
    browser.evaluate(&type_into("reference", "order-7"));
    browser.wait_until(&rows("entry-rows", 1));

    browser.evaluate(&click("#entry-rows .open"));
    browser.wait_until("document.getElementById('transfer').open");
    browser.wait_until(&format!("{}.includes('1.32 EUR')", text("transfer-flow")));
    let facts = browser.evaluate("document.getElementById('transfer').innerText").to_string();
    assert!(facts.contains("Posted") && facts.contains("order-7") && facts.contains("bold"), "{facts}");
    assert_eq!(browser.evaluate("document.getElementById('injected')"), serde_json::Value::Null);
    browser.evaluate(&click("#transfer-close"));
    browser.wait_until("location.hash === ''");

    browser.evaluate("document.getElementById('then-at').value = '2020-01-01T00:00:00'");
    browser.evaluate(&click("#then button"));
    browser.wait_until(&format!("{} === '0.00'", text("then-balance")));
    browser.evaluate(&click("#accounts button:nth-child(2)"));
    browser.wait_until(&format!("{} === '7'", text("one-posted")));
    assert_eq!(browser.evaluate("location.search.includes('asset=VOTE')"), true);
    browser.evaluate("history.back()");
    browser.wait_until("!document.getElementById('list').hidden");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_transfer_is_found_by_its_id_and_a_statement_is_saved() {
    let fixture = busy_scene();
    let known = id();
    let body = json!({"id": known, "debit": "@bank", "credit": "bob", "asset": "EUR", "amount": 5});
    assert_eq!(fixture.post("/api/transfers", &body.to_string()).status, 201);
    let mut browser = Browser::start();
    browser.open(&fixture.url(&format!("/wallets/bob#key={}", fixture.admin)), DESKTOP);
    browser.wait_until(&rows("entry-rows", 1));
    browser.evaluate(&format!(
        "document.getElementById('find-transfer').value = '{known}'; document.getElementById('find').requestSubmit()"
    ));
    browser.wait_until(&format!("{}.includes('0.05 EUR')", text("transfer-flow")));
    browser.evaluate(&click("#transfer-close"));
    browser.evaluate(&click("[data-format=csv]"));
    browser.wait_until(&format!("{} === 'Saved as bob-EUR.csv'", text("toast")));
    browser.evaluate("document.getElementById('find-transfer').value = '17'; document.getElementById('find').requestSubmit()");
    browser.wait_until(&format!("{}.includes('is a UUID')", text("toast")));
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_wallet_that_is_not_there_is_reported() {
    let fixture = money_scene();
    let mut browser = Browser::start();
    browser.open(&fixture.url(&format!("/wallets/nobody#key={}", fixture.admin)), PHONE);
    browser.wait_until("!document.getElementById('one-wrong').hidden");
    let shown = browser.evaluate(&text("one-wrong")).to_string();
    assert!(shown.contains("nobody"), "{shown}");
    browser.open(&fixture.url("/wallets"), PHONE);
    browser.wait_until("!document.getElementById('list').hidden || !document.getElementById('login').hidden");
}

#[test]
fn it_fits_a_phone_and_a_desktop_in_both_themes() {
    let fixture = busy_scene();
    let mut browser = Browser::start();
    let pictures = std::env::var_os("STADIUM_PICTURES").map(std::path::PathBuf::from);
    for (name, path, shown) in [("list", "/wallets", "account-rows"), ("one", "/wallets/alice", "entry-rows")]
    {
        browser.open(&fixture.url(&format!("{path}#key={}", fixture.admin)), PHONE);
        browser.wait_until(&format!("document.querySelectorAll('#{shown} tr').length >= 25"));
        for (look, background) in [
            (PHONE, "rgb(243, 245, 248)"),
            (Look { scheme: "dark", ..PHONE }, "rgb(7, 11, 18)"),
            (Look { width: 768, ..PHONE }, "rgb(243, 245, 248)"),
            (Look { width: 1000, ..DESKTOP }, "rgb(7, 11, 18)"),
            (Look { scheme: "light", ..DESKTOP }, "rgb(243, 245, 248)"),
            (DESKTOP, "rgb(7, 11, 18)"),
        ] {
            browser.look(look);
            let colour = "getComputedStyle(document.documentElement).backgroundColor";
            browser.wait_until(&format!("{colour} === '{background}'"));
            browser.wait_until(&format!("document.documentElement.scrollWidth === {}", look.width));
            if let Some(folder) = &pictures {
                let Look { width, scheme, .. } = look;
                browser.look(Look { height: if width < 600 { 3_000 } else { 1_900 }, ..look });
                browser.picture(&folder.join(format!("{name}-{width}-{scheme}.png")));
            }
        }
    }
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}
