//! A Stadium, the service beside it, voters with a connection of their own, and devices that vote.
//!
//! All of it is real: processes, sockets, a data directory.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use stadium_testing::deadline::{PATIENCE, until};
use stadium_testing::device::Device;
use stadium_testing::process::{Process, Signal};
use stadium_testing::server::Server;
use stadium_testing::wallets::verified;
use stadium_testing::wire::{Kind, Version, acknowledge, packet, remaining_length, text};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// A Stadium with two shards.
pub fn stadium() -> Result<Server> {
    Server::with("[shards]\ncount = 2\n")
}

/// Stops it in order, and has the auditor read its journal.
pub fn audit(mut stadium: Server) -> Result<()> {
    stadium.signal(Signal::TERM)?;
    let status = stadium.ended(PATIENCE)?;
    ensure!(status.code() == Some(0), "it ended with {status}: {}", stadium.log());
    verified(&stadium.data()).map(drop)
}

/// A running `voting serve`; killed when dropped.
pub struct Voting {
    process: Child,
    pub address: SocketAddr,
    secured: Option<SocketAddr>,
}

impl Voting {
    /// Starts it with two candidates, for anybody.
    pub fn start(data: &Path, flags: &[&str]) -> Result<Self> {
        Self::serve(data, &[&["--open"], flags].concat())
    }

    /// Starts it for those who have a ticket.
    pub fn start_with_tickets(data: &Path, secret: &str, flags: &[&str]) -> Result<Self> {
        Self::serve(data, &[&["--secret", secret], flags].concat())
    }

    fn serve(data: &Path, flags: &[&str]) -> Result<Self> {
        let mut process = Command::new(env!("CARGO_BIN_EXE_voting"))
            .args(["serve", "--listen", "127.0.0.1:0", "--poll", "final", "--log-level", "warn"])
            .args(["--candidate", "ann=Ann and the Bees", "--candidate", "ben=Ben"])
            .arg("--data")
            .arg(data)
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .context("voting starts")?;
        let out = process.stdout.take().context("standard output is a pipe")?;
        let mut out = BufReader::new(out);
        let mut listens = |scheme: &str| -> Result<SocketAddr> {
            let mut line = String::new();
            out.read_line(&mut line)?;
            let address = line.trim_end().strip_prefix(&format!("voting listens on {scheme}://"));
            Ok(address.with_context(|| format!("{line:?} names no address"))?.parse()?)
        };
        let address = listens("http")?;
        let secured = flags.contains(&"--tls-listen").then(|| listens("https")).transpose()?;
        Ok(Self { process, address, secured })
    }

    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Asks it to leave, which must end well.
    pub fn leave(mut self) -> Result<()> {
        Process(self.process.id()).signal(Signal::TERM)?;
        let status = until(PATIENCE, "the service's end", || Ok(self.process.try_wait()?))?;
        ensure!(status.code() == Some(0), "it ended with {status}");
        Ok(())
    }

    /// Somebody with a connection of their own.
    pub fn client(&self) -> Client {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .build()
            .new_agent();
        Client { agent, url: format!("http://{}", self.address), token: String::new() }
    }

    /// Somebody who comes over HTTPS and believes this certificate only.
    pub fn secured_client(&self, certificate: &Path) -> Result<Client> {
        let pem = std::fs::read(certificate)?;
        let roots = parse_pem(&pem)
            .filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            })
            .collect::<Vec<_>>();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&roots))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let agent =
            ureq::Agent::config_builder().http_status_as_error(false).tls_config(tls).build().new_agent();
        let address = self.secured.context("it does not speak HTTPS")?;
        Ok(Client { agent, url: format!("https://localhost:{}", address.port()), token: String::new() })
    }

    /// Somebody who is logged in.
    pub fn voter(&self, name: &str) -> Result<Client> {
        self.client().logged_in(name)
    }

    /// The results, once they are so.
    pub fn results(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Result<Value> {
        let client = self.client();
        let mut last = Value::Null;
        let found = until(PATIENCE * 3, what, || {
            let (status, results) = client.get("/api/results")?;
            ensure!(status == 200, "{status}: {results}");
            last = results;
            Ok(is_so(&last).then(|| last.clone()))
        });
        found.with_context(|| format!("last: {last}"))
    }
}

