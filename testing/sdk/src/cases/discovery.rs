//! Servers that register themselves, and clients that find them, also while the registry is away.
//!
//! The registry is an etcd or a ZooKeeper of its own, see [`crate::registry`].

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use stadium_testing::deadline::until_true;
use stadium_testing::process::Signal;
use stadium_testing::{etcd, zookeeper};

use super::{guards, is};
use crate::actor::{Actor, Pending};
use crate::language::Language;
use crate::registry::{Outage, Registry};
use crate::report::Report;
use crate::stage::{self, Callers, Member};

/// Every client finds every server.
pub const FOUND: &str = "discovery-found";
/// etcd is killed: clients keep the servers that they know, and find a new one when it is back.
pub const AWAY: &str = "discovery-away";
/// etcd is paused, and its connections are silent: as above.
pub const PAUSED: &str = "discovery-paused";
/// A server that was killed is forgotten when its session has ended.
pub const FORGOTTEN: &str = "discovery-forgotten";
/// The same with ZooKeeper.
pub const ZOOKEEPER_FOUND: &str = "zookeeper-found";
/// The same with ZooKeeper.
pub const ZOOKEEPER_AWAY: &str = "zookeeper-away";
/// The same with ZooKeeper.
pub const ZOOKEEPER_PAUSED: &str = "zookeeper-paused";
/// The same with ZooKeeper.
pub const ZOOKEEPER_FORGOTTEN: &str = "zookeeper-forgotten";

/// A registry, and the cases that are played with it.
pub struct Cases {
    /// Starts the registry.
    start: fn() -> Box<dyn Registry>,
    found: &'static str,
    away: &'static str,
    paused: &'static str,
    forgotten: &'static str,
}

/// The cases with etcd.
pub const ETCD: Cases = Cases {
    start: || Box::new(etcd::Cluster::start(1)),
    found: FOUND,
    away: AWAY,
    paused: PAUSED,
    forgotten: FORGOTTEN,
};

/// The cases with ZooKeeper.
pub const ZOOKEEPER: Cases = Cases {
    start: || Box::new(zookeeper::Ensemble::start(1)),
    found: ZOOKEEPER_FOUND,
    away: ZOOKEEPER_AWAY,
    paused: ZOOKEEPER_PAUSED,
    forgotten: ZOOKEEPER_FORGOTTEN,
};

impl Cases {
    /// Their names.
    pub const fn names(&self) -> [&'static str; 4] {
        [self.found, self.paused, self.away, self.forgotten]
    }
}

/// The least that the settings take.
const SESSION_TTL_MS: u64 = 1_000;
const SOON: Duration = Duration::from_secs(30);

/// What plays: the registry, the servers in it, and the clients.
struct Play<'a> {
    registry: Box<dyn Registry>,
    fleet: Vec<Member>,
    callers: &'a Callers,
    report: &'a Report,
}

/// Plays those of the cases that are wanted.
pub fn play(
    cases: &Cases,
    wants: impl Fn(&str) -> bool,
    servers: &[Language],
    newcomers: Newcomers,
    callers: &Callers,
    report: &Report,
) -> Result<()> {
    let registry = (cases.start)();
    let fleet = stage::fleet(servers, &json!({"discovery": place(&*registry)}))?;
    let mut play = Play { registry, fleet, callers, report };
    play.found(cases.found)?;
    let outages = [(cases.paused, Outage::Paused), (cases.away, Outage::Killed)];
    for (nth, (case, way)) in outages.into_iter().enumerate() {
        if wants(case) {
            play.outage(case, way, &newcomers.of(servers, nth))?;
        }
    }
    if wants(cases.forgotten) {
        play.forgotten(cases.forgotten)?;
    }
    callers.complete().try_for_each(|caller| stage::close(caller, "discovery"))
}

/// Which servers are new after an outage.
#[derive(Clone, Copy, Debug)]
pub enum Newcomers {
    /// One. The languages follow each other, beginning at this one.
    OneFrom(usize),
    /// One of each language.
    All,
}

impl Newcomers {
    fn of(self, servers: &[Language], outage: usize) -> Vec<Language> {
        match self {
            Self::OneFrom(first) => vec![servers[(first + outage) % servers.len()]],
            Self::All => servers.to_vec(),
        }
    }
}

fn place(registry: &dyn Registry) -> Value {
    json!({"url": registry.url(), "session_ttl_ms": SESSION_TTL_MS})
}

