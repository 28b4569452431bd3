//! The copy of the documents in the data directory, readable by its owner alone.
//!
//! It is replaced whole: a crash leaves the old or the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stadium_membership::{ClusterId, Error};

use super::known::Texts;

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    cluster: ClusterId,
    documents: Texts,
}

/// The documents of the copy; none where there is no file.
///
/// # Errors
/// [`Error::Unreadable`], also for the copy of another cluster.
pub(super) fn read(path: &Path, cluster: ClusterId) -> Result<Option<Texts>, Error> {
    let wrong = |why: String| Error::Unreadable(format!("{}: {why}", path.display()));
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(error.to_string())),
    };
    let content: Content = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    if content.version != VERSION {
        return Err(wrong(format!("its version is {}, this server reads {VERSION}", content.version)));
    }
    if content.cluster != cluster {
        return Err(wrong("it is of another cluster".to_owned()));
    }
    Ok(Some(content.documents))
}

/// Replaces the copy; it is on disk when this returns.
pub(super) fn write(path: &Path, cluster: ClusterId, documents: &Texts) -> io::Result<()> {
    let content = Content { version: VERSION, cluster, documents: documents.clone() };
    let text = serde_json::to_vec(&content).expect("texts always serialise");
    let beside = path.with_extension("json.new");
    // A file that a crash left behind may have other permissions.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&beside)?;
    file.write_all(&text)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_copy_is_private_and_those_of_other_clusters_are_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("documents.json");
        let ours = ClusterId(7);
        assert_eq!(read(&path, ours), Ok(None));
        let texts = Texts::from([("keys/k_1".to_owned(), "{}".to_owned())]);
        write(&path, ours, &Texts::new()).expect("it is written");
        write(&path, ours, &texts).expect("it is replaced");
        assert_eq!(read(&path, ours), Ok(Some(texts)));
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
        let refused = |cluster| read(&path, cluster).expect_err("it is wrong").to_string();
        assert!(refused(ClusterId(8)).contains("of another cluster"));
        fs::write(&path, "{").expect("it can be written");
        assert!(refused(ours).contains("documents.json: "), "{}", refused(ours));
    }
}
