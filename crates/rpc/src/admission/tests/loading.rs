//! Behaviours of the load factor.

use crate::admission::*;

const MS: u64 = 1_000;

fn reading() -> Reading {
    Reading { limit: 100, busy_ns: 0, idle_ns: 1_000_000, ..Default::default() }
}

fn settled(reading: Reading) -> LoadSignal {
    let mut load = LoadSignal::new();
    for tick in 0..100 {
        load.read(reading, tick * 100 * MS);
    }
    load
}

#[test]
fn the_factor_as_a_table() {
    let table = [
        ("idle", reading(), 0.0),
        ("half of the limit", Reading { inflight: 50, ..reading() }, 0.5),
        ("a busy loop", Reading { busy_ns: 800_000, idle_ns: 200_000, ..reading() }, 0.8),
        ("the larger of both", Reading { inflight: 90, busy_ns: 1, idle_ns: 1, ..reading() }, 0.9),
        ("a full limit and half a queue", Reading { inflight: 100, queue_fill: 0.5, ..reading() }, 1.5),
        ("nonsense", Reading { queue_fill: f32::NAN, limit: 0, busy_ns: u64::MAX, ..reading() }, 1.0),
    ];
    for (test, reading, factor) in table {
        let load = settled(reading);
        assert!((load.factor() - factor).abs() < 0.01, "{test}: {}", load.factor());
    }
}

#[test]
fn a_spike_moves_it_a_little_and_a_second_moves_it_most_of_the_way() {
    let mut load = settled(reading());
    let full = Reading { inflight: 100, ..reading() };
    let now_us = 99 * 100 * MS;
    load.read(full, now_us + 20 * MS);
    assert!(load.factor() < 0.05, "{}", load.factor());
    load.read(full, now_us + 1_020 * MS);
    assert!(load.factor() > 0.8, "{}", load.factor());
}

#[test]
fn peers_hear_of_changes_and_not_of_noise() {
    let mut load = settled(reading());
    assert_eq!(load.report(0), Some(0.0));
    assert_eq!(load.report(1), None);
    load.read(Reading { inflight: 2, ..reading() }, 20_000 * MS);
    assert_eq!(load.report(2), None);
    assert!(load.report(10_000 * MS).is_some(), "after ten seconds any change is reported");
    load.read(Reading { inflight: 90, ..reading() }, 40_000 * MS);
    assert!(load.report(10_001 * MS).is_some());
    load.report_again();
    assert!(load.report(10_002 * MS).is_some());
}

#[test]
fn the_more_waits_the_longer_a_refused_caller_stays_away() {
    let full = Reading { inflight: 100, ..reading() };
    let waits: Vec<u32> = [
        full,
        Reading { queue_fill: 0.5, ..full },
        Reading { queue_fill: 1.0, ..full },
        Reading { queue_fill: 1.0, wait_ms: 700, ..full },
        Reading { wait_ms: u32::MAX, ..full },
    ]
    .into_iter()
    .map(|reading| settled(reading).retry_after_ms())
    .collect();
    assert!(waits.is_sorted() && waits[0] >= 10 && waits[2] > 100, "{waits:?}");
    assert_eq!((waits[3], waits[4]), (700, 5_000));
}
