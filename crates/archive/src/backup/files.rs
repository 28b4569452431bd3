//! The files of a data directory beside its shards: in pieces that are named by their content.
//!
//! The audit log grows at its end, so a backup sends its last piece only. Files that hold secrets in
//! plain text are sealed with a key of the operator, or left out: `*.key`, the folder `acme`, and
//! the secrets among the files that the configuration names, also where they are in this directory.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use futures::TryStreamExt as _;
use object_store::ObjectStoreExt as _;
use sha2::{Digest as _, Sha256};
use stadium_journal::make_folder;
use stadium_objects::Place;

use super::history::FILE as HISTORY;
use super::record::{Backup, ConfiguredFile, StoredFile};
use super::secrets_key::SecretsKey;
use crate::series::{Refusal, create};
use crate::{Archive, Error, layout};

/// Bytes of a piece: what a backup of a growing file sends again at most.
const PIECE_BYTES: usize = 256 << 10;
/// The end of the name of a file that was sealed.
const SEALED: &str = ".sealed";
/// A part of the configuration that a backup stores.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Configured {
    /// The setting that names the file, or the name of a text; no other part has it.
    pub setting: String,
    /// The file or the text.
    pub content: Content,
    /// It is stored sealed or not at all.
    pub is_secret: bool,
}

/// Where a part of the configuration is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// In a file.
    File(PathBuf),
    /// Here.
    Text(String),
}

/// The beginning of the stored names of files of the configuration.
const CONFIGURATION: &str = "configuration.";
/// The folder of a restored data directory that they get.
pub(super) const CONFIGURATION_FOLDER: &str = "configuration";
/// A larger file is no part of a configuration.
const CONFIGURED_BYTES_MAX: u64 = 64 << 20;

/// The folder of the data directory with certificates of an ACME server, their keys and accounts.
const ACME: &str = "acme";
/// The beginning of the stored names of its files.
const ACME_FILE: &str = "acme.";

/// The files that are stored, and the names of those that are not.
#[derive(Default)]
pub(super) struct Collected {
    contents: Vec<(String, Vec<u8>)>,
    pub(super) left_out: Vec<String>,
    pub(super) configuration: Vec<ConfiguredFile>,
}

impl Collected {
    /// Adds a secret, sealed; without the key it is left out. Returns the name under which it is
    /// stored.
    fn add_secret(&mut self, name: String, content: &[u8], key: Option<&SecretsKey>) -> Option<String> {
        let Some(key) = key else {
            self.left_out.push(shown(&name));
            return None;
        };
        let stored = format!("{name}{SEALED}");
        self.contents.push((stored.clone(), key.seal(&name, content)));
        Some(stored)
    }

    /// Adds a part of the configuration. A file that cannot be read is no reason to lose the rest:
    /// the backup names it as left out.
    fn add_configured(&mut self, part: &Configured, key: Option<&SecretsKey>) {
        let (path, read) = match &part.content {
            Content::Text(text) => (None, Ok((text.clone().into_bytes(), 0o600))),
            Content::File(path) => {
                // Where a relative one was is not known elsewhere.
                let whole = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                (Some(whole.display().to_string()), read_configured(path))
            }
        };
        let name = format!("{CONFIGURATION}{}", part.setting);
        let (stored, mode) = match read {
            Ok((content, mode)) if part.is_secret => (self.add_secret(name, &content, key), mode),
            Ok((content, mode)) => {
                self.contents.push((name.clone(), content));
                (Some(name), mode)
            }
            Err(error) => {
                let (setting, path) = (&part.setting, path.as_deref().unwrap_or_default());
                tracing::warn!(setting, path, %error, "A file of the configuration is in no backup");
                self.left_out.push(name);
                (None, 0o600)
            }
        };
        self.configuration.push(ConfiguredFile { setting: part.setting.clone(), path, mode, stored });
    }
}

