//! Carries out a plan, one change after the other; the first that fails ends it, and the failure
//! says what was done.

use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::file::Declared;
use super::resource::{Action, Kind, Planned};
use crate::api::{Api, Method};
use crate::failure::{Context, Failure};
use crate::on::ask;
use crate::shown::text;

/// The changes that were made.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) count: usize,
    /// Files that hold new secrets.
    pub(super) secrets: Vec<PathBuf>,
}

/// Carries out all changes.
pub(super) fn all(api: &Api, changes: &[&Planned], declared: &Declared) -> Result<Done, Failure> {
    let mut done = Done::default();
    for change in changes {
        one(api, change, declared, &mut done).map_err(|failure| {
            let (name, left) = (format!("{} {}", change.kind.word(), change.name), changes.len() - done.count);
            Failure::new(format!(
                "{name}: {failure}\n{} of {} changes were made; {left} were not, this one among them. Run it again to go on",
                done.count,
                changes.len()
            ))
        })?;
        done.count += 1;
    }
    Ok(done)
}

fn one(api: &Api, change: &Planned, declared: &Declared, done: &mut Done) -> Result<(), Failure> {
    match (change.kind, change.action) {
        (_, Action::Keep) => Ok(()),
        (_, Action::Remove) => ask(api, Method::Delete, &change.path, None).map(drop),
        (Kind::Key, Action::Make | Action::Replace | Action::Change) => make_key(api, change, declared, done),
        (_, Action::Make | Action::Change | Action::Replace) => {
            ask(api, Method::Put, &change.path, Some(&change.body)).map(drop)
        }
    }
}

/// Makes a key, writes its secret, and only then revokes the one that it replaces.
fn make_key(api: &Api, change: &Planned, declared: &Declared, done: &mut Done) -> Result<(), Failure> {
    let mut body = change.body.clone();
    let file = body.as_object_mut().and_then(|fields| fields.remove("secret_file"));
    let file = declared.path(file.as_ref().and_then(Value::as_str).unwrap_or_default());
    // A file that cannot be written is found before there is a secret to lose.
    let secret_file = SecretFile::make(&file)?;
    let made = ask(api, Method::Post, "/api/keys", Some(&body))?;
    let secret = text(&made, "secret");
    if let Err(failure) = secret_file.keep(secret, change.action == Action::Replace) {
        let id = made.pointer("/key/id").and_then(Value::as_str).unwrap_or("-");
        let revoked = ask(api, Method::Delete, &format!("/api/keys/{id}"), None);
        let word = if revoked.is_ok() { "is revoked again" } else { "stays: revoke it" };
        return Err(Failure::new(format!("{failure}; the key {id} {word}")));
    }
    done.secrets.push(file);
    if change.action == Action::Replace {
        ask(api, Method::Delete, &change.path, None)?;
    }
    Ok(())
}

/// A file beside the one that a secret goes to.
struct SecretFile<'a> {
    file: &'a Path,
    beside: tempfile::NamedTempFile,
}

impl<'a> SecretFile<'a> {
    fn make(file: &'a Path) -> Result<Self, Failure> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).and_then(|()| {
            tempfile::Builder::new().prefix(".secret").make_in(folder, |path| {
                std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)
            })
        });
        let beside = made.context(format_args!("the secret file {} cannot be written", file.display()))?;
        Ok(Self { file, beside })
    }

    /// Puts the secret into its place; one that is there is replaced only where that was asked for.
    fn keep(mut self, secret: &str, replaces: bool) -> Result<(), Failure> {
        let written = writeln!(self.beside, "{secret}").and_then(|()| self.beside.as_file().sync_all());
        let kept = written.and_then(|()| {
            let kept = if replaces {
                self.beside.persist(self.file)
            } else {
                self.beside.persist_noclobber(self.file)
            };
            kept.map(drop).map_err(|error| error.error)
        });
        kept.context(format_args!("the secret file {} cannot be written", self.file.display()))
    }
}
