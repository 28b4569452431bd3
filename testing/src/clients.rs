//! mosquitto_pub and mosquitto_sub, the clients that everybody has.
//!
//! [`Subscriber`] reads what mosquitto_sub prints line by line; it knows that it is subscribed when the client's own
//! debug output shows it. A missing client fails with the name of its Debian package.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use crate::deadline::PATIENCE;

/// Runs mosquitto_pub to its end.
pub fn publish(arguments: &[&str]) -> Result<Output> {
    Command::new("mosquitto_pub")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .context("cannot run mosquitto_pub; install the Debian package mosquitto-clients")
}

/// Runs mosquitto_pub, which must succeed.
pub fn must_publish(arguments: &[&str]) -> Result<()> {
    let output = publish(arguments)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "mosquitto_pub {}: {}: {errors}", arguments.join(" "), output.status);
    Ok(())
}

/// A running mosquitto_sub.
#[derive(Debug)]
pub struct Subscriber {
    child: Child,
    lines: Receiver<String>,
}

impl Subscriber {
    /// Starts it and waits until it is subscribed.
    pub fn start(arguments: &[&str]) -> Result<Self> {
        let mut subscriber = Self::spawn(arguments)?;
        loop {
            let line = subscriber.line().with_context(|| format!("mosquitto_sub {}", arguments.join(" ")))?;
            if line.starts_with("Subscribed ") {
                return Ok(subscriber);
            }
            if line.contains("Error") || line.contains("refused") {
                bail!("mosquitto_sub {}: {line}; {:?}", arguments.join(" "), subscriber.child.wait()?);
            }
        }
    }

    /// Starts it and waits for nothing.
    pub fn spawn(arguments: &[&str]) -> Result<Self> {
        // Without stdbuf (coreutils) it would keep what it prints to a pipe until it ends.
        let mut child = Command::new("stdbuf")
            .args(["-oL", "mosquitto_sub", "-d"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run stdbuf; install the Debian package coreutils")?;
        let (send, lines) = channel();
        let outputs: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().context("stdout is piped")?),
            Box::new(child.stderr.take().context("stderr is piped")?),
        ];
        for output in outputs {
            let send = send.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if send.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { child, lines })
    }

    /// The next message as mosquitto_sub prints it, its debug output left out.
    pub fn message(&mut self) -> Result<String> {
        loop {
            let line = self.line()?;
            if !line.starts_with("Client ") && !line.starts_with("Subscribed ") {
                return Ok(line);
            }
        }
    }

    /// The next line of any kind.
    pub fn line(&mut self) -> Result<String> {
        self.line_within(PATIENCE)
    }

    /// Waits until it has printed a line that contains `text`.
    pub fn prints(&mut self, text: &str) -> Result<String> {
        loop {
            let line = self.line().with_context(|| format!("waited for {text:?}"))?;
            if line.contains(text) {
                return Ok(line);
            }
        }
    }

    fn line_within(&mut self, within: Duration) -> Result<String> {
        match self.lines.recv_timeout(within) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => bail!("mosquitto_sub printed nothing within {within:?}"),
            Err(RecvTimeoutError::Disconnected) => match self.child.wait()?.code() {
                Some(127) => bail!("cannot run mosquitto_sub; install the Debian package mosquitto-clients"),
                _ => bail!("mosquitto_sub ended: {}", self.child.wait()?),
            },
        }
    }

    /// Kills it: the kernel closes its socket with no DISCONNECT sent.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop).context("cannot wait for mosquitto_sub")
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