fn read_configured(path: &Path) -> io::Result<(Vec<u8>, u32)> {
    let found = fs::metadata(path)?;
    if !found.is_file() || found.len() > CONFIGURED_BYTES_MAX {
        let why = format!("it is no file of at most {} MiB", CONFIGURED_BYTES_MAX >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok((fs::read(path)?, found.permissions().mode() & 0o777))
}

/// Reads the files in a data directory and in its folder `acme`, sorted by name, and those of the
/// configuration.
///
/// # Errors
/// `File`.
pub(super) fn collect(
    data: &Path,
    configuration: &[Configured],
    key: Option<&SecretsKey>,
) -> Result<Collected, Error> {
    let mut collected = Collected::default();
    let secrets = secrets(configuration);
    for name in names(data)? {
        if !is_kept(&name) {
            continue;
        }
        let path = data.join(&name);
        let place = fs::canonicalize(&path).ok();
        if place.is_some() && place.as_deref() == key.and_then(SecretsKey::file) {
            // The secret that opens all others is in no backup.
            continue;
        }
        let content = read_file(&path)?;
        if name.ends_with(".key") || place.is_some_and(|place| secrets.contains(&place)) {
            collected.add_secret(name, &content, key);
            continue;
        }
        let whole = match name.ends_with(".ndjson") {
            // The line that is being written has no end yet.
            true => content.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1),
            false => content.len(),
        };
        collected.contents.push((name, content[..whole].to_vec()));
    }
    let acme = data.join(ACME);
    if acme.is_dir() {
        for name in names(&acme)?.into_iter().filter(|name| !is_being_written(name)) {
            let content = read_file(&acme.join(&name))?;
            collected.add_secret(format!("{ACME_FILE}{name}"), &content, key);
        }
    }
    for part in configuration {
        collected.add_configured(part, key);
    }
    Ok(collected)
}

/// The names of the files in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let failed = |error| Error::file(folder)(error);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // A link stands for the file that it names.
        if entry.path().is_file()
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    match fs::read(path) {
        // It was replaced or rotated while the folder was listed.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::Changed(path.to_owned())),
        read => read.map_err(Error::file(path)),
    }
}

/// The paths of the secrets of the configuration, without links.
fn secrets(configuration: &[Configured]) -> Vec<PathBuf> {
    let files = configuration.iter().filter(|part| part.is_secret).filter_map(|part| match &part.content {
        Content::File(path) => fs::canonicalize(path).ok(),
        Content::Text(_) => None,
    });
    files.collect()
}

/// Files of a running process, files that are being written, and stored names of files elsewhere
/// belong to no backup.
fn is_kept(name: &str) -> bool {
    if name.starts_with(CONFIGURATION) || name.starts_with(ACME_FILE) {
        return false;
    }
    let is_of_process = name == "running.json" || name == "lock" || name.ends_with(".lock");
    !is_of_process && name != HISTORY && !is_being_written(name)
}

fn is_being_written(name: &str) -> bool {
    name.ends_with(".new")
}

/// A stored name as an operator knows it.
fn shown(name: &str) -> String {
    match name.strip_prefix(ACME_FILE) {
        Some(file) => format!("{ACME}/{file}"),
        None => name.to_owned(),
    }
}

/// Stores what is not stored yet.
///
/// # Errors
/// Of the store.
pub(super) async fn store(archive: &Archive, collected: &Collected) -> Result<Vec<StoredFile>, Error> {
    let mut files = Vec::with_capacity(collected.contents.len());
    for (name, content) in &collected.contents {
        let mut pieces = Vec::new();
        for piece in content.chunks(PIECE_BYTES) {
            let hash = hex(&Sha256::digest(piece));
            match create(&archive.root.place, &object(&hash), piece.to_vec()).await {
                Ok(()) | Err(Refusal::Exists) => pieces.push(hash),
                Err(Refusal::Failed(error)) => return Err(error),
            }
        }
        files.push(StoredFile { name: name.clone(), bytes: content.len() as u64, pieces });
    }
    Ok(files)
}

/// Reads a file and verifies its pieces.
///
/// # Errors
/// Of the store; `Damaged`.
async fn read(place: &Place, file: &StoredFile) -> Result<Vec<u8>, Error> {
    let mut content = Vec::new();
    for hash in &file.pieces {
        let name = object(hash);
        let failed = |error: object_store::Error| place.failed(&name, &error);
        let found = place.store.get(&place.object(&name)).await.map_err(failed)?;
        if found.meta.size > PIECE_BYTES as u64 {
            return Err(Error::Damaged(format!("{name} is damaged: it is too long")));
        }
        let piece = found.bytes().await.map_err(failed)?;
        if hex(&Sha256::digest(&piece)) != *hash {
            return Err(Error::Damaged(format!("{name} is damaged: its checksum is wrong")));
        }
        content.extend_from_slice(&piece);
    }
    match content.len() as u64 == file.bytes {
        true => Ok(content),
        false => Err(Error::Damaged(format!("{} has another length than the backup says", file.name))),
    }
}

/// Files of the present: they list the users that were erased, which an older state must not bring
/// back. A restore takes them from the newest backup, whatever its moment.
const PRESENT: [&str; 2] = ["erasures.ndjson", "erasing.json"];

