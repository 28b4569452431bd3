//! The files of a data directory beside its shards: in pieces that are named by their content.
//!
//! The audit log grows at its end, so a backup sends its last piece only. Files that hold secrets in
//! plain text (`*.key`) are sealed with a key of the operator, or left out. So are the secrets among
//! the files that the configuration names.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use futures::TryStreamExt as _;
use object_store::ObjectStoreExt as _;
use ring::{aead, hkdf, hmac};
use sha2::{Digest as _, Sha256};
use stadium_journal::make_folder;
use stadium_objects::Place;

use super::history::FILE as HISTORY;
use super::record::{Backup, ConfiguredFile, StoredFile};
use crate::series::{Refusal, create};
use crate::{Archive, Error, layout};

/// Bytes of a piece: what a backup of a growing file sends again at most.
const PIECE_BYTES: usize = 256 << 10;
/// The end of the name of a file that was sealed.
const SEALED: &str = ".sealed";
/// The shortest secret, bytes.
const SECRET_BYTES_MIN: usize = 32;

/// The operator's key that seals files with secrets. No backup has it.
pub struct SecretsKey {
    seal: aead::LessSafeKey,
    nonce: hmac::Key,
}

impl std::fmt::Debug for SecretsKey {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretsKey")
    }
}

impl SecretsKey {
    /// Reads the secret in a file: at least 32 bytes, such as the output of `openssl rand -base64 48`.
    ///
    /// # Errors
    /// `File`.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read(path).map_err(Error::file(path))?;
        let secret = text.trim_ascii();
        if secret.len() < SECRET_BYTES_MIN {
            let short = format!("it has fewer than {SECRET_BYTES_MIN} bytes");
            return Err(Error::file(path)(io::Error::new(io::ErrorKind::InvalidData, short)));
        }
        Ok(Self::of(secret))
    }

    fn of(secret: &[u8]) -> Self {
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, b"stadium backup, version 1").extract(secret);
        let part = |label: &'static [u8]| {
            let mut key = [0; 32];
            let label = [label];
            let derived = root.expand(&label, hkdf::HKDF_SHA256).and_then(|part| part.fill(&mut key));
            derived.expect("32 bytes can be derived");
            key
        };
        let key = aead::UnboundKey::new(&aead::CHACHA20_POLY1305, &part(b"seal"));
        Self {
            seal: aead::LessSafeKey::new(key.expect("the key has 32 bytes")),
            nonce: hmac::Key::new(hmac::HMAC_SHA256, &part(b"nonce")),
        }
    }

    /// The nonce follows from name and content: equal files are one object, and no nonce is used for
    /// two contents.
    fn seal(&self, name: &str, content: &[u8]) -> Vec<u8> {
        let mut of = hmac::Context::with_key(&self.nonce);
        for part in [name.as_bytes(), &[0], content] {
            of.update(part);
        }
        let nonce: [u8; 12] = *of.sign().as_ref().first_chunk().expect("it has 32 bytes");
        let mut sealed = content.to_vec();
        let sealing = self.seal.seal_in_place_append_tag(
            aead::Nonce::assume_unique_for_key(nonce),
            aead::Aad::from(name.as_bytes()),
            &mut sealed,
        );
        sealing.expect("a small file can be sealed");
        [&nonce[..], &sealed].concat()
    }

    fn open(&self, name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<12>()?;
        let mut content = sealed.to_vec();
        let opened = self.seal.open_in_place(
            aead::Nonce::assume_unique_for_key(*nonce),
            aead::Aad::from(name.as_bytes()),
            &mut content,
        );
        Some(opened.ok()?.to_vec())
    }
}

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
            self.left_out.push(name);
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

/// Reads the files in a data directory, sorted by name, and those of the configuration.
///
/// # Errors
/// `File`.
pub(super) fn collect(
    data: &Path,
    configuration: &[Configured],
    key: Option<&SecretsKey>,
) -> Result<Collected, Error> {
    let failed = |error| Error::file(data)(error);
    let mut collected = Collected::default();
    let mut names = Vec::new();
    for entry in fs::read_dir(data).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_file()
            && let Ok(name) = entry.file_name().into_string()
            && is_kept(&name)
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    for name in names {
        let path = data.join(&name);
        let content = match fs::read(&path) {
            // It was replaced or rotated while the folder was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Error::Changed(path)),
            read => read.map_err(Error::file(&path))?,
        };
        if name.ends_with(".key") {
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
    for part in configuration {
        collected.add_configured(part, key);
    }
    Ok(collected)
}

/// Files of a running process, files that are being written, and names of the configuration's own
/// belong to no backup.
fn is_kept(name: &str) -> bool {
    if name.starts_with(CONFIGURATION) {
        return false;
    }
    let is_of_process = name == "running.json" || name == "lock" || name.ends_with(".lock");
    !is_of_process && name != HISTORY && !name.ends_with(".new")
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

/// Writes the files of a backup into a folder; those of the configuration into a folder of it, so
/// that no file elsewhere on this machine is replaced. Returns the names of those that are sealed
/// and stay so without the key.
///
/// # Errors
/// Of the store; `Damaged`; `File`; `Unproved` where the key is another one.
pub(super) async fn restore(
    archive: &Archive,
    backup: &Backup,
    folder: &Path,
    key: Option<&SecretsKey>,
) -> Result<Vec<String>, Error> {
    let mut sealed = Vec::new();
    for file in &backup.files {
        if file.name.contains('/') || file.name.starts_with('.') || file.name == "shards" {
            return Err(Error::Damaged(format!("the backup has a file of the name {:?}", file.name)));
        }
        let mut content = read(&archive.root.place, file).await?;
        let mut name = file.name.as_str();
        if let Some(plain) = name.strip_suffix(SEALED) {
            let Some(key) = key else {
                sealed.push(plain.to_owned());
                continue;
            };
            content = key.open(plain, &content).ok_or_else(|| {
                Error::Unproved(format!("{plain} cannot be opened: the key is not the one of the backup"))
            })?;
            name = plain;
        }
        let configured = backup.configuration.iter().find(|part| part.stored.as_ref() == Some(&file.name));
        let (path, mode) = match (configured, name.strip_prefix(CONFIGURATION)) {
            (Some(part), Some(setting)) => {
                let own = folder.join(CONFIGURATION_FOLDER);
                make_folder(&own).map_err(Error::file(&own))?;
                (own.join(setting), part.mode & 0o777)
            }
            _ => (folder.join(name), 0o600),
        };
        let mut options = fs::OpenOptions::new();
        let made = options.write(true).create_new(true).mode(0o600).open(&path);
        let written = made.and_then(|mut file| {
            file.write_all(&content)?;
            file.set_permissions(fs::Permissions::from_mode(mode))?;
            file.sync_all()
        });
        written.map_err(Error::file(&path))?;
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

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_file_opens_with_its_key_and_name_only() {
        let key = SecretsKey::of(&[7; 32]);
        let sealed = key.seal("admin.key", b"st_secret");
        assert_eq!(key.open("admin.key", &sealed).as_deref(), Some(&b"st_secret"[..]));
        assert_eq!(key.seal("admin.key", b"st_secret"), sealed, "it is one object");
        assert_eq!(key.open("other.key", &sealed), None);
        assert_eq!(SecretsKey::of(&[8; 32]).open("admin.key", &sealed), None);
        assert_eq!(key.open("admin.key", &sealed[..5]), None);
        assert!(!sealed.windows(9).any(|window| window == b"st_secret"));
    }

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
}
