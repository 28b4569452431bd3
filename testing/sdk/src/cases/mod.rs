//! The cases. A pair case has one client and one server; the others take all of them at once.
//!
//! [`crate::run`] has their order.

pub mod answers;
pub mod discovery;
pub mod ends;
pub mod faults;
pub mod guards;
pub mod streams;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::actor::{Actor, Pending};

/// A client and a server.
pub struct Pair<'a> {
    /// The calling actor.
    pub client: &'a Actor,
    /// The name of its client, which knows this server only.
    pub name: String,
    /// The serving actor.
    pub server: &'a Actor,
    /// Begins the texts of this pair.
    pub tag: String,
}

/// A case of one client and one server.
pub struct Case {
    /// Its name: sdk/features.json refers to it.
    pub name: &'static str,
    /// True if clients need unary calls only.
    pub is_unary: bool,
    /// The case.
    pub run: fn(&Pair<'_>) -> Result<()>,
}

const fn unary(name: &'static str, run: fn(&Pair<'_>) -> Result<()>) -> Case {
    Case { name, is_unary: true, run }
}

const fn complete(name: &'static str, run: fn(&Pair<'_>) -> Result<()>) -> Case {
    Case { name, is_unary: false, run }
}

/// The pair cases.
pub const PAIRS: &[Case] = &[
    unary("unary", answers::unary),
    unary("large", answers::large),
    unary("key", answers::key),
    unary("bearer", answers::bearer),
    unary("busy", answers::busy),
    complete("busy-once", answers::busy_once),
    unary("rejected", answers::rejected),
    unary("unknown", answers::unknown),
    unary("failure", answers::failure),
    unary("application", answers::application),
    unary("no-route", answers::no_route),
    complete("malformed", answers::malformed),
    unary("deadline", answers::deadline),
    unary("deadline-travels", answers::deadline_travels),
    unary("cancel", answers::cancel),
    unary("many", answers::many),
    unary("one-way", answers::one_way),
    complete("stream", streams::stream),
    complete("stream-cancel", streams::cancel),
    complete("stream-refused", streams::refused),
    complete("stream-deadline", streams::deadline),
    complete("channel", streams::channel),
    complete("channel-refused", streams::channel_refused),
    complete("explain", guards::explain),
    unary("unavailable", guards::unavailable),
];

/// The names of the cases that take all clients and servers.
pub const SHARED: &[&str] = &[
    ends::QUIESCE,
    ends::KILLED_ONCE,
    ends::KILLED_IDEMPOTENT,
    guards::AFFINITY,
    guards::BALANCE,
    faults::KILLED,
    faults::PAUSED,
    faults::SILENT,
    faults::SLOW,
    discovery::FOUND,
    discovery::PAUSED,
    discovery::AWAY,
    discovery::FORGOTTEN,
    discovery::ZOOKEEPER_FOUND,
    discovery::ZOOKEEPER_PAUSED,
    discovery::ZOOKEEPER_AWAY,
    discovery::ZOOKEEPER_FORGOTTEN,
];

impl Pair<'_> {
    /// A text of this pair's own.
    pub fn text(&self, case: &str) -> String {
        format!("{}-{case}", self.tag)
    }

    /// Begins a call.
    pub fn begin(&self, method: &str, ask: Value, more: Value) -> Result<Pending> {
        let mut order = json!({"do": "call", "client": self.name, "method": method, "ask": ask});
        if let (Value::Object(order), Value::Object(more)) = (&mut order, more) {
            order.extend(more);
        }
        self.client.order(order)
    }

    /// Calls, and returns the outcome.
    pub fn call(&self, method: &str, ask: Value, more: Value) -> Result<Value> {
        self.begin(method, ask, more)?.wait()
    }

    /// The server's counts of a text.
    pub fn seen(&self, text: &str) -> Result<Value> {
        self.server.ask(json!({"do": "seen", "text": text}))
    }

    /// Waits until the server saw this of a text.
    pub fn until_seen(&self, text: &str, field: &str, count: u64) -> Result<()> {
        let mut last = Value::Null;
        let seen = stadium_testing::deadline::until_true(
            std::time::Duration::from_secs(10),
            "what the server is to see",
            || {
                last = self.seen(text)?;
                Ok(last[field] == count)
            },
        );
        seen.map_err(|_| anyhow::anyhow!("{field} of {text} is not {count}: {last}"))
    }
}

/// The fields of an answer that are named are these.
pub fn is(answer: &Value, expected: &Value) -> Result<()> {
    if let Value::Object(fields) = expected {
        for (name, value) in fields {
            match value {
                Value::Object(_) => is(&answer[name], value)?,
                _ => ensure!(answer[name] == *value, "{name} is {}, not {value}: {answer}", answer[name]),
            }
        }
    }
    Ok(())
}

/// A number of an answer lies in a range.
pub fn lies(answer: &Value, name: &str, range: std::ops::RangeInclusive<u64>) -> Result<()> {
    let number = answer[name].as_u64();
    ensure!(number.is_some_and(|number| range.contains(&number)), "{name} is not in {range:?}: {answer}");
    Ok(())
}
