//! The queues' page in a real headless Chromium, over real shards.
//!
//! It shows, searches, opens a job, changes things after asking, and fits a phone.

use crate::browser;
use crate::support;

use browser::{Browser, Look};
use serde_json::json;
use support::Fixture;

const DESKTOP: Look = Look { width: 1440, height: 1100, scheme: "dark", motion: "no-preference" };
const PHONE: Look = Look { width: 390, height: 844, scheme: "light", motion: "no-preference" };

/// Seventy queues, of which `mails` has jobs in every state.
fn busy_scene() -> Fixture {
    let fixture = Fixture::with_queues();
    let post = |path: &str, body: serde_json::Value| {
        let answer = fixture.post(path, &body.to_string());
        assert!(answer.status < 300, "{path}: {}", answer.text);
        answer.json()
    };
    for n in 0..69 {
        post(&format!("/api/queues/tenant-{n:02}/jobs"), json!({"payload": n}));
    }
    let jobs: Vec<_> = (0..40)
        .map(|n| json!({"payload": {"to": format!("seat-{n:04}"), "markup": "<b id=\"injected\">bold</b>"}, "key": format!("k{}", n % 4)}))
        .chain([json!({"payload": "later", "delay_ms": 3_600_000})])
        .collect();
    post("/api/queues/mails/jobs", json!({"jobs": jobs}));
    let reserved =
        post("/api/queues/mails/reserve", json!({"max": 3, "worker": "mailer-1", "lease_ms": 600_000}));
    let lease = |n: usize| reserved["jobs"][n]["lease"].as_str().expect("a lease").to_owned();
    post(&format!("/api/leases/{}/bury", lease(0)), json!({"reason": "<i>no such template</i>"}));
    fixture
}

fn text(id: &str) -> String {
    format!("document.getElementById('{id}').textContent")
}

fn click(selector: &str) -> String {
    format!("document.querySelector('{selector}').click()")
}

