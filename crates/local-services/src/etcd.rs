//! etcd on loopback: the command of a member, and a cluster of one member.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::{Context as _, Error, Result};
use crate::ports;
use crate::tied::Tied;

/// How long a member may take for its answer to one question about its health.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// A member of a cluster, as its command line describes it.
#[derive(Debug)]
pub struct Member<'a> {
    /// Its name.
    pub name: &'a str,
    /// The folder of its data.
    pub data: &'a Path,
    /// Where it serves clients.
    pub client: SocketAddr,
    /// Where it serves clients over TLS, with its certificate and key.
    pub secure: Option<(SocketAddr, &'a Path, &'a Path)>,
    /// Where it serves members.
    pub peer: SocketAddr,
    /// All members, with their addresses for members.
    pub members: &'a [(String, SocketAddr)],
}

impl Member<'_> {
    /// Adds the arguments of etcd to the command that starts it. Elections take 0.6 s, as leases of 2 s need.
    pub fn arguments(&self, command: &mut Command) {
        let members: Vec<String> =
            self.members.iter().map(|(name, peer)| format!("{name}=http://{peer}")).collect();
        let (plain, peer) = (format!("http://{}", self.client), format!("http://{}", self.peer));
        command
            .args(["--name", self.name, "--initial-cluster", &members.join(",")])
            .arg("--data-dir")
            .arg(self.data)
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--heartbeat-interval", "60", "--election-timeout", "600", "--logger", "zap"])
            .args(["--advertise-client-urls", &plain]);
        match self.secure {
            Some((secure, certificate, key)) => {
                command.args(["--listen-client-urls", &format!("{plain},https://{secure}")]);
                command.arg("--cert-file").arg(certificate).arg("--key-file").arg(key);
            }
            None => _ = command.args(["--listen-client-urls", &plain]),
        }
    }
}

/// A cluster of one member, which ends with the value.
#[derive(Debug)]
pub struct Etcd {
    address: SocketAddr,
    process: Tied,
}

impl Etcd {
    /// Starts it with its data and its log in `folder`, and does not wait. See [`Tied::start`] for `doomed`, the
    /// folder that goes if this process is killed.
    ///
    /// # Errors
    /// No free port, no shell.
    pub fn start(program: &Path, folder: &Path, doomed: &Path) -> Result<Self> {
        const NAME: &str = "stadium";
        let (address, peer) = (ports::free()?, ports::free()?);
        let data: PathBuf = folder.join("etcd");
        let mut command = Command::new(program);
        let members = [(NAME.to_owned(), peer)];
        let member =
            Member { name: NAME, data: &data, client: address, secure: None, peer, members: &members };
        member.arguments(&mut command);
        let process = Tied::start(&command, &folder.join("etcd.log"), doomed)?;
        Ok(Self { address, process })
    }

    /// Where it serves clients, as a URL.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Whether it has a leader and answers.
    ///
    /// # Errors
    /// It ended; with the end of its log.
    pub fn is_ready(&self) -> Result<bool> {
        if self.process.has_ended() {
            return Err(Error::new(format!("etcd ended:\n{}", self.process.log())));
        }
        Ok(self.health().is_ok_and(|answer| answer.contains(r#""health":"true""#)))
    }

    fn health(&self) -> Result<String> {
        let asked = || {
            let mut stream = TcpStream::connect_timeout(&self.address, ANSWERS_WITHIN)?;
            stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
            stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
            let mut answer = String::new();
            stream.take(64 << 10).read_to_string(&mut answer)?;
            std::io::Result::Ok(answer)
        };
        asked().context("etcd does not answer")
    }
}
