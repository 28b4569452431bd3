//! Where calls go: by key, by load, and nowhere.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use stadium_testing::deadline::until;

use super::{Pair, is, lies};
use crate::actor::Actor;
use crate::report::Report;
use crate::stage::{self, Callers, Member};

/// The same key goes to the same instance, and in every language to the same.
pub const AFFINITY: &str = "affinity";
/// Calls without a key go to all instances.
pub const BALANCE: &str = "balance";

/// A client halves a latency in seven seconds.
const FORGOTTEN_WITHIN: Duration = Duration::from_secs(60);

/// Keys whose instances are compared.
const KEYS: usize = 64;

/// A client names the instances that it knows, and its choice.
pub fn explain(pair: &Pair<'_>) -> Result<()> {
    let answer = pair.client.ask(json!({"do": "explain", "client": pair.name, "key": "phone-7"}))?;
    let text = answer["text"].as_str().context("no text")?;
    ensure!(text.contains("127.0.0.1:"), "no instance is named: {text}");
    Ok(())
}

/// Nobody listens: it is said soon, and before the deadline.
pub fn unavailable(pair: &Pair<'_>) -> Result<()> {
    let name = format!("{}-nobody", pair.name);
    let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    stage::client_of(pair.client, &name, &[&address])?;
    let order = json!({"do": "call", "client": name, "method": "Echo", "deadline_ms": 10_000});
    let answer = pair.client.ask(order)?;
    stage::close(pair.client, &name)?;
    is(&answer, &json!({"outcome": "unavailable"}))?;
    lies(&answer, "took_ms", 0..=5_000)
}

/// The server that each of many keys reaches.
pub fn places(actor: &Actor, client: &str) -> Result<BTreeMap<String, String>> {
    let calls: Vec<_> = (0..KEYS)
        .map(|number| {
            let key = format!("key-{number}");
            let order = json!({
                "do": "call", "client": client, "method": "Echo", "key": key, "deadline_ms": 10_000,
            });
            Ok((key, actor.order(order)?))
        })
        .collect::<Result<_>>()?;
    let placed = calls.into_iter().map(|(key, call)| {
        let answer = call.wait()?;
        is(&answer, &json!({"outcome": "ok", "reply": {"key": key}}))?;
        Ok((key, answer["reply"]["instance"].as_str().unwrap_or_default().to_owned()))
    });
    placed.collect()
}

/// Every client puts every key where the Rust client puts it.
pub fn affinity(callers: &Callers, fleet: &[Member], report: &Report) -> Result<()> {
    let addresses: Vec<&str> = fleet.iter().map(|member| member.address.as_str()).collect();
    let reference = Actor::start(crate::language::Language::Rust, None)?;
    stage::client_of(&reference, AFFINITY, &addresses)?;
    let expected = places(&reference, AFFINITY)?;
    for caller in callers.complete() {
        report.check(AFFINITY, caller.language, None, || {
            stage::client_of(caller, AFFINITY, &addresses)?;
            for round in ["first", "second"] {
                let placed = places(caller, AFFINITY)?;
                let others: Vec<_> = placed.iter().filter(|(key, place)| expected[*key] != **place).collect();
                ensure!(others.is_empty(), "in the {round} round elsewhere than Rust's: {others:?}");
            }
            stage::close(caller, AFFINITY)
        });
    }
    Ok(())
}

/// Every instance gets some of the calls. One whose first call was slow gets its second when its latency is
/// forgotten, which takes seconds.
pub fn balance(callers: &Callers, fleet: &[Member], report: &Report) {
    let addresses: Vec<&str> = fleet.iter().map(|member| member.address.as_str()).collect();
    for caller in callers.complete() {
        report.check(BALANCE, caller.language, None, || {
            stage::client_of(caller, BALANCE, &addresses)?;
            let mut served: BTreeMap<&str, u64> = BTreeMap::new();
            until(FORGOTTEN_WITHIN, "two calls at each server", || {
                let load = json!({
                    "do": "load", "client": BALANCE, "rate": 400, "for_ms": 1_000, "deadline_ms": 2_000,
                });
                let answer = caller.ask(load)?;
                // A call that fails ends the case.
                if let Err(error) = is(&answer, &json!({"outcomes": {"ok": answer["calls"]}})) {
                    return Ok(Some(Err(error)));
                }
                for member in fleet {
                    let calls = answer["instances"][&member.name].as_u64().unwrap_or(0);
                    *served.entry(member.name.as_str()).or_default() += calls;
                }
                Ok(served.values().all(|calls| *calls >= 2).then_some(Ok(())))
            })
            .with_context(|| format!("calls: {served:?}"))??;
            stage::close(caller, BALANCE)
        });
    }
}
