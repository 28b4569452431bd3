//! One request, and every way in which it can end.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::{Pair, is, lies};

/// Longest that a call may take beyond its deadline.
const SLACK_MS: u64 = 700;

pub fn unary(pair: &Pair<'_>) -> Result<()> {
    let text = pair.text("unary ü");
    let answer = pair.call("Echo", json!({"text": text}), json!({}))?;
    is(&answer, &json!({"outcome": "ok", "reply": {"text": text, "attempt": 1, "key": ""}}))?;
    let answer = pair.call("Once", json!({"text": text}), json!({}))?;
    is(&answer, &json!({"outcome": "ok", "reply": {"text": text, "attempt": 2}}))?;
    // A message without fields has no bytes.
    let answer = pair.call("Once", json!({}), json!({}))?;
    is(&answer, &json!({"outcome": "ok", "reply": {"text": ""}}))
}

/// Messages that go in pieces of a frame each, both ways.
pub fn large(pair: &Pair<'_>) -> Result<()> {
    for bytes in [20_000, 300_000] {
        let ask = json!({"text": pair.text("large"), "padding_bytes": bytes, "send_padding_bytes": bytes});
        let answer = pair.call("Echo", ask, json!({}))?;
        let padding = json!({"padding_bytes": bytes, "received_padding_bytes": bytes});
        is(&answer, &json!({"outcome": "ok", "reply": padding}))?;
    }
    Ok(())
}

pub fn key(pair: &Pair<'_>) -> Result<()> {
    let answer = pair.call("Echo", json!({"text": pair.text("key")}), json!({"key": "phone-7"}))?;
    is(&answer, &json!({"outcome": "ok", "reply": {"key": "phone-7"}}))
}

pub fn bearer(pair: &Pair<'_>) -> Result<()> {
    let answer = pair.call("Echo", json!({"text": pair.text("bearer")}), json!({}))?;
    is(&answer, &json!({"outcome": "ok", "reply": {"bearer": crate::stage::BEARER}}))
}

/// Busy each time: the client gives up after its attempts, and says when to come back.
pub fn busy(pair: &Pair<'_>) -> Result<()> {
    let text = pair.text("busy");
    let answer = pair.call("Once", json!({"text": text, "refusal": "BUSY"}), json!({}))?;
    is(&answer, &json!({"outcome": "busy", "retry_after_ms": 20, "text": "not now"}))?;
    let seen = pair.seen(&text)?;
    lies(&seen, "began", if pair.client.language.is_complete() { 2..=3 } else { 1..=3 })
}

/// Busy once: nothing happened, so also a method that is not idempotent is called again.
pub fn busy_once(pair: &Pair<'_>) -> Result<()> {
    let text = pair.text("busy-once");
    let ask = json!({"text": text, "refusal": "BUSY", "refusals": 1});
    let answer = pair.call("Once", ask, json!({}))?;
    is(&answer, &json!({"outcome": "ok", "reply": {"attempt": 2}}))
}

pub fn rejected(pair: &Pair<'_>) -> Result<()> {
    let text = pair.text("rejected");
    let answer = pair.call("Echo", json!({"text": text, "refusal": "REJECTED"}), json!({}))?;
    is(&answer, &json!({"outcome": "rejected", "code": "CONF-001", "text": "never"}))?;
    // It will never work, so it is not tried again.
    is(&pair.seen(&text)?, &json!({"began": 1}))
}

pub fn unknown(pair: &Pair<'_>) -> Result<()> {
    let ask = json!({"text": pair.text("unknown"), "refusal": "UNKNOWN"});
    let answer = pair.call("Once", ask, json!({}))?;
    is(&answer, &json!({"outcome": "unknown", "code": "CONF-002", "text": "half done"}))
}

/// A function that panics or throws: its words stay on the server.
pub fn failure(pair: &Pair<'_>) -> Result<()> {
    let ask = json!({"text": pair.text("failure"), "refusal": "FAILURE"});
    let answer = pair.call("Once", ask, json!({}))?;
    is(&answer, &json!({"outcome": "unknown", "code": "RPC-007"}))?;
    ensure!(!answer["text"].as_str().unwrap_or_default().contains("asked"), "its words came out: {answer}");
    Ok(())
}

pub fn application(pair: &Pair<'_>) -> Result<()> {
    let ask = json!({"text": pair.text("application"), "refusal": "APPLICATION"});
    let answer = pair.call("Once", ask, json!({}))?;
    is(&answer, &json!({"outcome": "application", "number": 0x301, "text": "its own"}))
}

pub fn no_route(pair: &Pair<'_>) -> Result<()> {
    let answer = pair.call("Missing", json!({}), json!({}))?;
    is(&answer, &json!({"outcome": "rejected", "code": "RPC-002"}))
}

pub fn malformed(pair: &Pair<'_>) -> Result<()> {
    let answer = pair.call("Once", json!({}), json!({"bytes_hex": "0affffffff0f"}))?;
    is(&answer, &json!({"outcome": "rejected", "code": "RPC-004"}))
}

pub fn deadline(pair: &Pair<'_>) -> Result<()> {
    let text = pair.text("deadline");
    let ask = json!({"text": text, "sleep_ms": 20_000});
    let answer = pair.call("Once", ask, json!({"deadline_ms": 200}))?;
    is(&answer, &json!({"outcome": "deadline"}))?;
    lies(&answer, "took_ms", 150..=200 + SLACK_MS)?;
    // The function is told that nobody waits.
    pair.until_seen(&text, "cancelled", 1)
}

/// The server knows what is left of the deadline.
pub fn deadline_travels(pair: &Pair<'_>) -> Result<()> {
    let ask = json!({"text": pair.text("travels")});
    let answer = pair.call("Echo", ask, json!({"deadline_ms": 3_000}))?;
    is(&answer, &json!({"outcome": "ok"}))?;
    lies(&answer["reply"], "time_left_ms", 1_500..=3_000)
}

pub fn cancel(pair: &Pair<'_>) -> Result<()> {
    let text = pair.text("cancel");
    let call =
        pair.begin("Once", json!({"text": text, "sleep_ms": 20_000}), json!({"deadline_ms": 30_000}))?;
    pair.until_seen(&text, "began", 1)?;
    let id = call.id;
    pair.client.ask(json!({"do": "cancel", "client": pair.name, "of": id}))?;
    is(&call.wait()?, &json!({"outcome": "cancelled"}))?;
    pair.until_seen(&text, "cancelled", 1)
}

/// Many calls under way at once, and functions that end in another order than they began: each gets
/// its own answer. Fewer wait than a server admits, for all clients call it.
pub fn many(pair: &Pair<'_>) -> Result<()> {
    for (calls, sleep_step_ms) in [(200, 0), (25, 8)] {
        let calls: Vec<_> = (0..calls)
            .map(|number| {
                let text = pair.text(&format!("many-{number}"));
                let ask = json!({"text": text, "sleep_ms": (calls - number) * sleep_step_ms});
                Ok((text, pair.begin("Echo", ask, json!({"deadline_ms": 10_000}))?))
            })
            .collect::<Result<_>>()?;
        for (text, call) in calls {
            is(&call.wait()?, &json!({"outcome": "ok", "reply": {"text": text}})).context("of many calls")?;
        }
    }
    Ok(())
}

pub fn one_way(pair: &Pair<'_>) -> Result<()> {
    let text = pair.text("one-way");
    pair.client.ask(json!({"do": "note", "client": pair.name, "ask": {"text": text}}))?;
    pair.until_seen(&text, "ended", 1)
}