/// The files of a backup, with those of the present as the newest backup has them.
pub(super) fn with_present(of_backup: &[StoredFile], newest: &[StoredFile]) -> Vec<StoredFile> {
    let is_present = |file: &&StoredFile| PRESENT.contains(&file.name.as_str());
    let of_backup = of_backup.iter().filter(|file| !is_present(file));
    of_backup.chain(newest.iter().filter(is_present)).cloned().collect()
}

/// Writes the files of a backup into a folder; those of ACME into `acme` in it, and those of the
/// configuration into `configuration`, so that no file elsewhere on this machine is replaced.
/// Returns the names of those that are sealed and stay so without the key.
///
/// # Errors
/// Of the store; `Damaged`; `File`; `Unproved` where the key is another one.
pub(super) async fn restore(
    archive: &Archive,
    backup: &Backup,
    folder: &Path,
    key: Option<&SecretsKey>,
) -> Result<Vec<String>, Error> {
    let (mut sealed, mut folders) = (Vec::new(), BTreeSet::new());
    for file in &backup.files {
        if file.name.contains('/') || file.name.starts_with('.') || file.name == "shards" {
            return Err(Error::Damaged(format!("the backup has a file of the name {:?}", file.name)));
        }
        let mut content = read(&archive.root.place, file).await?;
        let mut name = file.name.as_str();
        if let Some(plain) = name.strip_suffix(SEALED) {
            let Some(key) = key else {
                sealed.push(shown(plain));
                continue;
            };
            content = key.open(plain, &content).ok_or_else(|| {
                Error::Unproved(format!("{plain} cannot be opened: the key is not the one of the backup"))
            })?;
            name = plain;
        }
        let configured = backup.configuration.iter().find(|part| part.stored.as_ref() == Some(&file.name));
        let (own, file, mode) = match (configured, name.strip_prefix(CONFIGURATION)) {
            (Some(part), Some(setting)) => (folder.join(CONFIGURATION_FOLDER), setting, part.mode & 0o777),
            _ => match name.strip_prefix(ACME_FILE) {
                Some(file) => (folder.join(ACME), file, 0o600),
                None => (folder.to_owned(), name, 0o600),
            },
        };
        make_folder(&own).map_err(Error::file(&own))?;
        let path = own.join(file);
        let mut options = fs::OpenOptions::new();
        let made = options.write(true).create_new(true).mode(0o600).open(&path);
        let written = made.and_then(|mut file| {
            file.write_all(&content)?;
            file.set_permissions(fs::Permissions::from_mode(mode))?;
            file.sync_all()
        });
        written.map_err(Error::file(&path))?;
        folders.insert(own);
    }
    for folder in &folders {
        fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::file(folder))?;
    }
    Ok(sealed)
}

/// The pieces in the store, with the time at which each was stored.
///
/// # Errors
/// Of the store.
pub(super) async fn pieces(archive: &Archive) -> Result<Vec<(String, i64, u64)>, Error> {
    let place = &archive.root.place;
    let listed: Vec<_> = place
        .store
        .list(Some(&place.object(layout::FILES)))
        .try_collect()
        .await
        .map_err(|error| place.refused(layout::FILES, &error))?;
    let pieces = listed.iter().filter_map(|object| {
        let name = object.location.filename()?.to_owned();
        Some((name, object.last_modified.timestamp_millis(), object.size))
    });
    Ok(pieces.collect())
}

