//! The live page in a real headless Chromium: numbers appear and move, nothing is wrong, it fits a phone.

use crate::browser;
use crate::support;

use browser::{Browser, Look};
use stadium_http::fleet::{BytesHeld, LoopStats, Tally};
use support::{Fixture, device};

const DESKTOP: Look = Look { width: 1440, height: 1100, scheme: "dark", motion: "no-preference" };
const PHONE: Look = Look { width: 390, height: 844, scheme: "light", motion: "no-preference" };

fn busy_scene() -> Fixture {
    let fixture = Fixture::begin();
    for n in 0..3 {
        fixture.fleet.connect(&device(&format!("seat-{n}")), &["everybody"]);
    }
    fixture.fleet.change_stats(|stats| {
        stats.loops = vec![LoopStats { busy_ratio: 0.42, connections: 3, ..LoopStats::default() }; 2];
        stats.drops = vec![Tally { reason: "queue_full", total: 17 }];
        stats.bytes_held = BytesHeld { connections: 900, sessions: 600, ..BytesHeld::default() };
    });
    fixture
}

#[test]
fn numbers_appear_and_follow_the_fleet() {
    let fixture = busy_scene();
    let mut browser = Browser::start();
    browser.open(&fixture.url(&format!("/live#key={}", fixture.admin)), DESKTOP);
    browser.wait_until("document.getElementById('connected').textContent === '3'");
    assert_eq!(browser.evaluate("location.hash"), "", "the key does not stay in the address");
    assert_eq!(browser.evaluate("document.getElementById('state-text').textContent"), "Ready");
    assert_eq!(browser.evaluate("document.querySelectorAll('.loop').length"), 2);
    assert_eq!(browser.evaluate("document.querySelector('.loop b').textContent"), "42%");
    let drops = browser.evaluate("document.getElementById('drops').innerText");
    assert!(
        drops.as_str().expect("text").contains("Queue full") && drops.as_str().expect("text").contains("17")
    );
    assert_eq!(browser.evaluate("document.getElementById('memory-device').textContent"), "500 B");

    fixture.fleet.connect(&device("late"), &["everybody"]);
    browser.wait_until("document.getElementById('connected').textContent === '4'");
    fixture.post("/api/push", r#"{"to": "everybody", "message": "lights"}"#);
    browser.wait_until("document.getElementById('push-acknowledged').textContent.startsWith('4 · 100%')");
    browser.wait_until("document.getElementById('push-last').textContent === '700 µs'");
    assert_eq!(browser.evaluate("document.getElementById('bar-sent').getAttribute('aria-valuenow')"), "100");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn it_fits_a_phone_and_a_desktop_in_both_themes() {
    let fixture = busy_scene();
    let mut browser = Browser::start();
    browser.open(&fixture.url(&format!("/live#key={}", fixture.admin)), PHONE);
    browser.wait_until("document.getElementById('connected').textContent === '3'");
    for (look, background) in [
        (PHONE, "rgb(243, 245, 248)"),
        (Look { scheme: "dark", ..PHONE }, "rgb(7, 11, 18)"),
        (Look { width: 768, ..PHONE }, "rgb(243, 245, 248)"),
        (DESKTOP, "rgb(7, 11, 18)"),
    ] {
        browser.look(look);
        let colour = "getComputedStyle(document.documentElement).backgroundColor";
        browser.wait_until(&format!("{colour} === '{background}'"));
        let width = look.width;
        browser.wait_until(&format!("document.documentElement.scrollWidth === {width}"));
        let outside = browser.evaluate(&format!(
            "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > {width} + 0.5).length"
        ));
        assert_eq!(outside, 0, "something stands out at {width} px");
    }
    // The toggle wins over the system, and is remembered.
    browser.evaluate("for (let i = 0; i < 2; i++) document.getElementById('theme').click()");
    assert_eq!(browser.evaluate("document.documentElement.dataset.theme"), "light");
    assert_eq!(
        browser.evaluate("document.getElementById('theme').getAttribute('aria-label')"),
        "Theme: light"
    );
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn with_reduced_motion_nothing_flashes() {
    let fixture = busy_scene();
    let mut browser = Browser::start();
    let look = Look { motion: "reduce", ..DESKTOP };
    browser.open(&fixture.url(&format!("/live#key={}", fixture.admin)), look);
    browser.wait_until("document.getElementById('connected').textContent === '3'");
    fixture.post("/api/push", r#"{"to": "everybody", "message": "lights"}"#);
    browser.wait_until("document.getElementById('push-sent').textContent.startsWith('3')");
    let still = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => { \
                 const c = document.getElementById('lights'); const a = c.toDataURL(); \
                 requestAnimationFrame(() => requestAnimationFrame(() => done(a === c.toDataURL()))); })))";
    assert_eq!(browser.evaluate(still), true);
    assert_eq!(
        browser.evaluate("getComputedStyle(document.querySelector('.bar i')).transitionDuration"),
        "0s"
    );
}

#[test]
fn a_stranger_is_asked_for_a_key_and_a_wrong_one_is_explained() {
    let fixture = busy_scene();
    let mut browser = Browser::start();
    browser.open(&fixture.url("/live"), PHONE);
    browser.wait_until("!document.getElementById('login').hidden");
    let enter = |key: &str| {
        format!(
            "document.getElementById('key').value = '{key}'; document.querySelector('#login button').click()"
        )
    };
    browser.evaluate(&enter("sk_wrong"));
    browser.wait_until("document.getElementById('login-error').textContent.includes('never made here')");
    assert_eq!(browser.evaluate("getComputedStyle(document.querySelector('main')).display"), "none");
    browser.evaluate(&enter(&fixture.admin));
    browser.wait_until("document.getElementById('connected').textContent === '3'");
    assert_eq!(browser.evaluate("document.getElementById('login').hidden"), true);
}
