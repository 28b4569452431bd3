//! Calls at a fixed rate, whatever the answers do.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use prost::Message as _;
use serde_json::{Value, json};
use stadium_rpc::CallOptions;

use crate::calling::Calls;
use crate::orders::Load;
use crate::outcome;

/// Makes the calls, waits for all of them, and reports what became of them.
pub fn run(calls: &Calls, load: &Load) -> Value {
    let interval = Duration::from_secs(1) / load.rate.max(1);
    let options =
        CallOptions { deadline: Some(Duration::from_millis(load.deadline_ms)), ..CallOptions::default() };
    let (done, ended) = channel();
    let begin = Instant::now();
    let mut made = 0u32;
    let request = load.ask.message().encode_to_vec();
    let method = load.method.as_deref().unwrap_or("Echo");
    loop {
        // A call is late from the time at which it was due.
        let due = begin + interval * made;
        if due.duration_since(begin) >= Duration::from_millis(load.for_ms) {
            break;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let done = done.clone();
        calls.begin(method, request.clone(), &options, move |answer| {
            // The receiver waits for every call.
            _ = done.send((due.elapsed(), answer));
        });
        made += 1;
    }
    drop(done);
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    let mut instances: BTreeMap<String, u64> = BTreeMap::new();
    let mut latencies_ms: Vec<u64> = Vec::new();
    for (took, answer) in ended {
        latencies_ms.push(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        match answer {
            Ok(reply) => {
                *outcomes.entry("ok").or_default() += 1;
                *instances.entry(reply.instance).or_default() += 1;
            }
            Err(error) => *outcomes.entry(outcome::kind(&error)).or_default() += 1,
        }
    }
    latencies_ms.sort_unstable();
    let at = |share: f64| latencies_ms.get((latencies_ms.len() as f64 * share) as usize).copied();
    json!({
        "calls": made,
        "outcomes": outcomes,
        "instances": instances,
        "p50_ms": at(0.5),
        "p99_ms": at(0.99),
        "max_ms": latencies_ms.last(),
    })
}
