//! Streams and channels, to their ends and before.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{Pair, is, lies};

/// More than any client takes ahead of its reader.
const REPLIES: u64 = 2_000;

fn stream_of(pair: &Pair<'_>, ask: &Value, more: Value) -> Result<Value> {
    let mut order = json!({"do": "stream", "client": pair.name, "ask": ask, "deadline_ms": 20_000});
    if let (Value::Object(order), Value::Object(more)) = (&mut order, more) {
        order.extend(more);
    }
    pair.client.ask(order)
}

fn in_order(answer: &Value, count: u64) -> Result<()> {
    let numbers = (0..count).map(Value::from).collect::<Vec<_>>();
    let came = answer["numbers"].as_array().cloned().unwrap_or_default();
    ensure!(came == numbers, "{} replies came, {count} were to come in order", came.len());
    Ok(())
}

pub fn stream(pair: &Pair<'_>) -> Result<()> {
    let answer = stream_of(pair, &json!({"text": pair.text("stream"), "replies": REPLIES}), json!({}))?;
    is(&answer, &json!({"outcome": "ok"}))?;
    in_order(&answer, REPLIES)
}

/// A caller that leaves: the function learns it.
pub fn cancel(pair: &Pair<'_>) -> Result<()> {
    let text = pair.text("stream-cancel");
    let answer = stream_of(pair, &json!({"text": text, "replies": 0}), json!({"read": 3}))?;
    is(&answer, &json!({"outcome": "left"}))?;
    in_order(&answer, 3)?;
    pair.until_seen(&text, "cancelled", 1)
}

pub fn refused(pair: &Pair<'_>) -> Result<()> {
    let ask = json!({"text": pair.text("stream-refused"), "replies": 5, "refusal": "REJECTED"});
    let answer = stream_of(pair, &ask, json!({}))?;
    is(&answer, &json!({"outcome": "rejected", "code": "CONF-001"}))?;
    in_order(&answer, 5)
}

/// A stream without end is ended by its deadline.
pub fn deadline(pair: &Pair<'_>) -> Result<()> {
    let text = pair.text("stream-deadline");
    let ask = json!({"text": text, "replies": 0});
    let answer = stream_of(pair, &ask, json!({"deadline_ms": 400}))?;
    is(&answer, &json!({"outcome": "deadline"}))?;
    lies(&answer, "took_ms", 300..=2_500)?;
    pair.until_seen(&text, "cancelled", 1)
}

fn channel_of(pair: &Pair<'_>, texts: &[String], ask: &Value) -> Result<Value> {
    let order = json!({
        "do": "channel", "client": pair.name, "texts": texts, "ask": ask, "deadline_ms": 20_000,
    });
    pair.client.ask(order)
}

pub fn channel(pair: &Pair<'_>) -> Result<()> {
    let texts: Vec<String> = (0..500).map(|number| pair.text(&format!("channel-{number}"))).collect();
    let answer = channel_of(pair, &texts, &json!({}))?;
    is(&answer, &json!({"outcome": "ok"}))?;
    ensure!(answer["texts"] == json!(texts), "the replies differ: {answer}");
    Ok(())
}

/// The service ends a channel by a refusal: the caller hears it, whatever it still has to send.
pub fn channel_refused(pair: &Pair<'_>) -> Result<()> {
    let texts: Vec<String> = (0..100).map(|number| pair.text(&format!("refused-{number}"))).collect();
    let answer = channel_of(pair, &texts, &json!({"refusal": "REJECTED"}))?;
    is(&answer, &json!({"outcome": "rejected", "code": "CONF-001"}))
}