#[test]
fn queues_are_shown_sorted_searched_and_paged() {
    let fixture = busy_scene();
    let mut browser = Browser::start();
    browser.open(&fixture.url(&format!("/queues#key={}", fixture.admin)), DESKTOP);
    browser.wait_until("document.querySelectorAll('#queue-rows tr').length === 50");
    assert_eq!(browser.evaluate("location.hash"), "", "the key does not stay in the address");
    assert_eq!(browser.evaluate(&text("sum-queues")), "70");
    assert_eq!(browser.evaluate(&text("state-text")), "Ready");
    assert_eq!(
        browser.evaluate("document.querySelector('#queue-rows a').textContent"),
        "mails",
        "the most due is first"
    );
    assert_eq!(browser.evaluate("document.querySelectorAll('#shard-rows tr').length"), 2);

    browser.evaluate(&click("#page-on"));
    browser.wait_until("document.querySelectorAll('#queue-rows tr').length === 20");
    browser.wait_until(&format!("{} === '51 to 70 of 70 queues'", text("page-says")));
    let search = "{ const box = document.getElementById('search'); box.value = 'TENANT-1'; box.dispatchEvent(new Event('input')) }";
    browser.evaluate(search);
    browser.wait_until("document.querySelectorAll('#queue-rows tr').length === 10");
    assert_eq!(browser.evaluate("location.search"), "?search=TENANT-1");
    browser.evaluate("{ const box = document.getElementById('search'); box.value = ''; box.dispatchEvent(new Event('input')) }");
    browser.evaluate(&click("#filter [data-state=buried]"));
    browser.wait_until("document.querySelectorAll('#queue-rows tr').length === 1");
    // A put is seen without asking for it.
    fixture.post("/api/queues/mails/jobs", r#"{"payload": "one more"}"#);
    browser.wait_until("document.querySelector('#queue-rows td').textContent === '38'");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_queue_shows_its_jobs_and_a_job_its_history() {
    let fixture = busy_scene();
    let mut browser = Browser::start();
    browser.open(&fixture.url(&format!("/queues#key={}", fixture.admin)), DESKTOP);
    browser.wait_until("document.querySelectorAll('#queue-rows tr').length === 50");
    browser.evaluate(&click("#queue-rows a"));
    browser.wait_until("document.querySelectorAll('#job-rows tr').length === 25");
    assert_eq!(browser.evaluate("location.pathname"), "/queues/mails");
    let tiles = browser.evaluate("[...document.querySelectorAll('#tiles b')].map(b => b.textContent).join()");
    assert_eq!(tiles, "41,37,1,2,1,0");
    browser.evaluate(&click("#tiles button:nth-child(5)"));
    browser.wait_until("document.querySelectorAll('#job-rows tr').length === 1");
    assert_eq!(browser.evaluate("location.search"), "?state=buried");

    browser.evaluate(&click("#job-rows .open"));
    browser.wait_until("document.getElementById('job').open");
    browser.wait_until("document.querySelectorAll('#job-history li').length === 3");
    let history = browser.evaluate("document.getElementById('job-history').innerText");
    let history = history.as_str().expect("text");
    assert!(
        history.contains("Buried")
            && history.contains("by mailer-1")
            && history.contains("<i>no such template</i>"),
        "{history}"
    );
    let payload = browser.evaluate(&text("job-payload"));
    assert!(payload.as_str().expect("text").contains("  \"to\": \"seat-0000\""), "{payload}");
    assert_eq!(browser.evaluate("document.getElementById('injected')"), serde_json::Value::Null);

    browser.evaluate(&click("#job-actions button"));
    browser.wait_until(&format!("{} === 'Due again'", text("toast")));
    browser.wait_until(&format!("{}.startsWith('Due in mails')", text("job-what")));
    browser.evaluate(&click("#job-close"));
    browser.wait_until("document.querySelectorAll('#tiles b')[4].textContent === '0'");
    browser.evaluate("history.back()");
    browser.wait_until("!document.getElementById('list').hidden");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn an_operator_pauses_and_purges_after_being_asked() {
    let fixture = busy_scene();
    let mut browser = Browser::start();
    browser.open(&fixture.url(&format!("/queues/mails#key={}", fixture.admin)), DESKTOP);
    browser.wait_until("document.querySelectorAll('#job-rows tr').length === 25");
    browser.evaluate(&click("#do-pause"));
    browser.evaluate(&click("#confirm [value=no]"));
    assert_eq!(fixture.get("/api/queues/mails").json()["paused"], false, "no means no");
    browser.evaluate(&click("#do-pause"));
    browser.evaluate(&click("#confirm-yes"));
    browser.wait_until("!document.getElementById('paused').hidden");
    assert_eq!(fixture.get("/api/queues/mails").json()["paused"], true);
    browser.evaluate(&click("#do-pause"));
    browser.wait_until("document.getElementById('paused').hidden");

    browser.evaluate(&click("#do-purge"));
    assert_eq!(browser.evaluate("document.getElementById('confirm-yes').disabled"), true);
    browser.evaluate(
        "document.getElementById('confirm-state').value = 'due'; const name = document.getElementById('confirm-name'); \
         name.value = 'mails'; name.dispatchEvent(new Event('input'))",
    );
    browser.evaluate(&click("#confirm-yes"));
    browser.wait_until(&format!("{} === '37 jobs purged'", text("toast")));
    browser.wait_until("document.querySelectorAll('#tiles b')[1].textContent === '0'");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn it_fits_a_phone_and_a_desktop_in_both_themes() {
    let fixture = busy_scene();
    let mut browser = Browser::start();
    for (path, rows) in [("/queues", "#queue-rows tr"), ("/queues/mails", "#job-rows tr")] {
        browser.open(&fixture.url(&format!("{path}#key={}", fixture.admin)), PHONE);
        browser.wait_until(&format!("document.querySelectorAll('{rows}').length >= 25"));
        for (look, background) in [
            (PHONE, "rgb(243, 245, 248)"),
            (Look { scheme: "dark", ..PHONE }, "rgb(7, 11, 18)"),
            (Look { width: 768, ..PHONE }, "rgb(243, 245, 248)"),
            (Look { width: 1000, ..DESKTOP }, "rgb(7, 11, 18)"),
            (DESKTOP, "rgb(7, 11, 18)"),
        ] {
            browser.look(look);
            let colour = "getComputedStyle(document.documentElement).backgroundColor";
            browser.wait_until(&format!("{colour} === '{background}'"));
            browser.wait_until(&format!("document.documentElement.scrollWidth === {}", look.width));
        }
    }
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_stranger_is_asked_for_a_key_and_a_viewer_sees_which_right_is_missing() {
    let fixture = busy_scene();
    let made = fixture.post("/api/keys", r#"{"name": "looks", "roles": ["viewer"]}"#).json();
    let mut browser = Browser::start();
    browser.open(&fixture.url("/queues/mails"), PHONE);
    browser.wait_until("!document.getElementById('login').hidden");
    let secret = made["secret"].as_str().expect("a secret");
    browser.evaluate(&format!(
        "document.getElementById('key').value = '{secret}'; document.querySelector('#login button').click()"
    ));
    browser.wait_until("document.querySelectorAll('#job-rows tr').length === 25");
    browser.evaluate(&click("#do-kick"));
    browser.evaluate(&click("#confirm-yes"));
    browser.wait_until(&format!("{}.includes('this needs the right `queue.control:mails`')", text("toast")));
    assert_eq!(fixture.get("/api/queues/mails").json()["jobs"]["buried"], 1);
}
