//! The way in for devices: a vote is a publish to `uplink/DEVICE/vote` with a response topic and correlation data.
//!
//! The service is an MQTT 5 client like any other, on a few connections that share one subscription. Its server decides who
//! may write which uplink, so the topic names the voter. A publish is acknowledged when the vote
//! has its answer: one that was under way when a connection broke is sent again, with the same
//! correlation data, and counts once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use stadium_mqtt::decode;
use stadium_mqtt::encode;
use stadium_mqtt::packet::{
    AckKind, Connect, FiltersBuffer, Packet, Publish, PublishProperties, QoS, RetainHandling, Role,
    Subscribe, SubscriptionOptions, Version,
};
use stadium_mqtt::property::UserProperties;
use stadium_mqtt::reason::ReasonCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use crate::bank::{Bank, Vote, Way};
use crate::http::vote_id;
use crate::poll::Voter;
use crate::problem::Problem;
use crate::stadium::Login;

const VERSION: Version = Version::V5;

/// Votes of one connection that are under way at once; the server keeps the others.
const VOTES_MAX: u16 = 1_024;

/// Bytes of a packet that we take: a vote is small.
const PACKET_BYTES_MAX: u32 = 64 * 1_024;

/// Bytes of correlation data.
const CORRELATION_BYTES_MAX: usize = 128;

/// The session that the server keeps for us while we are away.
const SESSION_EXPIRY_S: u32 = 3_600;

const KEEP_ALIVE_S: u16 = 60;
const PING_EVERY: Duration = Duration::from_secs(20);

/// The server answers pings: a connection that brings nothing for so long is dead.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// From connecting to the CONNACK.
const GREETING_MAX: Duration = Duration::from_secs(10);

/// Between two attempts to connect, at first; it doubles up to five seconds.
const AGAIN_FIRST: Duration = Duration::from_millis(100);
const AGAIN_MAX: Duration = Duration::from_secs(5);

/// Answers that wait to be written: every vote under way has one, and an acknowledgement.
const ANSWERS_MAX: usize = 2 * VOTES_MAX as usize;

/// Room for each read: some hundred votes.
const READ_BYTES: usize = 32 * 1_024;

const SUBSCRIBE_PACKET_ID: u16 = 1;

/// One of the connections.
pub(crate) struct Connection {
    pub(crate) bank: Arc<Bank>,
    pub(crate) server: SocketAddr,
    pub(crate) login: Option<Login>,
    pub(crate) client_id: String,
    /// Reports once that devices can vote.
    pub(crate) up: mpsc::Sender<()>,
    /// Changes when the service leaves.
    pub(crate) leaving: watch::Receiver<bool>,
}

impl Connection {
    /// Keeps the connection until the service leaves.
    pub(crate) async fn keep(mut self) {
        let mut again = AGAIN_FIRST;
        while !*self.leaving.borrow() {
            match self.open().await {
                Ok((reader, writer, rest)) => {
                    again = AGAIN_FIRST;
                    match self.serve(reader, writer, rest).await {
                        Ok(()) => return,
                        Err(error) => tracing::warn!(%error, "The connection for devices' votes broke"),
                    }
                }
                Err(error) => tracing::warn!(error = %format!("{error:#}"), "Devices cannot vote now"),
            }
            let wait = again.mul_f64(0.5 + fastrand::f64() / 2.0);
            again = (again * 2).min(AGAIN_MAX);
            // Leaving ends the wait; its value is looked at above.
            let _ = timeout(wait, self.leaving.wait_for(|leaving| *leaving)).await;
        }
    }

    fn filter(&self) -> String {
        format!("$share/voting-{}/uplink/+/vote", self.bank.poll().name())
    }

    /// Connects, and asks to subscribe. Bytes that were read beyond the CONNACK are returned too.
    async fn open(&self) -> anyhow::Result<(OwnedReadHalf, OwnedWriteHalf, Vec<u8>)> {
        timeout(GREETING_MAX, self.greet()).await.context("no CONNACK in time")?
    }

