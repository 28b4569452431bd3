//! Servers that leave, and servers that are killed, with calls under way.
//!
//! All clients call the same two servers at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use stadium_testing::deadline::until_true;
use stadium_testing::process::Signal;

use super::{guards, is};
use crate::actor::{Actor, Pending};
use crate::language::Language;
use crate::report::{Report, Verdict};
use crate::stage::{self, Callers, Member};

/// A server that leaves finishes what it has, and gets nothing new.
pub const QUIESCE: &str = "quiesce";
/// A call that may have happened is not made again: its caller learns that the connection broke.
pub const KILLED_ONCE: &str = "killed-once";
/// A call of an idempotent method is made again elsewhere.
pub const KILLED_IDEMPOTENT: &str = "killed-idempotent";

/// Calls of each client that are under way at each of the two servers when one is killed: fewer than the ten a
/// second that a client's budget lets it make again.
const CALLS: usize = 8;
/// Longest that calls take to begin, on a busy machine.
const SOON: Duration = Duration::from_secs(20);

/// One server leaves while all clients call it and another one.
pub fn quiesce(
    callers: &Callers,
    stable: &Member,
    language: Language,
    mutant: Option<&str>,
    report: &Report,
) -> Result<()> {
    let leaving = Member::start(language, "leaving", json!({}), mutant)?;
    let loads: Vec<(Language, Result<Pending>)> = callers
        .complete()
        .map(|caller| {
            let load =
                stage::client_of(caller, QUIESCE, &[&stable.address, &leaving.address]).and_then(|()| {
                    caller.order(json!({
                        "do": "load", "client": QUIESCE, "rate": 100, "for_ms": 1_600, "deadline_ms": 3_000,
                    "method": "Once", "ask": {"sleep_ms": 100},
                    }))
                });
            (caller.language, load)
        })
        .collect();
    // The clients call both for a while: this is the case itself, not a wait for something.
    thread::sleep(Duration::from_millis(700));
    let left = leaving.actor.ask(json!({"do": "quiesce", "within_ms": 5_000}));
    for (client, load) in loads {
        report.check(QUIESCE, client, Some(language), || {
            let answer = load?.wait()?;
            is(&answer, &json!({"outcomes": {"ok": answer["calls"]}}))?;
            ensure!(answer["instances"]["leaving"].as_u64() >= Some(1), "it was never called: {answer}");
            let left = left.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
            ensure!(left["cut"] == 0, "connections were cut: {left}");
            Ok(())
        });
    }
    callers.complete().try_for_each(|caller| stage::close(caller, QUIESCE))
}

struct UnderWay {
    client: Language,
    calls: Vec<(String, Pending)>,
}

fn begin(caller: &Actor, case: &str, method: &str) -> Result<UnderWay> {
    let mut room: BTreeMap<String, usize> = BTreeMap::new();
    let keys = guards::places(caller, case)?.into_iter().filter(|(_, server)| {
        let room = room.entry(server.clone()).or_insert(CALLS);
        let has_room = *room > 0;
        *room = room.saturating_sub(1);
        has_room
    });
    let calls = keys
        .map(|(key, _)| {
            let text = format!("{case}-{}-{key}", caller.language.name());
            let order = json!({
                "do": "call", "client": case, "method": method, "deadline_ms": 20_000,
                "ask": {"text": text, "sleep_ms": 3_000}, "key": key,
            });
            Ok((text, caller.order(order)?))
        })
        .collect::<Result<_>>()?;
    Ok(UnderWay { client: caller.language, calls })
}

/// One server is killed with calls under way.
pub fn killed(callers: &Callers, stable: &Member, language: Language, report: &Report) -> Result<()> {
    let victim = Member::start(language, "victim", json!({}), None)?;
    let both = [stable.address.as_str(), victim.address.as_str()];
    for caller in &callers.0 {
        let known = if caller.language.is_complete() { &both[..] } else { &both[1..] };
        stage::client_of(caller, KILLED_ONCE, known)?;
        if caller.language.is_complete() {
            stage::client_of(caller, KILLED_IDEMPOTENT, known)?;
        }
    }
    let mut under_way: Vec<(&'static str, UnderWay)> = Vec::new();
    for caller in &callers.0 {
        under_way.push((KILLED_ONCE, begin(caller, KILLED_ONCE, "Once")?));
        if caller.language.is_complete() {
            under_way.push((KILLED_IDEMPOTENT, begin(caller, KILLED_IDEMPOTENT, "Echo")?));
        }
    }
    // All of them have begun somewhere.
    let texts = || under_way.iter().flat_map(|(_, calls)| calls.calls.iter().map(|(text, _)| text.as_str()));
    let at_victim = until_begun(&victim.actor, &stable.actor, texts().collect())?;
    victim.actor.signal(Signal::KILL)?;
    for (case, UnderWay { client, calls }) in under_way {
        report.check(case, client, Some(language), || {
            let mut hit = 0;
            for (text, call) in calls {
                let answer = call.wait()?;
                // On a machine that has no time the victim may have answered before it was killed.
                let was_hit = at_victim.contains(&text) && answer["reply"]["instance"] != "victim";
                hit += usize::from(was_hit);
                let expected = if was_hit && case == KILLED_ONCE { "broken" } else { "ok" };
                is(&answer, &json!({"outcome": expected})).with_context(|| text.clone())?;
            }
            ensure!(hit > 0, "no call was at the server that was killed");
            Ok(())
        });
    }
    for caller in &callers.0 {
        stage::close(caller, KILLED_ONCE)?;
        if caller.language.is_complete() {
            stage::close(caller, KILLED_IDEMPOTENT)?;
        }
    }
    Ok(())
}

/// Waits until calls with these texts have begun at one of two servers. Returns those at the first.
fn until_begun(first: &Actor, second: &Actor, texts: Vec<&str>) -> Result<BTreeSet<String>> {
    let mut at_first = BTreeSet::new();
    let mut missing = texts;
    until_true(SOON, "calls to begin", || {
        // All questions at once: the calls last for a few seconds only.
        let ask = |actor: &Actor, text: &str| actor.order(json!({"do": "seen", "text": text}));
        let asked = missing.iter().map(|text| Ok((*text, ask(first, text)?, ask(second, text)?)));
        let asked: Vec<_> = asked.collect::<Result<_>>()?;
        let has_begun = |seen: Pending| Ok::<_, anyhow::Error>(seen.wait()?["began"].as_u64() > Some(0));
        missing.clear();
        for (text, at_it, at_other) in asked {
            let (is_at_first, is_at_second) = (has_begun(at_it)?, has_begun(at_other)?);
            if is_at_first {
                at_first.insert(text.to_owned());
            } else if !is_at_second {
                missing.push(text);
            }
        }
        Ok(missing.is_empty())
    })?;
    Ok(at_first)
}

/// A case that could not be set up fails for every client.
pub fn failed_for_all(
    callers: &Callers,
    case: &'static str,
    server: Option<Language>,
    error: &anyhow::Error,
    report: &Report,
) {
    for caller in &callers.0 {
        let failure = Some(format!("{error:#}"));
        report.add(Verdict { case, client: caller.language, server, failure, took: Duration::ZERO });
    }
}
