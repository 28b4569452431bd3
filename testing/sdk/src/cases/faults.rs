//! Faults of one server of a mixed fleet, while every client calls at a fixed rate.
//!
//! Every client reaches every server through a way of its own, so that connections can go silent.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use stadium_testing::deadline::until;
use stadium_testing::process::Signal;
use stadium_testing::proxy::Proxy;

use crate::actor::{Actor, Pending};
use crate::language::Language;
use crate::report::Report;
use crate::stage::{self, Callers, Member};

/// A process is killed.
pub const KILLED: &str = "fault-killed";
/// A process is stopped; its kernel acknowledges.
pub const PAUSED: &str = "fault-paused";
/// Open connections go silent without FIN; new ones work.
pub const SILENT: &str = "fault-silent";
/// Each call takes 200 ms longer.
pub const SLOW: &str = "fault-slow";

/// All faults.
pub const ALL: [&str; 4] = [KILLED, PAUSED, SILENT, SLOW];

/// Calls of each client in a second.
const RATE: u32 = 100;
/// Long enough for the servers that are well, also on a machine that has no time.
const DEADLINE_MS: u64 = 3_000;
/// Longest that a call takes beyond its deadline, on such a machine.
const SLACK_MS: u64 = 3_000;
/// Half of the calls are answered within this where the machine keeps up.
const KEEPS_UP_MS: u64 = 10;

/// A load of every client, and the shares of its calls that must be answered.
struct Phase {
    for_ms: u64,
    /// Where the machine keeps up.
    answered_min: f64,
    /// Where it does not, by the number of servers.
    starved_min: fn(f64) -> f64,
}

/// The fault begins in this load, [`UNTIL_FAULT`] after its beginning.
///
/// A server that goes silent keeps the calls that it has. It gets more until those make it cost
/// more than the others, or until the first deadline passes: the more, the slower the others are.
/// Choice draws two servers, so that one of four gets half of the calls at most; a quarter of the
/// calls comes before the fault. Copies rescue one call in twenty and ten that were saved, but on a
/// busy machine slow calls have used them up.
const BEGINS: Phase =
    Phase { for_ms: 1_200, answered_min: 0.88, starved_min: |servers| 1.0 - 0.75 * 2.0 / servers };

/// The fault goes on, and every call of the first load has ended: clients that had failures know of
/// it. A call now and then tries the server. Without guards a quarter of the calls would fail.
const LASTS: Phase = Phase { for_ms: 1_000, answered_min: 0.97, starved_min: |_| 0.97 };

const UNTIL_FAULT: Duration = Duration::from_millis(300);

struct Place {
    member: Option<Member>,
    language: Language,
    address: String,
    way: Proxy,
    /// A key whose calls go to it while it is well.
    key: String,
}

/// A fleet behind ways that can go silent.
pub struct Faults<'a> {
    callers: &'a Callers,
    places: Vec<Place>,
}

impl<'a> Faults<'a> {
    /// Starts the fleet, and a client of every caller.
    pub fn start(callers: &'a Callers, servers: &[Language]) -> Result<Self> {
        let places = stage::fleet(servers, &json!({}))?
            .into_iter()
            .map(|member| {
                let address: SocketAddr = member.address.parse().context("an address")?;
                let (language, address_text) = (member.actor.language, member.address.clone());
                let way = Proxy::to(address);
                Ok(Place { member: Some(member), language, address: address_text, way, key: String::new() })
            })
            .collect::<Result<Vec<_>>>()?;
        let ways: Vec<String> = places.iter().map(|place| place.way.address.to_string()).collect();
        let known: Vec<&str> = ways.iter().map(String::as_str).collect();
        for caller in callers.complete() {
            stage::client_of(caller, "faults", &known)?;
        }
        let mut faults = Self { callers, places };
        faults.find_keys()?;
        // Latencies become known, and hedges with them.
        faults.loads(2_000)?.into_iter().try_for_each(|(_, load)| load.wait().map(drop))?;
        Ok(faults)
    }

    fn loads(&self, for_ms: u64) -> Result<Vec<(Language, Pending)>> {
        let load = |caller: &Actor| {
            let order = json!({
                "do": "load", "client": "faults", "rate": RATE, "for_ms": for_ms, "deadline_ms": DEADLINE_MS,
            });
            Ok((caller.language, caller.order(order)?))
        };
        self.callers.complete().map(load).collect()
    }