/// The name of a piece's object.
pub(super) fn object(hash: &str) -> String {
    format!("{}/{hash}", layout::FILES)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_erased_users_are_those_of_the_newest_backup() {
        let file = |name: &str, bytes| StoredFile { name: name.to_owned(), bytes, pieces: Vec::new() };
        let old = [file("api-keys.toml", 1), file("erasures.ndjson", 1)];
        let new = [file("api-keys.toml", 2), file("erasures.ndjson", 2), file("erasing.json", 2)];
        let restored = with_present(&old, &new);
        let found: Vec<_> = restored.iter().map(|file| (file.name.as_str(), file.bytes)).collect();
        assert_eq!(found, [("api-keys.toml", 1), ("erasures.ndjson", 2), ("erasing.json", 2)]);
    }

    #[test]
    fn files_of_the_process_and_unfinished_ones_are_not_kept() {
        let data = tempfile::tempdir().expect("a folder can be had");
        for (name, content) in [
            ("lock", ""),
            ("api-keys.lock", ""),
            ("running.json", "{}"),
            ("backup.id", "x"),
            ("api-keys.toml.new", "x"),
            ("api-keys.toml", "version = 2"),
            ("audit.ndjson", "one\ntwo\nthr"),
            ("admin.key", "secret"),
        ] {
            fs::write(data.path().join(name), content).expect("it is written");
        }
        let names = |collected: &Collected| -> Vec<(String, usize)> {
            collected.contents.iter().map(|(name, content)| (name.clone(), content.len())).collect()
        };
        let open = collect(data.path(), &[], None).expect("it is read");
        let plain = [("api-keys.toml".to_owned(), 11), ("audit.ndjson".to_owned(), 8)];
        assert_eq!(names(&open), plain);
        assert_eq!(open.left_out, ["admin.key"]);
        let sealed = collect(data.path(), &[], Some(&SecretsKey::of(&[1; 32]))).expect("it is read");
        assert_eq!(names(&sealed)[0], ("admin.key.sealed".to_owned(), 12 + 6 + 16));
        assert!(sealed.left_out.is_empty());
    }

    #[test]
    fn files_of_the_configuration_are_kept_and_its_secrets_sealed() {
        let elsewhere = tempfile::tempdir().expect("a folder can be had");
        let data = tempfile::tempdir().expect("a folder can be had");
        let of = |setting: &str, content: Content, is_secret| Configured {
            setting: setting.to_owned(),
            content,
            is_secret,
        };
        let file = |name: &str, content: &str| {
            fs::write(elsewhere.path().join(name), content).expect("it is written");
            Content::File(elsewhere.path().join(name))
        };
        let parts = [
            of("stadium.toml", Content::Text("[mqtt]".to_owned()), false),
            of("auth.rules_file", file("rules.toml", "rules"), false),
            of("http.key", file("http.pem", "secret"), true),
            of("cache.secret_file", Content::File(elsewhere.path().join("gone")), true),
        ];
        let stored = |collected: &Collected| -> Vec<Option<String>> {
            collected.configuration.iter().map(|part| part.stored.clone()).collect()
        };
        let open = collect(data.path(), &parts, None).expect("it is read");
        let plain = ["configuration.stadium.toml", "configuration.auth.rules_file"];
        assert_eq!(stored(&open), [Some(plain[0].to_owned()), Some(plain[1].to_owned()), None, None]);
        assert_eq!(open.left_out, ["configuration.http.key", "configuration.cache.secret_file"]);
        let key = SecretsKey::of(&[1; 32]);
        let sealed = collect(data.path(), &parts, Some(&key)).expect("it is read");
        assert_eq!(stored(&sealed)[2].as_deref(), Some("configuration.http.key.sealed"));
        let (_, content) = &sealed.contents[2];
        assert_eq!(key.open("configuration.http.key", content).as_deref(), Some(&b"secret"[..]));
    }

    #[test]
    fn secrets_are_sealed_wherever_they_are_and_their_key_is_in_no_backup() {
        let data = tempfile::tempdir().expect("a folder can be had");
        let write = |name: &str, content: &str| {
            let path = data.path().join(name);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it is made");
            fs::write(&path, content).expect("it is written");
            path
        };
        let tls = write("http.pem", "private");
        write("acme/identity.pem", "private");
        write("acme/identity.new", "half");
        write("acme/account-1234.json", "private");
        let secret = write("of-backups", &"k".repeat(40));
        std::os::unix::fs::symlink("http.pem", data.path().join("again.pem")).expect("it is made");
        let configuration = [Configured {
            setting: "http.key".to_owned(),
            content: Content::File(data.path().join("./http.pem")),
            is_secret: true,
        }];
        let open = collect(data.path(), &configuration, None).expect("it is read");
        assert_eq!(
            open.left_out,
            [
                "again.pem",
                "http.pem",
                "acme/account-1234.json",
                "acme/identity.pem",
                "configuration.http.key"
            ]
        );
        assert!(tls.exists());
        let key = SecretsKey::read(&secret).expect("it is long enough");
        let sealed = collect(data.path(), &configuration, Some(&key)).expect("it is read");
        let names: Vec<_> = sealed.contents.iter().map(|(name, _)| name.as_str()).collect();
        let wanted = [
            "again.pem.sealed",
            "http.pem.sealed",
            "acme.account-1234.json.sealed",
            "acme.identity.pem.sealed",
            "configuration.http.key.sealed",
        ];
        assert_eq!(names, wanted);
        let private = |content: &[u8]| content.windows(7).any(|window| window == b"private");
        assert!(!sealed.contents.iter().any(|(_, content)| private(content)));
    }
}
