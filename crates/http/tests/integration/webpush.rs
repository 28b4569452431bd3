//! Web Push as a sender meets it: endpoints, headers, receipts, over real shards and without a device that is connected.
//!
//! With a sender's library and a device that decrypts: testing/python/test_webpush.py.

use crate::support;

use serde_json::{Value, json};
use support::{Answer, Fixture};

const DEVICE: &str = "/api/apps/default/devices/phone-7";

fn fixture() -> Fixture {
    let fixture = Fixture::with_queues();
    assert_eq!(fixture.put(DEVICE, "{}").status, 201);
    fixture
}

/// Makes a subscription; the path of its endpoint, and its number.
fn subscribe(fixture: &Fixture, body: Value) -> (String, String) {
    let answer = fixture.post(&format!("{DEVICE}/webpush"), &body.to_string());
    assert_eq!(answer.status, 201, "{}", answer.text);
    let json = answer.json();
    let endpoint = json["endpoint"].as_str().expect("an endpoint");
    let path = endpoint.strip_prefix(&format!("http://{}", fixture.address)).expect("as the request came");
    assert!(path.starts_with("/wp/") && !path.contains("phone"), "{path}");
    (path.to_owned(), json["subscription"].as_str().expect("a number").to_owned())
}

fn push(fixture: &Fixture, path: &str, headers: &[(&str, &str)]) -> Answer {
    fixture.ask("POST", path, headers, Some("sealed"))
}

/// Where a message was put.
fn sent(fixture: &Fixture, path: &str, headers: &[(&str, &str)]) -> String {
    let answer = push(fixture, path, headers);
    assert_eq!(answer.status, 201, "{}", answer.text);
    message(fixture, &answer)
}

fn message(fixture: &Fixture, answer: &Answer) -> String {
    let location = answer.header("location").expect("a location");
    location.strip_prefix(&format!("http://{}", fixture.address)).expect("here").to_owned()
}

fn receipt(fixture: &Fixture, message: &str) -> Answer {
    fixture.ask("GET", message, &[], None)
}

#[test]
fn a_message_is_kept_for_the_device_and_can_be_taken_back() {
    let fixture = fixture();
    let (path, number) = subscribe(&fixture, json!({}));
    let headers = [("ttl", "60"), ("urgency", "high"), ("content-encoding", "aes128gcm")];
    let message = sent(&fixture, &path, &headers);
    let device = fixture.get(DEVICE).json();
    assert_eq!(device["inbox"].as_array().expect("a list").len(), 1, "{device}");
    assert_eq!(device["inbox"][0]["priority"], 7);
    assert_eq!(device["attributes"]["webpush"], number);
    assert_eq!(receipt(&fixture, &message).status, 202);
    assert_eq!(fixture.ask("DELETE", &message, &[], None).status, 204);
    receipt(&fixture, &message).problem(410, "WEB-010");
    assert_eq!(fixture.get(DEVICE).json()["owed"], 0);
}

#[test]
fn a_sender_that_asks_gets_a_receipt_and_a_ttl_that_is_too_long_is_answered_with_the_longest() {
    let fixture = fixture();
    let (path, _) = subscribe(&fixture, json!({}));
    let answer = push(&fixture, &path, &[("ttl", "99999999"), ("prefer", "respond-async")]);
    assert_eq!((answer.status, answer.header("ttl")), (202, Some("2419200")), "{}", answer.text);
    let message = message(&fixture, &answer);
    let link = format!("<http://{}{message}>; rel=\"urn:ietf:params:push:receipt\"", fixture.address);
    assert_eq!(answer.header("link"), Some(link.as_str()));
    let waited = fixture.ask("GET", &message, &[("prefer", "wait=1")], None);
    assert_eq!(waited.status, 202, "nobody came: {}", waited.text);
}

#[test]
fn a_newer_message_of_a_topic_replaces_the_older_one_of_the_same_subscription() {
    let fixture = fixture();
    let (path, _) = subscribe(&fixture, json!({}));
    let (other, _) = subscribe(&fixture, json!({}));
    let headers = [("ttl", "60"), ("topic", "score")];
    let first = sent(&fixture, &path, &headers);
    let apart = sent(&fixture, &other, &headers);
    let second = sent(&fixture, &path, &headers);
    let gone = receipt(&fixture, &first).problem(410, "WEB-010");
    assert!(gone["detail"].as_str().expect("a sentence").contains("phone-7"), "{gone}");
    assert_eq!((receipt(&fixture, &second).status, receipt(&fixture, &apart).status), (202, 202));
}

#[test]
fn a_message_with_ttl_0_is_not_kept_and_one_without_a_body_is_a_message() {
    let fixture = fixture();
    let (path, _) = subscribe(&fixture, json!({}));
    let now_or_never = sent(&fixture, &path, &[("ttl", "0")]);
    support::eventually("it is gone", || receipt(&fixture, &now_or_never).status == 410);
    let empty = fixture.ask("POST", &path, &[("ttl", "60")], Some(""));
    assert_eq!(empty.status, 201, "{}", empty.text);
}