impl Drop for Voting {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        let _ = self.kill();
    }
}

/// A voter's program.
#[derive(Clone)]
pub struct Client {
    agent: ureq::Agent,
    url: String,
    pub token: String,
}

impl Client {
    pub fn get(&self, path: &str) -> Result<(u16, Value)> {
        let request = self.agent.get(format!("{}{path}", self.url));
        let mut answer = request.header("Authorization", format!("Bearer {}", self.token)).call()?;
        Ok((answer.status().as_u16(), answer.body_mut().read_json()?))
    }

    pub fn post(&self, path: &str, body: &Value) -> Result<(u16, Value)> {
        let request = self.agent.post(format!("{}{path}", self.url));
        let mut answer =
            request.header("Authorization", format!("Bearer {}", self.token)).send(body.to_string())?;
        Ok((answer.status().as_u16(), answer.body_mut().read_json()?))
    }

    /// The same, logged in.
    pub fn logged_in(mut self, name: &str) -> Result<Self> {
        let (status, answer) = self.post("/api/login", &json!({ "voter": name }))?;
        ensure!(status == 200, "{status}: {answer}");
        self.token = answer["token"].as_str().context("no token")?.to_owned();
        Ok(self)
    }

    /// Casts a vote until it has an answer that stays.
    pub fn vote(&self, candidate: &str, id: &str) -> Result<(u16, Value)> {
        loop {
            let (status, answer) = self.post("/api/votes", &json!({ "candidate": candidate, "id": id }))?;
            if status != 503 {
                return Ok((status, answer));
            }
        }
    }

    /// Votes that are left.
    pub fn left(&self) -> Result<i64> {
        let (status, answer) = self.get("/api/balance")?;
        ensure!(status == 200, "{status}: {answer}");
        answer["votes"].as_i64().context("no votes")
    }
}

/// A device that votes: MQTT 5, subscribed to its inbox.
pub struct Phone {
    device: Device,
    pub name: String,
    packet_id: u16,
}

impl Phone {
    pub fn connect(stadium: &Server, name: &str) -> Result<Self> {
        let mut device = Device::clean(stadium.mqtt, Version::V5, name)?;
        device.subscribe(&[&format!("inbox/{name}"), &format!("inbox/{name}/answers")], 1)?;
        Ok(Self { device, name: name.to_owned(), packet_id: 100 })
    }

    /// Publishes a vote at QoS 1, with these properties.
    pub fn send(&mut self, payload: &str, respond_to: Option<&str>, correlation: &[u8]) -> Result<()> {
        self.packet_id += 1;
        let mut body = text(format!("uplink/{}/vote", self.name));
        body.extend(self.packet_id.to_be_bytes());
        let mut properties = Vec::new();
        if let Some(topic) = respond_to {
            properties.push(0x08);
            properties.extend(text(topic));
        }
        if !correlation.is_empty() {
            properties.push(0x09);
            properties.extend(text(correlation));
        }
        body.extend(remaining_length(properties.len()));
        body.extend(properties);
        body.extend(payload.as_bytes());
        self.device.send(&packet(0x32, &body))
    }

    /// Votes, and takes the answer. Confirmations that are pushed meanwhile go into `pushed`.
    pub fn vote(&mut self, payload: &str, correlation: &[u8], pushed: &mut Vec<Value>) -> Result<Value> {
        let answers = format!("inbox/{}/answers", self.name);
        self.send(payload, Some(&answers), correlation)?;
        loop {
            let (topic, message) = self.hear()?;
            if topic == answers {
                return Ok(message);
            }
            pushed.push(message);
        }
    }

    /// The next message: topic and text.
    pub fn hear(&mut self) -> Result<(String, Value)> {
        loop {
            let frame = self.device.next_packet()?;
            if frame.is(Kind::Puback) {
                continue;
            }
            ensure!(frame.is(Kind::Publish), "unexpected packet {:02x}", frame.first);
            let received = frame.publish(Version::V5)?;
            if received.qos == 1 {
                self.device.send(&acknowledge(Kind::Puback, received.id))?;
            }
            let message = serde_json::from_slice(&received.payload);
            return match message {
                Ok(message) => Ok((received.topic, message)),
                Err(error) => bail!("{}: {error}: {:?}", received.topic, received.payload),
            };
        }
    }
}