    async fn greet(&self) -> anyhow::Result<(OwnedReadHalf, OwnedWriteHalf, Vec<u8>)> {
        let stream =
            TcpStream::connect(self.server).await.with_context(|| format!("connect to {}", self.server))?;
        stream.set_nodelay(true)?;
        let (mut reader, mut writer) = stream.into_split();
        let connect = Packet::Connect(Connect {
            clean_start: false,
            keep_alive_s: KEEP_ALIVE_S,
            session_expiry_s: Some(SESSION_EXPIRY_S),
            receive_maximum: Some(VOTES_MAX),
            maximum_packet_size: Some(PACKET_BYTES_MAX),
            username: self.login.as_ref().map(|login| login.user.as_str()),
            password: self.login.as_ref().map(|login| login.password.as_bytes()),
            ..Connect::new(VERSION, &self.client_id)
        });
        let mut filters = FiltersBuffer::new(VERSION);
        let options = SubscriptionOptions {
            qos: QoS::AtLeastOnce,
            no_local: false,
            retain_as_published: false,
            retain_handling: RetainHandling::DontSend,
        };
        let filter = self.filter();
        filters.push(&filter, options).map_err(|error| anyhow::anyhow!("{filter}: {error:?}"))?;
        let subscribe = Packet::Subscribe(Subscribe {
            packet_id: SUBSCRIBE_PACKET_ID,
            subscription_id: None,
            user_properties: UserProperties::NONE,
            filters: filters.filters(),
        });
        let mut out = Vec::new();
        connect.encode(VERSION, &mut out);
        subscribe.encode(VERSION, &mut out);
        writer.write_all(&out).await?;

        let mut read = Vec::new();
        loop {
            if let Some(frame) = decode::frame(&read, PACKET_BYTES_MAX).map_err(malformed)? {
                let total = frame.total;
                match decode::packet_from(&frame, VERSION, Role::Server).map_err(malformed)? {
                    Packet::Connack(connack) => {
                        ensure!(connack.reason == ReasonCode::Success, "refused: {:?}", connack.reason);
                        // What follows may be votes that a session of ours has kept, before the SUBACK.
                        read.drain(..total);
                        return Ok((reader, writer, read));
                    }
                    other => bail!("the first packet is no CONNACK: {other:?}"),
                }
            }
            read.reserve(READ_BYTES);
            ensure!(reader.read_buf(&mut read).await? > 0, "the server closed the connection");
        }
    }

    /// Takes votes until the service leaves, and finishes those that it has taken. Where the connection breaks they go on by
    /// themselves: their publishes are sent again.
    async fn serve(
        &mut self,
        reader: OwnedReadHalf,
        writer: OwnedWriteHalf,
        read: Vec<u8>,
    ) -> anyhow::Result<()> {
        let (answers, queue) = mpsc::channel::<Vec<u8>>(ANSWERS_MAX);
        let writing = tokio::spawn(write(writer, queue));
        let mut votes = JoinSet::new();
        if let Err(error) = self.take_all(reader, read, &mut votes, &answers, &writing).await {
            votes.detach_all();
            return Err(error);
        }
        while votes.join_next().await.is_some() {}
        let mut goodbye = Vec::new();
        Packet::Disconnect(Default::default()).encode(VERSION, &mut goodbye);
        let _ = answers.send(goodbye).await;
        drop(answers);
        let _ = writing.await;
        Ok(())
    }

    /// Takes votes until the service leaves.
    async fn take_all(
        &self,
        mut reader: OwnedReadHalf,
        mut read: Vec<u8>,
        votes: &mut JoinSet<()>,
        answers: &mpsc::Sender<Vec<u8>>,
        writing: &JoinHandle<()>,
    ) -> anyhow::Result<()> {
        let mut leaving = self.leaving.clone();
        loop {
            let mut used = 0;
            while let Some(frame) = decode::frame(&read[used..], PACKET_BYTES_MAX).map_err(malformed)? {
                match decode::packet_from(&frame, VERSION, Role::Server).map_err(malformed)? {
                    Packet::Publish(publish) => self.take(&publish, votes, answers),
                    Packet::Suback(suback) => {
                        ensure!(
                            suback.reasons.iter().all(|reason| *reason < 0x80),
                            "the server's rules do not let us subscribe to {}",
                            self.filter()
                        );
                        // Nobody listens any more once the service has started.
                        let _ = self.up.try_send(());
                    }
                    Packet::Disconnect(disconnect) => {
                        bail!("the server disconnected us: {:?}", disconnect.reason)
                    }
                    _ => {}
                }
                used += frame.total;
            }
            read.drain(..used);
            while votes.try_join_next().is_some() {}
            // Publishes at QoS 0 know no window: then the socket waits.
            while votes.len() >= ANSWERS_MAX {
                votes.join_next().await;
            }
            read.reserve(READ_BYTES);
            tokio::select! {
                count = timeout(SILENCE_MAX, reader.read_buf(&mut read)) => {
                    ensure!(count.context("the server is silent")?? > 0, "the server closed the connection");
                }
                _ = leaving.wait_for(|leaving| *leaving) => return Ok(()),
            }
            ensure!(!writing.is_finished(), "the server does not take what we write");
        }
    }