impl Play<'_> {
    fn found(&self, case: &'static str) -> Result<()> {
        for caller in self.callers.complete() {
            stage::client(caller, "discovery", json!({"discovery": place(&*self.registry)}))?;
        }
        for caller in self.callers.complete() {
            self.report.check(case, caller.language, None, || self.until_found(caller));
        }
        Ok(())
    }

    /// Waits until the keys of a client go to every server. Keys do so also where a server is slow.
    fn until_found(&self, caller: &Actor) -> Result<()> {
        until_true(SOON, "calls at every server", || {
            let placed: BTreeSet<String> = guards::places(caller, "discovery")?.into_values().collect();
            Ok(self.fleet.iter().all(|member| placed.contains(&member.name)))
        })
    }

    /// The servers that a client does not know.
    fn unknown(&self, explained: &str) -> Vec<&str> {
        let unknown = self.fleet.iter().filter(|member| !explained.contains(&member.address));
        unknown.map(|member| member.name.as_str()).collect()
    }

    /// The registry is away. Calls go on, nobody is forgotten, and new servers are found when it is back.
    fn outage(&mut self, case: &'static str, way: Outage, newcomers: &[Language]) -> Result<()> {
        let callers: Vec<&Actor> = self.callers.complete().collect();
        // After the outage before this one, servers may still have to register again.
        for caller in &callers {
            until_true(SOON, "a list that is live", || {
                let explained = explained(caller)?;
                Ok(!explained.contains("stale") && self.unknown(&explained).is_empty())
            })?;
        }
        self.registry.leave(way);
        let noticed: Vec<Result<()>> = callers.iter().map(|caller| until_stale(caller)).collect();
        // Longer than the sessions: nobody may be forgotten by then.
        let loads: Vec<Result<Pending>> =
            callers.iter().map(|caller| load(caller, 2 * SESSION_TTL_MS)).collect();
        let starting = stage::side_by_side(newcomers, |language| Actor::start(language, None))?;
        let calls: Vec<Result<()>> =
            callers.iter().zip(loads).map(|(caller, load)| self.went_on(caller, load?)).collect();
        self.registry.come_back(way);
        for actor in starting {
            let name = format!("{case}-{}", actor.language.name());
            let address = actor.serve(&name, json!({"discovery": place(&*self.registry)}))?;
            self.fleet.push(Member { actor, name, address });
        }
        for ((caller, noticed), calls) in callers.iter().zip(noticed).zip(calls) {
            self.report.check(case, caller.language, None, || {
                noticed?;
                calls?;
                self.until_found(caller).context("after the outage")
            });
        }
        Ok(())
    }

    fn went_on(&self, caller: &Actor, load: Pending) -> Result<()> {
        let answer = load.wait()?;
        is(&answer, &json!({"outcomes": {"ok": answer["calls"]}}))?;
        let explained = explained(caller)?;
        let unknown = self.unknown(&explained);
        ensure!(unknown.is_empty(), "forgotten during the outage: {unknown:?}: {explained}");
        Ok(())
    }

    /// All servers but the first are killed, and every client forgets them. With the first one, clients know of
    /// a server that is there.
    fn forgotten(&self, case: &'static str) -> Result<()> {
        let killed = &self.fleet[1..];
        killed.iter().try_for_each(|member| member.actor.signal(Signal::KILL))?;
        for caller in self.callers.complete() {
            for member in killed {
                self.report.check(case, caller.language, Some(member.actor.language), || {
                    until_true(SOON, "the server to be forgotten", || {
                        Ok(!explained(caller)?.contains(&member.address))
                    })
                });
            }
        }
        Ok(())
    }
}

/// Waits until a client knows that the registry is away.
fn until_stale(caller: &Actor) -> Result<()> {
    until_true(SOON, "the client to miss the registry", || Ok(explained(caller)?.contains("stale")))
}

fn explained(caller: &Actor) -> Result<String> {
    let answer = caller.ask(json!({"do": "explain", "client": "discovery"}))?;
    Ok(answer["text"].as_str().context("no text")?.to_owned())
}

fn load(caller: &Actor, for_ms: u64) -> Result<Pending> {
    caller.order(json!({
        "do": "load", "client": "discovery", "rate": 100, "for_ms": for_ms, "deadline_ms": 3_000,
    }))
}
