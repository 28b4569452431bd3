//! ZooKeeper as it is installed: one server or three, killed, paused, wiped and started again.
//!
//! The suites look into it with the client library, in sessions of their own.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use stadium_discovery::Backend;
use zookeeper_client::{Client, Error};

use super::{Process, free_port, mortal, until, until_true};

/// Where Debian puts it. Its manifest names what it needs.
const JAR: &str = "/usr/share/java/zookeeper.jar";

/// Servers that know each other.
pub struct Ensemble {
    servers: Vec<Server>,
    folder: tempfile::TempDir,
}

struct Server {
    client: SocketAddr,
    quorum: SocketAddr,
    election: SocketAddr,
    process: Option<Process>,
}

impl Ensemble {
    /// Starts `count` servers and waits until they serve.
    pub fn start(count: usize) -> Self {
        let server =
            |_| Server { client: free_port(), quorum: free_port(), election: free_port(), process: None };
        let servers = (0..count).map(server).collect();
        let mut ensemble = Self { servers, folder: tempfile::tempdir().expect("a temporary folder") };
        ensemble.revive_all();
        ensemble.until_ready();
        ensemble
    }

    pub fn backend(&self) -> Backend {
        Backend::ZooKeeper { connect: self.connect(), user: None }
    }

    pub fn backend_at(&self, address: SocketAddr) -> Backend {
        Backend::ZooKeeper { connect: address.to_string(), user: None }
    }

    pub fn connect(&self) -> String {
        let addresses: Vec<String> = self.servers.iter().map(|server| server.client.to_string()).collect();
        addresses.join(",")
    }

    pub fn address(&self, number: usize) -> SocketAddr {
        self.servers[number].client
    }

    pub fn count(&self) -> usize {
        self.servers.len()
    }

    /// Kills a server with SIGKILL.
    pub fn kill(&mut self, number: usize) {
        self.servers[number].process = None;
    }

    pub fn revive(&mut self, number: usize) {
        let folder = self.folder.path().join(format!("server-{number}"));
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
        let mut command = mortal("java");
        command
            .args(["-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no"])
            .args(["-cp", JAR, "org.apache.zookeeper.server.quorum.QuorumPeerMain"])
            .arg(path);
        self.servers[number].process = Some(Process::start(&mut command));
    }

    pub fn revive_all(&mut self) {
        (0..self.count()).for_each(|number| self.revive(number));
    }

    /// Removes all data of all servers, which are dead.
    pub fn wipe(&mut self) {
        assert!(self.servers.iter().all(|server| server.process.is_none()), "a living server's data");
        for number in 0..self.count() {
            let data = self.folder.path().join(format!("server-{number}/version-2"));
            fs::remove_dir_all(data).expect("a server's data");
        }
    }

    pub fn pause(&self, number: usize) {
        self.servers[number].process.as_ref().expect("a living server").pause();
    }

    pub fn go_on(&self, number: usize) {
        self.servers[number].process.as_ref().expect("a living server").go_on();
    }

    /// Waits until all servers serve.
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

    fn mode(&self, number: usize) -> Option<String> {
        let mut connection = TcpStream::connect(self.servers[number].client).ok()?;
        connection.set_read_timeout(Some(Duration::from_secs(1))).expect("a time");
        connection.write_all(b"srvr").ok()?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).ok()?;
        answer.lines().find_map(|line| line.strip_prefix("Mode: ")).map(str::to_owned)
    }

    /// Looks into the tree.
    pub fn with_client<T>(&self, act: impl AsyncFnOnce(&Client) -> Result<T, Error>) -> Result<T, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let client = Client::connect(&self.connect()).await?;
            act(&client).await
        })
    }

    /// A node's data; `None` when it does not exist.
    pub fn data(&self, path: &str) -> Option<String> {
        let path = path.to_owned();
        match self.with_client(async |client| client.get_data(&path).await) {
            Ok((data, _)) => Some(String::from_utf8(data).expect("text")),
            Err(Error::NoNode) => None,
            Err(why) => panic!("cannot read {path}: {why}"),
        }
    }
}
