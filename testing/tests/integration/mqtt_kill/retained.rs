//! Reads the retained messages while the server is killed, and when all is over.
//!
//! A reader has a clean session: the connection may end in the middle, and the next one begins anew.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use stadium_testing::deadline::{until, until_true};
use stadium_testing::device::Device;
use stadium_testing::wire::{self, Connect, Kind, Version};

use crate::mqtt_kill::books::{self, Books, FENCE, Name, clears, count};
use crate::mqtt_kill::{ANSWERED_WITHIN, STARTED_WITHIN};

/// Answers to publishers between two readings.
const ANSWERS_BETWEEN: u64 = 50;

/// Reads them again and again until publishers stop. Each topic must have the last message that was
/// accepted before the subscription, or a newer one.
pub fn watch(address: SocketAddr, books: &Books) {
    while !books.stopped() {
        // The server was killed meanwhile; the next one answers.
        if let Err(error) = look(address, books)
            && let Some(Missing(topics)) = error.downcast_ref()
        {
            books.broken(format!("retained messages are missing: {topics}"));
            return;
        }
        let answers = books.accepted() + ANSWERS_BETWEEN;
        // Where answers do not come, the publishers report it.
        let _ = until_true(STARTED_WITHIN, "answers", || Ok(books.stopped() || books.accepted() >= answers));
    }
}

/// Topics without the message that they must have, although the connection stood.
#[derive(Debug)]
struct Missing(String);

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

fn look(address: SocketAddr, books: &Books) -> Result<()> {
    let connect = Connect::new(Version::V5, "retained");
    let mut device = until(STARTED_WITHIN, "a reader of retained messages to connect", || {
        Device::connect(address, &connect).map(Some)
    })?;
    let mut wanted = books.retained_at_least();
    device.send(&wire::subscribe(Version::V5, 1, &["kept/#"], 0))?;
    while !wanted.is_empty() {
        let frame = device.poll(ANSWERED_WITHIN)?;
        let Some(frame) = frame else { return Err(Missing(format!("{wanted:?}")).into()) };
        if !frame.is(Kind::Publish) {
            continue;
        }
        let message = frame.publish(Version::V5)?;
        if !message.retain || clears(&message.topic) {
            continue;
        }
        let name = books::name(&message.payload).context("a retained message of ours")?;
        if let Some(least) = wanted.remove(&message.topic)
            && name < least
        {
            return Err(Missing(format!("{} has {name:?} although {least:?}", message.topic)).into());
        }
    }
    count(&books.figures.replays);
    Ok(())
}

/// The retained messages when nothing changes any more.
pub fn read_all(address: SocketAddr) -> Result<BTreeMap<String, Name>> {
    let mut device = Device::clean(address, Version::V5, "retained-at-last")?;
    device.subscribe(&["kept/#"], 0)?;
    let mut found = BTreeMap::new();
    loop {
        let message = device.receive()?;
        ensure!(message.retain, "{message:?}");
        let name = books::name(&message.payload).context("a retained message of ours")?;
        let is_last = message.topic == FENCE;
        found.insert(message.topic, name);
        if is_last {
            return Ok(found);
        }
    }
}
