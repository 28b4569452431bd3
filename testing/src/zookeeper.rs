//! ZooKeeper as it is installed: one server or three, killed, paused, wiped and started again.
//!
//! It is asked for its state by the command `srvr`, which needs no client of ZooKeeper.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use crate::deadline::{must_find as until, must_hold as until_true};
use crate::mortal::{self, Mortal};
use crate::ports;

/// Where Debian's package puts it. Its manifest names what it needs.
const JAR: &str = "/usr/share/java/zookeeper.jar";

/// Servers that know each other. They end with their owner.
pub struct Ensemble {
    servers: Vec<Server>,
    folder: tempfile::TempDir,
}

struct Server {
    client: SocketAddr,
    quorum: SocketAddr,
    election: SocketAddr,
    process: Option<Mortal>,
}

impl Ensemble {
    /// Starts `count` servers and waits until they serve.
    pub fn start(count: usize) -> Self {
        let free_port = || ports::free().expect("a free port");
        let server =
            |_| Server { client: free_port(), quorum: free_port(), election: free_port(), process: None };
        let servers = (0..count).map(server).collect();
        let mut ensemble = Self { servers, folder: tempfile::tempdir().expect("a temporary folder") };
        (0..count).for_each(|number| ensemble.revive(number));
        ensemble.until_ready();
        ensemble
    }

    /// How many servers it has, living or dead.
    pub fn count(&self) -> usize {
        self.servers.len()
    }

    /// Where a server serves its clients.
    pub fn address(&self, number: usize) -> SocketAddr {
        self.servers[number].client
    }

    /// A server's process; none while it is dead.
    pub fn process(&mut self, number: usize) -> &mut Option<Mortal> {
        &mut self.servers[number].process
    }

    /// Kills a server with SIGKILL.
    pub fn kill(&mut self, number: usize) {
        self.servers[number].process = None;
    }

    /// Stops a server where it stands; its connections stay open and silent.
    pub fn pause(&mut self, number: usize) {
        self.servers[number].process.as_ref().expect("a living server").pause();
    }

    /// Lets a server that was stopped go on.
    pub fn go_on(&mut self, number: usize) {
        self.servers[number].process.as_ref().expect("a living server").go_on();
    }

    /// Starts a server that was killed, with the data that it has.
    pub fn revive(&mut self, number: usize) {
        let folder = self.folder_of(number);
        fs::create_dir_all(&folder).expect("a server's folder");
        fs::write(folder.join("myid"), (number + 1).to_string()).expect("a server's id");
        let server = &self.servers[number];
        let mut settings = format!(
            "tickTime=500\ninitLimit=20\nsyncLimit=10\nminSessionTimeout=1000\nadmin.enableServer=false\n\
             4lw.commands.whitelist=srvr\ndataDir={}\nclientPortAddress=127.0.0.1\nclientPort={}\n",
            folder.display(),
            server.client.port()
        );
        if self.count() > 1 {
            for (other, server) in self.servers.iter().enumerate() {
                let (quorum, election) = (server.quorum.port(), server.election.port());
                settings += &format!("server.{}=127.0.0.1:{quorum}:{election}\n", other + 1);
            }
        }
        let path = folder.join("zoo.cfg");
        fs::write(&path, settings).expect("a server's settings");
        let mut command = mortal::command("java");
        command
            .args(["-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no"])
            .args(["-cp", JAR, "org.apache.zookeeper.server.quorum.QuorumPeerMain"])
            .arg(path);
        self.servers[number].process = Some(Mortal::start(&mut command));
    }

    /// The folder that holds what a server stores, and nothing else.
    pub fn data(&self, number: usize) -> PathBuf {
        self.folder_of(number).join("version-2")
    }

    /// Waits until the servers have a leader and answer.
    pub fn until_ready(&self) {
        for number in 0..self.count() {
            until_true("a server of ZooKeeper", || self.mode(number).is_some());
        }
    }

    /// The number of the leader.
    pub fn leader(&self) -> usize {
        until("a leader of ZooKeeper", || {
            (0..self.count()).find(|number| self.mode(*number).as_deref() == Some("leader"))
        })
    }

    /// The servers, as ZooKeeper's clients write them.
    pub fn connect(&self) -> String {
        self.servers.iter().map(|server| server.client.to_string()).collect::<Vec<_>>().join(",")
    }

    fn folder_of(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("server-{number}"))
    }

    fn mode(&self, number: usize) -> Option<String> {
        let mut connection = TcpStream::connect(self.servers[number].client).ok()?;
        connection.set_read_timeout(Some(Duration::from_secs(1))).expect("a time");
        connection.write_all(b"srvr").ok()?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).ok()?;
        answer.lines().find_map(|line| line.strip_prefix("Mode: ")).map(str::to_owned)
    }
}
