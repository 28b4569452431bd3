//! A little of everything that a server does, so that its metrics have values.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use stadium_testing::device::Device;
use stadium_testing::server::Server;
use stadium_testing::wallets::Wallets;
use stadium_testing::wire::{Publish, Version};

/// A queue, a wallet and two devices of a server.
pub(super) struct Work<'a> {
    server: &'a Server,
    wallets: Wallets,
    reader: Device,
    writer: Device,
    rounds: u64,
}

impl<'a> Work<'a> {
    pub(super) fn start(server: &'a Server) -> Result<Self> {
        let wallets = Wallets::of(server.api())?;
        wallets.open(&["ada".to_owned()])?;
        let mut reader = Device::clean(server.mqtt, Version::V5, "reader")?;
        reader.subscribe(&["news/#", "channels/news"], 1)?;
        let writer = Device::clean(server.mqtt, Version::V5, "writer")?;
        Ok(Self { server, wallets, reader, writer, rounds: 0 })
    }

    /// Publishes, pushes, puts a job and finishes it, books a transfer, and asks for what is not there.
    pub(super) fn round(&mut self) -> Result<()> {
        self.rounds += 1;
        let api = self.server.api();
        self.writer.publish(&Publish::new("news/today", b"hello"))?;
        self.reader.receive()?;
        api.push(&json!({ "to": { "channel": "news" }, "message": "goal" }))?;
        self.reader.receive()?;
        let (status, answer) = api.post("/api/queues/mail/jobs", &json!({ "payload": "one" }))?;
        ensure!(status < 300, "{status}: {answer}");
        let (status, answer) = api.post("/api/queues/mail/reserve", &json!({ "max": 1 }))?;
        ensure!(status == 200, "{status}: {answer}");
        let lease = answer["jobs"][0]["lease"].as_str().context("no lease")?.to_owned();
        let (status, answer) = api.post("/api/leases/settle", &json!({ "leases": [lease] }))?;
        ensure!(status == 200, "{status}: {answer}");
        self.wallets.book(self.rounds, "@bank", "ada", 1)?;
        let (status, _): (u16, Value) = api.read("/api/pushes/00000000-0000-4000-8000-000000000000")?;
        ensure!(status == 404, "{status}");
        Ok(())
    }
}