#[test]
fn mistakes_are_reported_as_rfc_8030_has_it_and_nothing_happens() {
    let fixture = fixture();
    let (path, _) = subscribe(&fixture, json!({}));
    push(&fixture, &path, &[]).problem(400, "WEB-001");
    push(&fixture, &path, &[("ttl", "soon")]).problem(400, "WEB-001");
    push(&fixture, &path, &[("ttl", "1"), ("topic", "a/b")]).problem(400, "WEB-002");
    push(&fixture, &path, &[("ttl", "1"), ("content-encoding", "gzip")]).problem(415, "WEB-003");
    let large = |bytes: usize| fixture.ask("POST", &path, &[("ttl", "60")], Some(&"x".repeat(bytes)));
    large(4_097).problem(413, "WEB-004");
    push(&fixture, "/wp/AAAA", &[("ttl", "1")]).problem(404, "WEB-005");
    push(&fixture, &format!("{path}A"), &[("ttl", "1")]).problem(404, "WEB-005");
    receipt(&fixture, "/wp/m/AAAA").problem(404, "WEB-009");
    assert_eq!(fixture.get(DEVICE).json()["owed"], 0);
    assert_eq!(large(4_096).status, 201, "as many as every push service takes");
    assert_eq!(fixture.ask("GET", &path, &[], None).json(), json!({"unifiedpush": {"version": 1}}));
}

#[test]
fn a_subscription_for_a_key_takes_nothing_without_it() {
    let fixture = fixture();
    fixture.post(&format!("{DEVICE}/webpush"), r#"{"vapid_public_key": "abc"}"#).problem(422, "HTTP-005");
    // The example key of RFC 8292.
    let key = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs";
    let (path, _) = subscribe(&fixture, json!({"vapid_public_key": key}));
    let answer = push(&fixture, &path, &[("ttl", "1")]);
    answer.problem(401, "WEB-007");
    assert_eq!(answer.header("www-authenticate"), Some("vapid"));
    let forged = format!("vapid t=eyJhbGciOiJFUzI1NiJ9.e30.AAAA, k={key}");
    push(&fixture, &path, &[("ttl", "1"), ("authorization", &forged)]).problem(403, "WEB-008");
}

#[test]
fn revoked_subscriptions_are_gone_and_the_others_stay() {
    let fixture = fixture();
    let (first, number) = subscribe(&fixture, json!({}));
    let (second, _) = subscribe(&fixture, json!({}));
    let all = format!("{DEVICE}/webpush");
    assert_eq!(fixture.get(&all).json()["subscriptions"].as_array().expect("a list").len(), 2);
    assert_eq!(fixture.delete(&format!("{all}/{number}")).status, 204);
    fixture.delete(&format!("{all}/{number}")).problem(404, "WEB-012");
    push(&fixture, &first, &[("ttl", "1")]).problem(410, "WEB-006");

    assert_eq!(
        fixture.put(DEVICE, r#"{"language": "de"}"#).status,
        200,
        "what replaces a device leaves its subscriptions"
    );
    sent(&fixture, &second, &[("ttl", "1")]);
    assert_eq!(fixture.delete(&all).status, 204);
    push(&fixture, &second, &[("ttl", "1")]).problem(410, "WEB-006");

    let (third, _) = subscribe(&fixture, json!({}));
    assert_eq!(fixture.post(&format!("{DEVICE}/revoke"), "").status, 204);
    push(&fixture, &third, &[("ttl", "1")]).problem(410, "WEB-006");
    assert_eq!(fixture.post(&format!("{DEVICE}/restore"), "").status, 204);
    sent(&fixture, &third, &[("ttl", "1")]);
    assert_eq!(fixture.delete(DEVICE).status, 204);
    push(&fixture, &third, &[("ttl", "1")]).problem(410, "WEB-006");
    fixture.post(&all, "{}").problem(404, "PSH-022");
}

#[test]
fn a_device_has_16_subscriptions_also_where_they_are_made_at_once() {
    let fixture = fixture();
    let made = std::thread::scope(|scope| {
        let each = || fixture.post(&format!("{DEVICE}/webpush"), "{}").status;
        let threads: Vec<_> = (0..18).map(|_| scope.spawn(each)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("it answers"))
            .filter(|status| *status == 201)
            .count()
    });
    assert_eq!(made, 16);
    fixture.post(&format!("{DEVICE}/webpush"), "{}").problem(409, "WEB-011");
    let numbers = fixture.get(&format!("{DEVICE}/webpush")).json();
    assert_eq!(numbers["subscriptions"].as_array().expect("a list").len(), 16);
}
