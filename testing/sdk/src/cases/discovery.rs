//! Servers that register themselves, and clients that find them.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use stadium_testing::deadline::until_true;
use stadium_testing::etcd;
use stadium_testing::process::Signal;

use super::{guards, is};
use crate::actor::Actor;
use crate::language::Language;
use crate::report::Report;
use crate::stage::{self, Callers};

/// Every client finds every server.
pub const FOUND: &str = "discovery-found";
/// The backend is gone: clients keep the servers that they know.
pub const AWAY: &str = "discovery-away";
/// A server that was killed is forgotten when its session has ended.
pub const FORGOTTEN: &str = "discovery-forgotten";

/// The least that the settings take.
const SESSION_TTL_MS: u64 = 1_000;
const SOON: Duration = Duration::from_secs(20);

/// Plays all three with an etcd that is killed and started again.
pub fn etcd(callers: &Callers, servers: &[Language], report: &Report) -> Result<()> {
    let mut cluster = etcd::Cluster::start(1);
    cluster.until_ready();
    let place = json!({"url": format!("etcd://{}", cluster.address(0)), "session_ttl_ms": SESSION_TTL_MS});
    let fleet = stage::fleet(servers, &json!({"discovery": place}))?;
    for caller in callers.complete() {
        report.check(FOUND, caller.language, None, || {
            stage::client(caller, "discovery", json!({"discovery": place}))?;
            until_true(SOON, "calls at every server", || {
                // Keys go to every server, also to one that is slow.
                let placed: BTreeSet<String> = guards::places(caller, "discovery")?.into_values().collect();
                Ok(fleet.iter().all(|member| placed.contains(&member.name)))
            })
        });
    }
    cluster.kill(0);
    for caller in callers.complete() {
        report.check(AWAY, caller.language, None, || {
            // Longer than the sessions: nobody may be forgotten by then.
            let answer = load(caller, 2 * SESSION_TTL_MS)?;
            is(&answer, &json!({"outcomes": {"ok": answer["calls"]}}))
        });
    }
    cluster.revive(0);
    cluster.until_ready();
    // The first server stays, so that clients know of one.
    for member in fleet.iter().skip(1) {
        forgotten(callers, member, report)?;
    }
    callers.complete().try_for_each(|caller| stage::close(caller, "discovery"))
}

fn load(caller: &Actor, for_ms: u64) -> Result<Value> {
    caller.ask(json!({
        "do": "load", "client": "discovery", "rate": 100, "for_ms": for_ms, "deadline_ms": 3_000,
    }))
}

/// A server is killed, and every client forgets it.
fn forgotten(callers: &Callers, member: &stage::Member, report: &Report) -> Result<()> {
    member.actor.signal(Signal::KILL)?;
    for caller in callers.complete() {
        report.check(FORGOTTEN, caller.language, Some(member.actor.language), || {
            let known = || -> Result<String> {
                let answer = caller.ask(json!({"do": "explain", "client": "discovery"}))?;
                Ok(answer["text"].as_str().context("no text")?.to_owned())
            };
            until_true(SOON, "the server to be forgotten", || Ok(!known()?.contains(&member.address)))
        });
    }
    Ok(())
}
