//! The registration of a node among those that may have sessions: in the documents of the cluster,
//! and in a file of its data directory.
//!
//! A node that has the file and is not in the documents was taken out by an operator, as lost.
//! Erasures went on without it, so it must not serve its sessions any more.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::key_store::private_file::write_private;
use crate::users::shared_list::SharedErasures;

/// The file.
const FILE: &str = "session-node.json";

/// A node of a cluster.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Marked {
    cluster: String,
    node: String,
}

/// The registration of this node.
pub(crate) struct Registration {
    path: PathBuf,
    marked: Marked,
    is_kept: AtomicBool,
}

impl Registration {
    /// Of this node, with this data directory.
    pub(crate) fn of(data_dir: &Path, cluster: &str, node: &str) -> Self {
        let marked = Marked { cluster: cluster.to_owned(), node: node.to_owned() };
        Self { path: data_dir.join(FILE), marked, is_kept: AtomicBool::new(false) }
    }

    /// Registers the node, or finds that it was taken out.
    pub(crate) fn at_start(&self, list: &SharedErasures) -> Result<(), String> {
        let kept = match self.is_marked().map_err(|error| format!("{}: {error}", self.path.display()))? {
            true => self.check(list),
            false => self.keep(list).map(|()| true),
        };
        match kept {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!(
                "the node {:?} was taken out of the cluster's list of nodes with sessions (ERA-010), and users may \
                 have been erased since. To let it serve without its sessions and retained messages, move the \
                 folder `shards` and {} away",
                self.marked.node,
                self.path.display()
            )),
            Err(error) if is_away(&error) => {
                tracing::warn!(%error, "Erasures are those that this node knew last");
                Ok(())
            }
            Err(error) => Err(format!("the cluster's list of nodes with sessions: {error}")),
        }
    }

    /// Registers the node, unless it was registered since the start.
    pub(crate) fn keep(&self, list: &SharedErasures) -> io::Result<()> {
        if self.is_kept.load(Ordering::Acquire) && list.nodes().contains(&self.marked.node) {
            return Ok(());
        }
        if self.is_marked()? {
            return match self.check(list)? {
                true => Ok(()),
                false => {
                    Err(io::Error::other("the node was taken out of it while it was away: stop it (ERA-010)"))
                }
            };
        }
        list.register(&self.marked.node)?;
        let text = serde_json::to_vec(&self.marked)?;
        write_private(&self.path, &text).map_err(io::Error::other)?;
        self.is_kept.store(true, Ordering::Release);
        Ok(())
    }

    /// Whether the documents still have the node.
    fn check(&self, list: &SharedErasures) -> io::Result<bool> {
        let is_registered = list.is_registered(&self.marked.node)?;
        self.is_kept.store(is_registered, Ordering::Release);
        Ok(is_registered)
    }

    /// Whether the directory was this node's before.
    fn is_marked(&self) -> io::Result<bool> {
        match fs::read(&self.path) {
            Ok(text) => Ok(serde_json::from_slice::<Marked>(&text)? == self.marked),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn is_away(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotConnected | io::ErrorKind::TimedOut)
}
