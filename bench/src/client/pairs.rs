//! 100 publishers to 100 subscribers, each pair on a topic of its own: messages a second end to end.
//!
//! At most `--window` messages of a pair are under way; at QoS 1 a message is under way until the
//! subscriber has it and the publisher's PUBACK is there. A pair's new messages leave in one write.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use super::{Mark, Options};
use crate::connections::{Connections, Device, STALL};
use crate::wire::{Incoming, Message, Wire};

/// Pairs of a publisher and a subscriber.
const PAIRS: usize = 100;
/// Content of a message.
const PAYLOAD_BYTES: usize = 100;
/// Warm-up before the measurement.
const WARM: Duration = Duration::from_millis(500);

/// What one pair has under way.
#[derive(Clone, Copy, Default)]
struct Pair {
    sent: u64,
    delivered: u64,
    accepted: u64,
}

/// Connects, warms up, measures.
pub(super) fn run<W: Wire>(wire: W, options: &Options) -> Result<Map<String, Value>> {
    let mut connections = Connections::new(wire, options.address)?;
    for index in 0..PAIRS {
        connections.add(Device { id: format!("{}-p{index}", options.prefix), topics: Vec::new() });
    }
    for index in 0..PAIRS {
        let topics = vec![(topic(index), options.qos)];
        connections.add(Device { id: format!("{}-s{index}", options.prefix), topics });
    }
    connections.connect_all(options.in_flight)?;
    let mut pairs = vec![Pair::default(); PAIRS];
    let warm_until = Instant::now() + WARM;
    exchange(&mut connections, &mut pairs, options, warm_until)?;
    let before = delivered(&pairs);
    let mark = Mark::now(options)?;
    exchange(&mut connections, &mut pairs, options, mark.at + Duration::from_secs_f64(options.seconds))?;
    let spent = mark.spent(options)?;
    let messages = (delivered(&pairs) - before) as f64;
    Ok(Map::from_iter([
        ("messages_per_s".to_owned(), Value::from(messages / spent.seconds)),
        ("server_cpu_us_per_message".to_owned(), Value::from(spent.server_cpu_s * 1e6 / messages)),
        ("server_busy".to_owned(), Value::from(spent.server_cpu_s / spent.seconds)),
        ("client_busy".to_owned(), Value::from(spent.client_cpu_s / spent.seconds)),
    ]))
}

fn topic(index: usize) -> String {
    format!("pairs/{index}")
}

fn delivered(pairs: &[Pair]) -> u64 {
    pairs.iter().map(|pair| pair.delivered).sum()
}

/// Keeps every pair's window full until `until`.
fn exchange<W: Wire>(
    connections: &mut Connections<W>,
    pairs: &mut [Pair],
    options: &Options,
    until: Instant,
) -> Result<()> {
    let topics: Vec<String> = (0..PAIRS).map(topic).collect();
    let window = options.window as u64;
    let payload = [b'.'; PAYLOAD_BYTES];
    let mut outgoing = Vec::new();
    let mut progress = Instant::now();
    while Instant::now() < until {
        for (index, pair) in pairs.iter_mut().enumerate() {
            let done = if options.qos > 0 { pair.delivered.min(pair.accepted) } else { pair.delivered };
            let room = window.saturating_sub(pair.sent - done);
            if room == 0 {
                continue;
            }
            outgoing.clear();
            for _ in 0..room {
                let packet_id = (options.qos > 0).then_some((pair.sent % 60_000 + 1) as u16);
                connections
                    .wire()
                    .publish(&Message { topic: &topics[index], packet_id, payload: &payload }, &mut outgoing);
                pair.sent += 1;
            }
            connections.send(index, &outgoing)?;
        }
        let mut moved = false;
        connections.turn(Duration::from_millis(100), |index, incoming, _| match incoming {
            Incoming::Delivery { .. } => {
                pairs[index - PAIRS].delivered += 1;
                moved = true;
            }
            Incoming::Accepted => pairs[index].accepted += 1,
            _ => {}
        })?;
        connections.check()?;
        if moved {
            progress = Instant::now();
        } else if progress.elapsed() > STALL {
            bail!(
                "stalled with {} messages under way",
                pairs.iter().map(|pair| pair.sent - pair.delivered).sum::<u64>()
            );
        }
    }
    Ok(())
}
