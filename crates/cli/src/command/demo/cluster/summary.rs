//! The figures of a cluster's demo: what a person reads in the end, and what a program gets.
//!
//! Times are as voters, devices and the demo itself saw them, on this machine; no node reports on itself.

use serde::Serialize;

use super::books::Books;
use crate::terminal::{Style, Terminal, count, short};

/// Everything the demo measured.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    /// Nodes at first.
    pub(super) nodes: u8,
    /// Shards.
    pub(super) shards: u32,
    /// From the start of etcd and Kafka until each node owned its share of the shards, in seconds.
    pub(super) start_s: f64,
    /// Devices, all connected.
    pub(super) devices: u32,
    /// From the start of the devices until the last one was connected and subscribed, in seconds.
    pub(super) connect_s: f64,
    /// Each push to all devices.
    pub(super) pushes: Vec<Push>,
    /// The votes.
    pub(super) votes: Votes,
    /// The node that was killed.
    pub(super) kill: Kill,
    /// The comparison at the end.
    pub(super) books: Books,
}

/// One push to all devices.
#[derive(Debug, Serialize)]
pub(super) struct Push {
    /// The node that it was handed to.
    pub(super) through: String,
    /// Devices that acknowledged it.
    pub(super) delivered: u64,
    /// From the request until all had acknowledged it, in milliseconds.
    pub(super) took_ms: f64,
    /// Whether it was handed over while the killed node's shards had no owner.
    pub(super) during_takeover: bool,
}

/// The votes, as voters saw them.
#[derive(Debug, Default, Serialize)]
pub(super) struct Votes {
    /// Voters that voted at a time.
    pub(super) voters: usize,
    /// How long, in seconds.
    pub(super) took_s: f64,
    /// Acknowledged votes a second before the kill.
    pub(super) per_second: f64,
    /// Half of the votes took at most this, in milliseconds.
    pub(super) p50_ms: f64,
    /// 99 in 100.
    pub(super) p99_ms: f64,
    /// The longest wait for a vote, in milliseconds.
    pub(super) longest_ms: f64,
    /// Times that a voter asked again with the same id.
    pub(super) asked_again: u64,
}

/// The death of a node.
#[derive(Debug, Default, Serialize)]
pub(super) struct Kill {
    /// Its name.
    pub(super) node: String,
    /// Shards that it owned.
    pub(super) shards: usize,
    /// From the kill until others owned all of them, in seconds.
    pub(super) taken_over_s: f64,
    /// Shards that each node took.
    pub(super) taken_by: Vec<Taken>,
    /// Devices that were connected to it.
    pub(super) devices: u32,
    /// From the kill until they were connected elsewhere, in seconds.
    pub(super) devices_back_s: f64,
}

/// The shards that a node took over.
#[derive(Debug, Serialize)]
pub(super) struct Taken {
    /// The node.
    pub(super) node: String,
    /// Shards.
    pub(super) shards: usize,
}

impl Kill {
    /// Shards that each node took, in words.
    pub(super) fn takers(&self) -> String {
        let each = |taken: &Taken| format!("{} took {}", taken.node, taken.shards);
        self.taken_by.iter().map(each).collect::<Vec<_>>().join(", ")
    }
}

impl Push {
    /// A line for people.
    pub(super) fn line(&self, devices: u32) -> String {
        let when = if self.during_takeover { ", across the kill" } else { "" };
        format!(
            "{} of {} through {} after {}{when}",
            count(self.delivered),
            count(u64::from(devices)),
            self.through,
            ms(self.took_ms),
        )
    }
}

impl Summary {
    /// Whether all that was acknowledged is there, once, and each push reached each device.
    pub(super) fn holds(&self) -> bool {
        self.books.balance && self.pushes.iter().all(|push| push.delivered == u64::from(self.devices))
    }

    /// The box at the end.
    pub(super) fn show(&self, terminal: &Terminal) {
        let (votes, kill, books) = (&self.votes, &self.kill, &self.books);
        let mut usual: Vec<f64> =
            self.pushes.iter().filter(|push| !push.during_takeover).map(|push| push.took_ms).collect();
        usual.sort_by(f64::total_cmp);
        let median = usual.get(usual.len() / 2).copied().unwrap_or_default();
        let rows = [
            (
                "votes",
                format!("{} acknowledged, {} counted", count(books.acknowledged), count(books.counted)),
            ),
            ("", format!("{} lost, {} twice: {}", books.lost, books.twice, verdict(books.balance))),
            (
                "",
                format!(
                    "{} a second, p50 {}, p99 {}",
                    count(votes.per_second as u64),
                    ms(votes.p50_ms),
                    ms(votes.p99_ms)
                ),
            ),
            (
                "kill -9",
                format!(
                    "{}: {} shards taken over after {}",
                    kill.node,
                    kill.shards,
                    short(kill.taken_over_s)
                ),
            ),
            ("", format!("longest wait for a vote {}", ms(votes.longest_ms))),
            (
                "",
                format!(
                    "{} devices elsewhere after {}",
                    count(u64::from(kill.devices)),
                    short(kill.devices_back_s)
                ),
            ),
            (
                "pushes",
                format!(
                    "{} pushes, each to all {} devices",
                    self.pushes.len(),
                    count(u64::from(self.devices))
                ),
            ),
            ("", format!("last acknowledgement after {} (median)", ms(median))),
        ];
        terminal.frame(&format!("{} nodes, {} shards, 1 killed", self.nodes, self.shards), &rows);
    }
}

/// The verdict on the books, in words.
pub(super) fn verdict(balance: bool) -> &'static str {
    if balance { "the books balance" } else { "THE BOOKS DO NOT BALANCE" }
}

/// The style of a verdict.
pub(super) fn style(holds: bool) -> Style {
    if holds { Style::Good } else { Style::Bad }
}

pub(super) fn ms(milliseconds: f64) -> String {
    short(milliseconds / 1_000.0)
}
