//! The push platform's pages in a real browser: find a device, count an audience, compose a push,
//! follow it, ask why, schedule.
//!
//! Nobody is connected: deliveries to devices are tested in the node's suites.

use crate::browser;
use crate::support;

use browser::{Browser, Look};
use serde_json::{Value, json};
use support::work::post;
use support::{Fixture, eventually};

const DESKTOP: Look = Look { width: 1440, height: 1100, scheme: "dark", motion: "no-preference" };
const PHONE: Look = Look { width: 390, height: 844, scheme: "light", motion: "no-preference" };

/// Forty phones, half of them with the tag `vip`, and a push that those are owed.
fn busy_scene() -> (Fixture, String) {
    let fixture = Fixture::with_queues();
    let phone = |n: u32| {
        let tags = if n.is_multiple_of(2) { json!(["vip"]) } else { json!([]) };
        json!({"device": format!("phone-{n:02}"), "platform": "ios", "tags": tags, "attributes": {"bio": "<b id=injected>x</b>"}})
    };
    let phones: Vec<Value> = (0..40).map(phone).collect();
    post(&fixture, "/api/apps/default/devices", json!({"devices": phones}));
    let body = json!({"audience": {"tag": "vip"}, "notification": {"title": "Doors open"}});
    let push = post(&fixture, "/api/apps/default/pushes", body)["id"].as_str().expect("an id").to_owned();
    eventually("every shard has it", || {
        fixture.get(&format!("/api/apps/default/pushes/{push}")).json()["counts"]["owed"] == 20
    });
    (fixture, push)
}

fn rows(id: &str, count: usize) -> String {
    format!("document.querySelectorAll('#{id} tr').length === {count}")
}

fn text(id: &str) -> String {
    format!("document.getElementById('{id}').textContent")
}

/// Writes into a field as a person does.
fn fill(id: &str, value: &str) -> String {
    let value = json!(value);
    format!(
        "(() => {{ const field = document.getElementById('{id}'); field.value = {value}; \
         field.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
    )
}