    /// Plays one fault of one server, and waits until the server has calls again.
    pub fn play(&mut self, fault: &'static str, server: Language, report: &Report) -> Result<()> {
        let at = self.places.iter().position(|place| place.language == server).context("it serves")?;
        let begins = self.loads(BEGINS.for_ms)?;
        // The fault begins under load: this is the case itself, not a wait for something.
        thread::sleep(UNTIL_FAULT);
        self.begin(fault, at)?;
        let begun = ended(begins);
        let lasted = ended(self.loads(LASTS.for_ms)?);
        for ((client, begun), (_, lasted)) in begun.into_iter().zip(lasted) {
            report.check(fault, client, Some(server), || {
                let begun = begun?;
                judge(&BEGINS, self.places.len(), &begun).context("as the fault began")?;
                let phase = if knows(fault, &begun) { &LASTS } else { &BEGINS };
                judge(phase, self.places.len(), &lasted?).context("as the fault lasted")
            });
        }
        self.end(fault, at)?;
        self.returns(at)
    }

    fn begin(&mut self, fault: &str, at: usize) -> Result<()> {
        let place = &mut self.places[at];
        let member = place.member.as_ref().context("it runs")?;
        match fault {
            KILLED => {
                member.actor.signal(Signal::KILL)?;
                place.member = None;
                Ok(())
            }
            PAUSED => member.actor.signal(Signal::STOP),
            SILENT => {
                place.way.hush();
                Ok(())
            }
            _ => member.actor.ask(json!({"do": "slow", "ms": 200})).map(drop),
        }
    }

    fn end(&mut self, fault: &str, at: usize) -> Result<()> {
        let place = &mut self.places[at];
        match (&place.member, fault) {
            (None, _) => {
                let settings = json!({"listen": [place.address]});
                place.member = Some(Member::start(place.language, place.language.name(), settings, None)?);
                Ok(())
            }
            (Some(member), PAUSED) => member.actor.signal(Signal::CONT),
            (Some(member), SLOW) => member.actor.ask(json!({"do": "slow", "ms": 0})).map(drop),
            _ => Ok(()),
        }
    }

    /// A key for each server; all clients place it alike.
    fn find_keys(&mut self) -> Result<()> {
        let caller = self.callers.complete().next().context("nobody calls")?;
        for number in 0..1_000 {
            let key = format!("key-{number}");
            let instance = called_with(caller, &key)?;
            let place = self.places.iter_mut().find(|place| place.language.name() == instance);
            if let Some(place) = place {
                place.key = key;
            }
            if self.places.iter().all(|place| !place.key.is_empty()) {
                return Ok(());
            }
        }
        anyhow::bail!("a server has no keys")
    }

    /// Every client calls the server again. Calls with a key go there as soon as it is well; without one
    /// they would not, before its latencies are forgotten.
    fn returns(&self, at: usize) -> Result<()> {
        let Place { language, key, .. } = &self.places[at];
        for caller in self.callers.complete() {
            until(Duration::from_secs(30), "calls to the server that had failed", || {
                Ok((called_with(caller, key)? == language.name()).then_some(()))
            })
            .with_context(|| format!("{} -> {}", caller.language.name(), language.name()))?;
        }
        Ok(())
    }
}

/// The server that a call with a key reaches; nothing where it fails.
fn called_with(caller: &Actor, key: &str) -> Result<String> {
    let order = json!({
        "do": "call", "client": "faults", "method": "Echo", "key": key, "deadline_ms": DEADLINE_MS,
    });
    Ok(caller.ask(order)?["reply"]["instance"].as_str().unwrap_or_default().to_owned())
}

/// Waits for the loads of all clients.
fn ended(loads: Vec<(Language, Pending)>) -> Vec<(Language, Result<Value>)> {
    loads.into_iter().map(|(client, load)| (client, load.wait())).collect()
}

/// True where a client had to notice the fault in the load in which it began.
///
/// A client does not notice a silent server that it did not call, because its latency was bad by
/// chance: the first calls to it come later.
fn knows(fault: &str, begun: &Value) -> bool {
    ![PAUSED, SILENT].contains(&fault) || begun["outcomes"]["ok"] != begun["calls"]
}

fn judge(phase: &Phase, servers: usize, answer: &Value) -> Result<()> {
    let calls = answer["calls"].as_u64().context("no calls")?;
    let answered = answer["outcomes"]["ok"].as_u64().unwrap_or(0);
    let keeps_up = answer["p50_ms"].as_u64().is_some_and(|p50_ms| p50_ms <= KEEPS_UP_MS);
    let answered_min = if keeps_up { phase.answered_min } else { (phase.starved_min)(servers as f64) };
    ensure!(
        answered as f64 >= calls as f64 * answered_min,
        "{answered} of {calls} calls were answered: {answer}"
    );
    let max_ms = answer["max_ms"].as_u64().context("no longest call")?;
    ensure!(max_ms <= DEADLINE_MS + SLACK_MS, "a call ended {max_ms} ms after it was due: {answer}");
    Ok(())
}