    /// Casts the vote of a publish on a task of its own, which answers and then acknowledges.
    fn take(&self, publish: &Publish<'_>, votes: &mut JoinSet<()>, answers: &mpsc::Sender<Vec<u8>>) {
        let properties = publish.properties;
        let respond_to = properties.response_topic.map(str::to_owned);
        let correlation = properties.correlation_data.map(<[u8]>::to_vec);
        let packet_id = publish.packet_id;
        let vote = self.vote_of(publish);
        let (bank, answers) = (Arc::clone(&self.bank), answers.clone());
        let device = device_of(publish.topic).map(str::to_owned);
        votes.spawn(async move {
            let answer = match vote {
                Ok(vote) => cast(&bank, vote).await,
                Err(problem) => Err(problem),
            };
            let mut out = Vec::with_capacity(256);
            // A device hears in its own inbox and nowhere else: it cannot have us write to others.
            let topic = respond_to.filter(|topic| {
                let own = device
                    .and_then(|device| topic.strip_prefix(&format!("inbox/{device}")).map(str::to_owned));
                own.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
            if let Some(topic) = topic {
                let text = answer.unwrap_or_else(|problem| problem.to_answer()).to_string();
                Packet::Publish(Publish {
                    dup: false,
                    qos: QoS::AtMostOnce,
                    retain: false,
                    topic: &topic,
                    packet_id: 0,
                    properties: PublishProperties {
                        payload_format: Some(1),
                        correlation_data: correlation.as_deref(),
                        content_type: Some("application/json"),
                        ..PublishProperties::default()
                    },
                    payload: text.as_bytes(),
                })
                .encode(VERSION, &mut out);
            }
            if packet_id > 0 {
                encode::ack(&mut out, AckKind::Puback, VERSION, packet_id, ReasonCode::Success);
            }
            // Where the connection is gone the publish is sent again, and is answered then.
            let _ = answers.send(out).await;
        });
    }

    fn vote_of(&self, publish: &Publish<'_>) -> Result<Vote, Problem> {
        let poll = self.bank.poll();
        let device =
            device_of(publish.topic).ok_or_else(|| Problem::malformed("the topic is no device's"))?;
        let voter = Voter::new(device).map_err(|error| Problem::malformed(error.to_string()))?;
        let own = publish.properties.correlation_data.unwrap_or_default();
        if own.is_empty() || own.len() > CORRELATION_BYTES_MAX {
            return Err(Problem::malformed(format!(
                "a vote carries Correlation Data of 1 to {CORRELATION_BYTES_MAX} bytes, its own for each vote: by it a vote \
                 that is sent again counts once"
            )));
        }
        let id = choice(publish.payload)?;
        let candidate = poll.find(&id).ok_or_else(|| Problem::candidate(&id))?;
        Ok(Vote { id: vote_id(poll, &voter, own), voter, candidate, way: Way::Mqtt })
    }
}

async fn cast(bank: &Bank, vote: Vote) -> Result<Value, Problem> {
    let (id, candidate) = (vote.id, bank.poll().candidates()[vote.candidate].id.clone());
    let voted = bank.vote(vote).await?;
    Ok(json!({
        "status": "counted",
        "vote": id.to_string(),
        "candidate": candidate,
        "at_ms": voted.at_ms,
        "duplicate": voted.duplicate,
    }))
}

/// DEVICE of `uplink/DEVICE/vote`.
fn device_of(topic: &str) -> Option<&str> {
    topic.strip_prefix("uplink/")?.strip_suffix("/vote").filter(|device| !device.contains('/'))
}

/// For whom: the candidate's id, or `{"candidate": id}`.
fn choice(payload: &[u8]) -> Result<String, Problem> {
    #[derive(Deserialize)]
    struct Choice {
        candidate: String,
    }
    let text = std::str::from_utf8(payload).map_err(|_| Problem::malformed("the payload is no text"))?.trim();
    if text.starts_with('{') {
        let choice: Choice =
            serde_json::from_str(text).map_err(|error| Problem::malformed(error.to_string()))?;
        return Ok(choice.candidate);
    }
    Ok(text.to_owned())
}

/// Writes what there is in one go, and a ping where there was nothing for a while.
async fn write(mut writer: OwnedWriteHalf, mut queue: mpsc::Receiver<Vec<u8>>) {
    let mut waiting = Vec::new();
    let mut out = Vec::new();
    let mut next_ping = tokio::time::Instant::now() + PING_EVERY;
    loop {
        out.clear();
        tokio::select! {
            count = queue.recv_many(&mut waiting, ANSWERS_MAX) => {
                if count == 0 {
                    break;
                }
                waiting.drain(..).for_each(|bytes| out.extend_from_slice(&bytes));
            }
            () = tokio::time::sleep_until(next_ping) => {
                encode::pingreq(&mut out);
                next_ping = tokio::time::Instant::now() + PING_EVERY;
            }
        }
        if writer.write_all(&out).await.is_err() {
            return;
        }
    }
    let _ = writer.shutdown().await;
}

fn malformed(error: decode::DecodeError) -> anyhow::Error {
    anyhow::anyhow!("the server broke the protocol: {error:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topic_names_the_voter() {
        assert_eq!(device_of("uplink/seat-1/vote"), Some("seat-1"));
        for topic in ["uplink/vote", "uplink/a/b/vote", "inbox/a/vote", "uplink/a/votes", "uplink/a"] {
            assert_eq!(device_of(topic), None, "{topic}");
        }
    }

    #[test]
    fn a_choice_is_a_text_or_json() {
        assert_eq!(choice(b"ann").as_deref(), Ok("ann"));
        assert_eq!(choice(b" ann\n").as_deref(), Ok("ann"));
        assert_eq!(choice(br#"{"candidate":"ben"}"#).as_deref(), Ok("ben"));
        assert!(choice(b"{").is_err());
        assert!(choice(&[0xFF]).is_err());
    }
}