#[test]
fn a_device_is_found_with_the_reason_why_it_did_not_get_a_push() {
    let (fixture, push) = busy_scene();
    let mut browser = Browser::start();
    browser.open(&fixture.url(&format!("/devices#key={}", fixture.admin)), DESKTOP);
    browser.wait_until(&rows("device-rows", 25));
    browser.evaluate(&fill("tag", "vip"));
    browser.wait_until(&rows("device-rows", 20));
    browser.evaluate(&fill("search", "phone-04"));
    browser.wait_until(&rows("device-rows", 1));
    browser.evaluate("document.querySelector('#device-rows a').click()");
    browser.wait_until(&rows("inbox-rows", 1));
    browser.evaluate("document.querySelector('#newest-rows button').click()");
    browser.wait_until("document.querySelector('#newest-rows .reason').textContent.includes('phone-04')");
    assert_eq!(browser.evaluate("document.getElementById('injected')"), Value::Null, "text stays text");
    browser.evaluate("document.getElementById('revoke').click()");
    browser.wait_until("!document.getElementById('restore').hidden");
    assert_eq!(fixture.get("/api/apps/default/devices/phone-04").json()["revoked"], true);

    browser.open(&fixture.url(&format!("/pushes/{push}#key={}", fixture.admin)), DESKTOP);
    browser.wait_until(&format!("{} === 'Doors open'", text("h-push")));
    browser.wait_until("document.querySelectorAll('#tiles b')[0].textContent === '20'");
    browser.evaluate("document.getElementById('why-device').value = 'phone-05'; document.getElementById('why').requestSubmit()");
    browser.wait_until(&format!("{}.includes('vip')", text("sentence")));
    browser.evaluate("document.getElementById('cancel').click()");
    browser.evaluate("document.getElementById('confirm-yes').click()");
    browser.wait_until(&format!("{} === 'Cancelled'", text("status")));
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn an_audience_is_counted_while_it_is_typed_and_a_push_composed_for_it() {
    let (fixture, _) = busy_scene();
    let mut browser = Browser::start();
    browser.open(&fixture.url(&format!("/audiences#key={}", fixture.admin)), DESKTOP);
    browser.wait_until("document.querySelector('[data-figure=Reached]')?.textContent === '20'");
    browser.evaluate(&fill("selector", r#"{"not": {"tga": "vip"}}"#));
    browser.wait_until(&format!("{}.includes('audience.not')", text("wrong")));
    browser.evaluate(&fill("selector", r#"{"not": {"tag": "vip"}}"#));
    browser.wait_until(&format!(
        "{} === '' && document.querySelector('[data-figure=Reached]').textContent === '20'",
        text("wrong")
    ));
    browser.evaluate(
        "document.getElementById('name').value = 'others'; document.getElementById('save').requestSubmit()",
    );
    browser.wait_until(&rows("audience-rows", 1));

    browser.open(&fixture.url(&format!("/compose#key={}", fixture.admin)), DESKTOP);
    browser.wait_until("document.querySelectorAll('#saved option').length === 2");
    browser.evaluate("document.getElementById('saved').value = 'others'; document.getElementById('saved').dispatchEvent(new Event('change'))");
    browser.evaluate(&fill("title", "Hello {{name|fan}}"));
    assert_eq!(browser.evaluate(&text("shown-title")), "Hello fan");
    browser.evaluate("document.getElementById('dry').click()");
    browser.wait_until("document.querySelector('#preview [data-figure=Reached]')?.textContent === '20'");
    assert_eq!(
        fixture.get("/api/apps/default/pushes").json()["pushes"].as_array().map(Vec::len),
        Some(1),
        "a dry run pushes nothing"
    );
    // One whose text needs a value that nobody has reaches nobody, and the page shows it.
    browser.evaluate(&fill("title", "Hello {{nickname}}"));
    browser.evaluate("document.getElementById('dry').click()");
    browser.wait_until(
        "document.querySelector('#preview [role=alert]')?.textContent.includes('it would reach nobody')",
    );
    browser.wait_until("document.querySelector('#preview [data-figure=Reached]').textContent === '0'");
    browser.evaluate(&fill("title", "Hello {{name|fan}}"));
    browser.evaluate("document.getElementById('push').requestSubmit()");
    browser.wait_until("document.getElementById('confirm').open");
    browser.evaluate("document.getElementById('confirm-yes').click()");
    browser.wait_until("location.pathname.startsWith('/pushes/')");
    browser.wait_until(&format!("{} === 'Hello {{{{name|fan}}}}'", text("h-push")));

    browser.open(&fixture.url(&format!("/schedules#key={}", fixture.admin)), DESKTOP);
    browser.wait_until("!document.getElementById('schedule-none').hidden");
    browser.evaluate("document.getElementById('name').value = 'morning'; document.getElementById('cron').value = '0 9 * * *'; document.getElementById('set').requestSubmit()");
    browser.wait_until(&rows("schedule-rows", 1));
    browser.evaluate("document.querySelector('#schedule-rows td button').click()");
    browser.wait_until("document.querySelector('#schedule-rows').textContent.includes('Paused')");
    let complaints: Vec<_> =
        browser.complaints.iter().filter(|text| !text.contains("status of 422")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
}

#[test]
fn they_fit_a_phone_and_a_desktop_in_both_themes() {
    let (fixture, push) = busy_scene();
    let mut browser = Browser::start();
    let one = format!("/pushes/{push}");
    let pages = [
        ("/devices", rows("device-rows", 25)),
        ("/devices/phone-04", rows("newest-rows", 1)),
        ("/audiences", "document.querySelector('[data-figure=Reached]') !== null".to_owned()),
        ("/compose", "document.getElementById('state').dataset.state === 'ready'".to_owned()),
        ("/schedules", "!document.getElementById('schedule-none').hidden".to_owned()),
        ("/pushes", rows("push-rows", 1)),
        (&*one, "document.querySelectorAll('#tiles b').length === 6".to_owned()),
    ];
    for (path, there) in pages {
        browser.open(&fixture.url(&format!("{path}#key={}", fixture.admin)), PHONE);
        browser.wait_until(&there);
        for (look, background) in [
            (PHONE, "rgb(243, 245, 248)"),
            (Look { scheme: "dark", ..PHONE }, "rgb(7, 11, 18)"),
            (Look { width: 768, ..PHONE }, "rgb(243, 245, 248)"),
            (DESKTOP, "rgb(7, 11, 18)"),
        ] {
            browser.look(look);
            browser.wait_until(&format!(
                "getComputedStyle(document.documentElement).backgroundColor === '{background}'"
            ));
            browser.wait_until(&format!("document.documentElement.scrollWidth === {}", look.width));
        }
    }
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}
