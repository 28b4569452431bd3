//! The cluster's page in a real headless Chromium: nodes, the grid of shards and its keys, moves and lag.

use browser::{Browser, Look};
use serde_json::Value;
use stadium_http::fleet::{ClusterShard, EtcdContact};

use crate::browser;
use crate::support::Fixture;
use crate::support::cluster::{hurt, whole};

const DESKTOP: Look = Look { width: 1440, height: 1100, scheme: "dark", motion: "no-preference" };
const PHONE: Look = Look { width: 390, height: 844, scheme: "light", motion: "no-preference" };

fn text(id: &str) -> String {
    format!("document.getElementById('{id}').textContent")
}

fn opened(fixture: &Fixture, look: Look) -> Browser {
    let mut browser = Browser::start();
    browser.open(&fixture.url(&format!("/cluster#key={}", fixture.admin)), look);
    browser
}

fn pressed(browser: &mut Browser, key: &str) -> Value {
    browser.evaluate(&format!(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }})); \
         document.activeElement.querySelector('span').textContent"
    ))
}

#[test]
fn a_standalone_server_shows_what_a_cluster_is() {
    let fixture = Fixture::begin();
    let mut browser = opened(&fixture, DESKTOP);
    browser.wait_until("!document.getElementById('alone').hidden");
    assert_eq!(browser.evaluate(&text("state-text")), "Standalone");
    let said = browser.evaluate("document.querySelector('main').innerText").to_string();
    assert!(said.contains("not part of a cluster") && said.contains("docs/cluster.md"), "{said}");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_lost_node_its_shards_and_the_moves_are_seen_as_they_happen() {
    let fixture = Fixture::begin();
    fixture.fleet.become_clustered(Ok(whole()));
    let mut browser = opened(&fixture, DESKTOP);
    browser.wait_until("document.querySelectorAll('#grid .cell').length === 48");
    assert_eq!(browser.evaluate(&text("verdict")), "All shards are served, with standbys in step");
    assert_eq!(browser.evaluate("document.querySelectorAll('#grid .hatched, #grid .lost').length"), 0);
    assert_eq!(browser.evaluate(&text("move-none")), "No shard is on its way.");
    assert_eq!(browser.evaluate("document.querySelectorAll('#link-rows tr').length"), 2);
    let label = "document.querySelector('#grid .cell').getAttribute('aria-label')";
    assert_eq!(browser.evaluate(label), "Shard 0, owned by stadium-1, standby stadium-2 in step");

    fixture.fleet.become_clustered(Ok(hurt()));
    browser.wait_until("document.querySelectorAll('#grid .lost').length === 2");
    assert_eq!(browser.evaluate(&text("verdict")), "2 shards have no owner");
    assert_eq!(browser.evaluate(&text("state-text")), "Not all served");
    assert_eq!(browser.evaluate("document.querySelectorAll('#grid .hatched').length"), 30);
    assert_eq!(browser.evaluate(&text("sum-nodes")), "2 of 3");
    let words = browser.evaluate("document.getElementById('node-rows').innerText").to_string();
    assert!(words.contains("This node") && words.contains("Plans") && words.contains("Away"), "{words}");
    let moves = browser.evaluate("document.getElementById('move-rows').innerText").to_string();
    assert!(moves.contains("Handing over") && moves.contains("12,345 behind"), "{moves}");
    let drains = browser.evaluate(&text("drains")).to_string();
    assert!(drains.contains("stadium-2 drains: owns 16, standby of 16 still"), "{drains}");
    assert_eq!(browser.evaluate("document.querySelectorAll('#lag-rows tr').length"), 1);
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn the_grid_is_walked_with_keys_and_a_shard_is_looked_into() {
    let fixture = Fixture::begin();
    fixture.fleet.become_clustered(Ok(hurt()));
    let mut browser = opened(&fixture, DESKTOP);
    browser.wait_until("document.querySelectorAll('#grid .cell').length === 48");
    assert_eq!(browser.evaluate("document.querySelectorAll('#grid [tabindex=\"0\"]').length"), 1);
    browser.evaluate("document.querySelector('#grid .cell').focus()");
    assert_eq!(pressed(&mut browser, "ArrowRight"), "1");
    assert_eq!(pressed(&mut browser, "End"), "47");
    assert_eq!(pressed(&mut browser, "ArrowRight"), "47", "it ends there");
    assert_eq!(pressed(&mut browser, "Home"), "0");
    browser.evaluate("window.line = [...document.querySelectorAll('#grid .cell')].filter((one, _, all) => one.offsetTop === all[0].offsetTop).length");
    let below = browser.evaluate("String(window.line)");
    assert_eq!(pressed(&mut browser, "ArrowDown"), below);
    browser.evaluate("document.querySelectorAll('#grid .cell')[7].click()");
    browser.wait_until("document.getElementById('shard').open");
    assert_eq!(browser.evaluate("location.hash"), "#shard-7");
    let told = browser.evaluate("document.getElementById('shard').innerText").to_string();
    assert!(told.contains("stadium-1, warming up") && told.contains("12,345 messages behind"), "{told}");
    browser.evaluate("document.getElementById('shard-close').click()");
    browser.wait_until("location.hash === ''");

    browser.evaluate("document.querySelector('#owners [data-node=\"stadium-2\"]').click()");
    assert_eq!(browser.evaluate("location.search"), "?node=stadium-2");
    assert_eq!(browser.evaluate("document.querySelectorAll('#grid .cell:not(.dim)').length"), 16);
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_node_without_etcd_says_so_and_the_page_fits_a_phone() {
    let fixture = Fixture::begin();
    let (mut report, shards) = hurt();
    (report.etcd, report.etcd_trouble) = (EtcdContact::Away, Some("no member answers".to_owned()));
    // As many as there may be.
    let many = (0..1_024).map(|shard| ClusterShard { shard, ..shards[shard as usize % 48].clone() });
    fixture.fleet.become_clustered(Ok((report, many.collect())));
    let mut browser = opened(&fixture, PHONE);
    browser.wait_until("document.querySelectorAll('#grid.many .cell').length === 1024");
    let trouble = browser.evaluate(&text("trouble")).to_string();
    assert!(trouble.contains("does not reach etcd") && trouble.contains("no member answers"), "{trouble}");
    for look in [PHONE, Look { scheme: "dark", ..PHONE }, Look { width: 768, ..PHONE }, DESKTOP] {
        browser.look(look);
        let width = look.width;
        browser.wait_until(&format!("document.documentElement.scrollWidth === {width}"));
        let outside = browser.evaluate(&format!(
            "[...document.querySelectorAll('main *')].filter(e => !e.closest('.off, .scroll') && e.getBoundingClientRect().right > {width} + 0.5).length"
        ));
        assert_eq!(outside, 0, "something stands out at {width} px");
    }
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}
