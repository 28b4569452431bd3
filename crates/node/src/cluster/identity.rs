//! The cluster that a data directory belongs to: asked of etcd once, and kept in a file.
//!
//! So a node that was in its cluster before starts without etcd, and its replicas are never read as
//! those of another cluster.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use stadium_membership::{Cluster, Error as Membership, Formats};
use stadium_membership_etcd::{Access, find};

use crate::error::Error;

/// The file in the folder of the cluster.
const FILE: &str = "cluster.json";

/// How long the first start waits for etcd: the time that both take when they are started together.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// The formats that this program reads and writes.
const FORMATS: Formats = Formats { log: 1, checkpoint: 1 };

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct Kept {
    name: String,
    cluster: Cluster,
}

/// The cluster `name`: of the file in `folder`, or else of etcd. True where it was in the file.
pub(super) fn cluster(folder: &Path, name: &str, access: &Access) -> Result<(Cluster, bool), Error> {
    let path = folder.join(FILE);
    let wrong = |what: String| Error::Cluster(format!("{} {what}", path.display()));
    let (cluster, is_kept) = match fs::read(&path) {
        Ok(bytes) => {
            let kept: Kept =
                serde_json::from_slice(&bytes).map_err(|error| wrong(format!("cannot be read: {error}")))?;
            if kept.name != name {
                return Err(wrong(format!(
                    "says that this data directory is of the cluster {:?}, and cluster.name = {name:?}: name another \
                     directory in server.data",
                    kept.name
                )));
            }
            (kept.cluster, true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (ask(name, access)?, false),
        Err(error) => return Err(wrong(format!("cannot be read: {error}"))),
    };
    if cluster.formats != FORMATS {
        let Formats { log, checkpoint } = cluster.formats;
        return Err(Error::Cluster(format!(
            "the cluster {name:?} has logs of format {log} and checkpoints of format {checkpoint}, which this version \
             does not read"
        )));
    }
    Ok((cluster, is_kept))
}

/// Keeps the cluster of this folder from now on.
pub(super) fn keep(folder: &Path, name: &str, cluster: &Cluster) -> Result<(), Error> {
    let kept = Kept { name: name.to_owned(), cluster: cluster.clone() };
    let text = serde_json::to_vec(&kept).expect("a cluster has names and numbers");
    let (path, beside) = (folder.join(FILE), folder.join(format!("{FILE}.new")));
    let written = stadium_journal::make_folder(folder)
        .and_then(|()| fs::write(&beside, text))
        .and_then(|()| fs::rename(&beside, &path));
    written.map_err(|error| Error::Cluster(format!("{} cannot be written: {error}", path.display())))
}

fn ask(name: &str, access: &Access) -> Result<Cluster, Error> {
    let began = Instant::now();
    loop {
        match find(access.clone(), name) {
            Ok(Some(cluster)) => return Ok(cluster),
            Ok(None) => {
                return Err(Error::Cluster(format!(
                    "there is no cluster {name:?} in etcd: `stadium cluster init` makes one"
                )));
            }
            Err(Membership::Away(why)) if began.elapsed() < PATIENCE => {
                tracing::warn!(cluster = name, why, "etcd does not answer; it is asked again");
                std::thread::sleep(PAUSE);
            }
            Err(error) => {
                return Err(Error::Cluster(format!("the cluster {name:?} cannot be found: {error}")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use stadium_membership::ClusterId;

    use super::*;

    fn nobody() -> Access {
        Access { endpoints: vec!["nowhere".to_owned()], user: None, tls: None }
    }

    fn example(formats: Formats) -> Cluster {
        Cluster { id: ClusterId(7), shards: 6, formats, feature_level: 1 }
    }

    #[test]
    fn a_cluster_that_was_kept_needs_no_etcd() {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let folder = folder.path().join("cluster");
        keep(&folder, "main", &example(FORMATS)).expect("the directory is writable");
        assert_eq!(cluster(&folder, "main", &nobody()).expect("it is there"), (example(FORMATS), true));
    }

    #[test]
    fn another_cluster_and_formats_that_are_not_read_are_refused() {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let refused = |name| cluster(folder.path(), name, &nobody()).expect_err("it is wrong").to_string();
        assert!(refused("main").contains("nowhere"), "{}", refused("main"));
        keep(folder.path(), "main", &example(FORMATS)).expect("the directory is writable");
        assert!(refused("other").contains("is of the cluster \"main\""), "{}", refused("other"));
        keep(folder.path(), "main", &example(Formats { log: 2, checkpoint: 1 }))
            .expect("the directory is writable");
        assert!(refused("main").contains("logs of format 2"), "{}", refused("main"));
    }
}
