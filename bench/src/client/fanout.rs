//! One publisher, N devices, at most W messages in flight: deliveries a second, and their latency.
//!
//! A message is in flight until every device has it; new ones leave in one write as soon as earlier ones
//! are complete. Each carries its number and when it was meant to leave, so that a delivery's latency
//! includes the time that its message waited in our own socket.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hdrhistogram::Histogram;
use serde_json::{Map, Value};

use super::{Mark, Options, devices};
use crate::allocations;
use crate::connections::{Connections, Device, STALL};
use crate::wire::{Incoming, Message, Wire};

/// Content of a message: number, time in microseconds, filler.
const PAYLOAD_BYTES: usize = 100;
/// Deliveries that warm server and client up before the measurement.
const WARM_ROUNDS: usize = 20;
/// At most this long is spent warming up.
const WARM_MAX: Duration = Duration::from_millis(1_500);

/// The messages in flight and what has been counted.
struct Flight {
    started: Instant,
    devices: usize,
    /// Number of the oldest message in flight.
    first: u32,
    /// Devices still missing, for each message in flight.
    missing: VecDeque<usize>,
    delivered: u64,
    latency_us: Histogram<u64>,
}

impl Flight {
    fn delivery(&mut self, payload: &[u8], now_us: u64) {
        let number = u32::from_le_bytes(payload[..4].try_into().expect("four bytes"));
        let sent_us = u64::from_le_bytes(payload[4..12].try_into().expect("eight bytes"));
        let index = number.wrapping_sub(self.first) as usize;
        if let Some(missing) = self.missing.get_mut(index) {
            *missing -= 1;
            self.delivered += 1;
            self.latency_us.saturating_record(now_us.saturating_sub(sent_us));
        }
        while self.missing.front() == Some(&0) {
            self.missing.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    /// Counts the next message as in flight and writes its number and the time into its payload; returns the number.
    fn next(&mut self, payload: &mut [u8]) -> Result<u32> {
        let number = self.first.wrapping_add(u32::try_from(self.missing.len())?);
        payload[..4].copy_from_slice(&number.to_le_bytes());
        payload[4..12].copy_from_slice(&self.now_us().to_le_bytes());
        self.missing.push_back(self.devices);
        Ok(number)
    }

    fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// Connects, warms up, measures.
pub(super) fn run<W: Wire>(wire: W, options: &Options) -> Result<Map<String, Value>> {
    let mut connections =
        devices::fleet(wire, options.address, &options.prefix, options.devices, options.qos)?;
    let publisher =
        connections.add(Device { id: format!("{}-publisher", options.prefix), topics: Vec::new() });
    connections.connect_all(options.in_flight)?;
    let mut flight = Flight {
        started: Instant::now(),
        devices: options.devices,
        first: 0,
        missing: VecDeque::new(),
        delivered: 0,
        latency_us: Histogram::new_with_bounds(1, 60_000_000, 3)?,
    };

    let warm_until = Instant::now() + WARM_MAX;
    let warm_deliveries = (WARM_ROUNDS * options.devices) as u64;
    deliver(&mut connections, publisher, &mut flight, options, |flight| {
        flight.delivered >= warm_deliveries || Instant::now() > warm_until
    })?;

    flight.latency_us.reset();
    let before = flight.delivered;
    let idle = idle_allocations(&mut connections, &mut flight, options)?;
    let allocated = allocations::read(options.allocations.as_deref())?;
    let mark = Mark::now(options)?;
    let until = mark.at + Duration::from_secs_f64(options.seconds);
    // At least one delivery, however slow the server is.
    deliver(&mut connections, publisher, &mut flight, options, |flight| {
        Instant::now() > until && flight.delivered > before
    })?;
    let spent = mark.spent(options)?;
    let allocated = allocations::read(options.allocations.as_deref())? - allocated;
    let deliveries = (flight.delivered - before) as f64;

    let us = |quantile: f64| Value::from(flight.latency_us.value_at_quantile(quantile));
    Ok(Map::from_iter([
        ("deliveries_per_s".to_owned(), Value::from(deliveries / spent.seconds)),
        ("server_cpu_us_per_delivery".to_owned(), Value::from(spent.server_cpu_s * 1e6 / deliveries)),
        ("server_busy".to_owned(), Value::from(spent.server_cpu_s / spent.seconds)),
        ("client_busy".to_owned(), Value::from(spent.client_cpu_s / spent.seconds)),
        ("latency_p50_us".to_owned(), us(0.5)),
        ("latency_p99_us".to_owned(), us(0.99)),
        ("latency_max_us".to_owned(), us(1.0)),
        (
            "allocations_per_delivery".to_owned(),
            Value::from(rounded(allocated.saturating_sub(idle) as f64 / deliveries)),
        ),
        ("deliveries".to_owned(), Value::from(deliveries)),
    ]))
}

/// Allocations that the server makes in the measurement's time without a delivery: its clocks and reports.
///
/// The messages that the warm-up left in flight arrive first, and don't count.
fn idle_allocations<W: Wire>(
    connections: &mut Connections<W>,
    flight: &mut Flight,
    options: &Options,
) -> Result<u64> {
    if options.allocations.is_none() {
        return Ok(0);
    }
    let full_again = Instant::now() + STALL;
    while !flight.missing.is_empty() && Instant::now() < full_again {
        receive(connections, flight)?;
    }
    let before = allocations::read(options.allocations.as_deref())?;
    let until = Instant::now() + Duration::from_secs_f64(options.seconds);
    while Instant::now() < until {
        connections.turn(Duration::from_millis(100), |_, _, _| {})?;
    }
    Ok(allocations::read(options.allocations.as_deref())? - before)
}

/// To three digits: less than one allocation in 2,000 deliveries is none.
fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

/// Keeps the window full until `done`.
fn deliver<W: Wire>(
    connections: &mut Connections<W>,
    publisher: usize,
    flight: &mut Flight,
    options: &Options,
    done: impl Fn(&Flight) -> bool,
) -> Result<()> {
    let mut outgoing = Vec::new();
    let mut payload = [b'.'; PAYLOAD_BYTES];
    let mut progress = (flight.delivered, Instant::now());
    if options.read_every > 0 {
        return deliver_unread(connections, publisher, flight, options, done);
    }
    while !done(flight) {
        outgoing.clear();
        while flight.missing.len() < options.window {
            let number = flight.next(&mut payload)?;
            // Never 0, and never one that is still in flight.
            let packet_id = (options.qos > 0).then_some((number % 60_000 + 1) as u16);
            let message = Message { topic: devices::EVERYBODY, packet_id, payload: &payload };
            connections.wire().publish(&message, &mut outgoing);
        }
        if !outgoing.is_empty() {
            connections.send(publisher, &outgoing)?;
        }
        receive(connections, flight)?;
        connections.check()?;
        if flight.delivered > progress.0 {
            progress = (flight.delivered, Instant::now());
        } else if progress.1.elapsed() > STALL {
            bail!("stalled: {:?} devices miss the messages in flight", flight.missing);
        }
    }
    Ok(())
}

/// Publishes one message after the other at QoS 1, each when the one before is acknowledged, and lets the
/// devices' bytes wait in their sockets for `read_every` messages.
fn deliver_unread<W: Wire>(
    connections: &mut Connections<W>,
    publisher: usize,
    flight: &mut Flight,
    options: &Options,
    done: impl Fn(&Flight) -> bool,
) -> Result<()> {
    let mut outgoing = Vec::new();
    let mut payload = [b'.'; PAYLOAD_BYTES];
    while !done(flight) {
        for _ in 0..options.read_every {
            flight.next(&mut payload)?;
            outgoing.clear();
            let message = Message { topic: devices::EVERYBODY, packet_id: Some(1), payload: &payload };
            connections.wire().publish(&message, &mut outgoing);
            connections.send(publisher, &outgoing)?;
            let until = Instant::now() + STALL;
            let mut acknowledged = false;
            while !acknowledged {
                if Instant::now() > until {
                    bail!("stalled: no acknowledgement");
                }
                connections.read_one(publisher, STALL, |_, _, _| acknowledged = true)?;
            }
        }
        let until = Instant::now() + STALL;
        while !flight.missing.is_empty() {
            if Instant::now() > until {
                bail!("stalled: {:?} devices miss the messages in flight", flight.missing);
            }
            receive(connections, flight)?;
        }
        connections.check()?;
    }
    Ok(())
}

/// One turn of the connections, their deliveries counted.
fn receive<W: Wire>(connections: &mut Connections<W>, flight: &mut Flight) -> Result<()> {
    connections.turn(Duration::from_millis(100), |_, incoming, _| {
        if let Incoming::Delivery { payload, .. } = incoming {
            let now_us = flight.now_us();
            flight.delivery(payload, now_us);
        }
    })
}
