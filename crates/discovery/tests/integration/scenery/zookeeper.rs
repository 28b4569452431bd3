//! ZooKeeper as it is installed: one server or three, killed, paused, wiped and started again.
//!
//! The suites look into it with the client library, in sessions of their own.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use stadium_discovery::Backend;
use zookeeper_client::{Client, Error};

use super::registry::Registry;
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

impl Registry for Ensemble {
    fn start(count: usize) -> Self {
        let server =
            |_| Server { client: free_port(), quorum: free_port(), election: free_port(), process: None };
        let servers = (0..count).map(server).collect();
        let mut ensemble = Self { servers, folder: tempfile::tempdir().expect("a temporary folder") };
        ensemble.revive_all();
        ensemble.until_ready();
        ensemble
    }

    fn count(&self) -> usize {
        self.servers.len()
    }

    fn address(&self, number: usize) -> SocketAddr {
        self.servers[number].client
    }

    fn backend_at(&self, addresses: &[SocketAddr]) -> Backend {
        Backend::ZooKeeper { connect: connect(addresses), user: None }
    }

    fn process(&mut self, number: usize) -> &mut Option<Process> {
        &mut self.servers[number].process
    }

    fn revive(&mut self, number: usize) {
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
        let mut command = mortal("java");
        command
            .args(["-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no"])
            .args(["-cp", JAR, "org.apache.zookeeper.server.quorum.QuorumPeerMain"])
            .arg(path);
        self.servers[number].process = Some(Process::start(&mut command));
    }

    fn data(&self, number: usize) -> PathBuf {
        self.folder_of(number).join("version-2")
    }

    fn until_ready(&self) {
        for number in 0..self.count() {
            until_true("a server of ZooKeeper", || self.mode(number).is_some());
        }
    }

    fn leader(&self) -> usize {
        until("a leader of ZooKeeper", || {
            (0..self.count()).find(|number| self.mode(*number).as_deref() == Some("leader"))
        })
    }

    fn value(&self, path: &str) -> Option<String> {
        let path = path.to_owned();
        match self.with_client(async |client| client.get_data(&path).await) {
            Ok((data, _)) => Some(String::from_utf8(data).expect("text")),
            Err(Error::NoNode) => None,
            Err(why) => panic!("cannot read {path}: {why}"),
        }
    }
}

impl Ensemble {
    /// The servers, as ZooKeeper's clients write them.
    pub fn connect(&self) -> String {
        connect(&self.servers.iter().map(|server| server.client).collect::<Vec<_>>())
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

    /// Looks into the tree.
    pub fn with_client<T>(&self, act: impl AsyncFnOnce(&Client) -> Result<T, Error>) -> Result<T, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let client = Client::connect(&self.connect()).await?;
            act(&client).await
        })
    }
}

fn connect(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(",")
}
