//! A running server's announcement to other processes of this machine: a small file in its data
//! directory.
//!
//! `running.json` names the process and its addresses, so that `stadium push` finds a server whose ports the kernel
//! chose. It is written once all listeners are open and removed when the server stops; after a crash it may be stale, so
//! a reader must expect that nobody answers.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Name of the file in the data directory.
const FILE_NAME: &str = "running.json";

/// A running server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Process id.
    pub pid: u32,
    /// Where each listener listens, by name: `mqtt`, `mqtts`, `ws`, `wss`, `http`, `rpc`, ...
    pub listeners: Vec<Listener>,
    /// The HTTP API, as a local process reaches it.
    pub http_url: Option<String>,
}

/// One open listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listener {
    /// `mqtt`, `mqtts`, `ws`, `wss` or `http`.
    pub name: String,
    /// Its address, with the port that the kernel chose where port 0 was asked for.
    pub address: SocketAddr,
}

/// What the server of this data directory wrote, if it seems to run.
#[must_use]
pub fn read(data: &Path) -> Option<Running> {
    serde_json::from_slice(&std::fs::read(data.join(FILE_NAME)).ok()?).ok()
}

/// The file while the server runs; dropping it removes the file.
#[derive(Debug)]
pub(crate) struct Published {
    path: PathBuf,
}

impl Published {
    /// Writes the file, whole or not at all.
    pub(crate) fn write(data: &Path, running: &Running) -> io::Result<Self> {
        let path = data.join(FILE_NAME);
        let beside = data.join(format!("{FILE_NAME}.new"));
        let mut file = std::fs::File::create(&beside)?;
        file.write_all(&serde_json::to_vec(running)?)?;
        drop(file);
        std::fs::rename(&beside, &path)?;
        Ok(Self { path })
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_read_the_announcement_until_the_server_stops() {
        let data = tempfile::tempdir().expect("a temporary directory can be made");
        assert_eq!(read(data.path()), None);
        let running = Running {
            pid: 7,
            listeners: vec![Listener { name: "mqtt".to_owned(), address: ([127, 0, 0, 1], 1883).into() }],
            http_url: Some("http://127.0.0.1:8080".to_owned()),
        };
        let published = Published::write(data.path(), &running).expect("the directory is writable");
        assert_eq!(read(data.path()), Some(running));
        drop(published);
        assert_eq!(read(data.path()), None);
    }
}
