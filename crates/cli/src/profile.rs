//! Profiles: the servers that the command line talks to, by name, in one file of the user.
//!
//! `~/.config/stadium/config.toml` names the current profile and describes each: address, key or
//! file of the key, authority, data directory, app. A file that holds a key must be its owner's
//! alone. Which profile a command uses, and what flags and the environment change about it, is the
//! business of [`crate::server`].

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::{Context, Failure};

/// Names the file, where it is not at its usual place.
pub(crate) const FILE_VARIABLE: &str = "STADIUM_PROFILES_FILE";

/// Bytes of the file that are read; a profile takes some 200.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Characters of a profile's name.
const NAME_CHARS_MAX: usize = 64;

/// A server, and how to be let in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    /// Its address.
    pub(crate) url: Option<String>,
    /// The API key itself.
    pub(crate) key: Option<String>,
    /// A file with the API key.
    pub(crate) key_file: Option<PathBuf>,
    /// The authority that the server's certificate leads to.
    pub(crate) ca: Option<PathBuf>,
    /// The data directory of a server on this machine, for its address and key.
    pub(crate) data: Option<PathBuf>,
    /// The app that commands mean which name none.
    pub(crate) app: Option<String>,
}

/// All profiles of a user.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    /// The file, which may not exist.
    pub(crate) file: PathBuf,
    /// The profile that is used where nothing names one.
    pub(crate) current: Option<String>,
    /// Each by name.
    pub(crate) named: BTreeMap<String, Profile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    current: Option<String>,
    #[serde(default)]
    profiles: BTreeMap<String, Profile>,
}

impl Profiles {
    /// Reads the user's file; none is no profile.
    pub(crate) fn load() -> Result<Self, Failure> {
        Self::read(&usual_file())
    }

    fn read(file: &Path) -> Result<Self, Failure> {
        let text = match std::fs::metadata(file) {
            Ok(facts) if facts.len() > FILE_BYTES_MAX => {
                return Err(Failure::Input(format!(
                    "{} has {} bytes; profiles take at most {FILE_BYTES_MAX}",
                    file.display(),
                    facts.len()
                )));
            }
            Ok(_) => std::fs::read_to_string(file)
                .context(format_args!("the profiles in {} cannot be read", file.display()))?,
            Err(error) if is_absent(&error) => String::new(),
            Err(error) => {
                return Err(Failure::new(format!(
                    "the profiles in {} cannot be read: {error}",
                    file.display()
                )));
            }
        };
        let Written { current, profiles } = toml::from_str(&text).map_err(|error| {
            Failure::Input(format!("{}: {}", file.display(), error.to_string().trim_end()))
        })?;
        let holder = profiles.iter().find(|(_, profile)| profile.key.is_some());
        if let Some((name, _)) = holder {
            let mode = std::fs::metadata(file).map_or(0, |facts| facts.permissions().mode());
            if mode & 0o077 != 0 {
                return Err(Failure::Input(format!(
                    "{file} holds the key of the profile {name:?}, and others than its owner may use the file (mode {:04o}): \
                     chmod 600 {file}",
                    mode & 0o7777,
                    file = file.display(),
                )));
            }
        }
        let profiles = Self { file: file.to_owned(), current, named: profiles };
        match profiles.named.keys().find_map(|name| check_name(name).err()) {
            Some(why) => Err(Failure::Input(format!("{}: {why}", file.display()))),
            None => Ok(profiles),
        }
    }

    /// The profile of this name.
    pub(crate) fn find(&self, name: &str) -> Result<&Profile, Failure> {
        self.named.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.named.keys().map(String::as_str).collect();
            let known = match &*known {
                [] => "has none; `stadium profile set NAME --url URL` makes one".to_owned(),
                known => format!("has {}", known.join(", ")),
            };
            Failure::Usage(format!("there is no profile {name:?}: {} {known}", self.file.display()))
        })
    }

    /// Writes the file whole, for its owner alone. Comments and what else stands in it stay.
    pub(crate) fn save(&self) -> Result<(), Failure> {
        let shown = self.file.display().to_string();
        let before = match std::fs::read_to_string(&self.file) {
            Err(error) if is_absent(&error) => Ok(String::new()),
            read => read,
        };
        let before = before.context(format_args!("the profiles in {shown} cannot be read"))?;
        let text = self.edited(&before).context(format_args!("the profiles in {shown}"))?;
        let folder = self.file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let written = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).and_then(|()| {
            let mut beside = tempfile::Builder::new();
            let mut beside = beside.prefix(".config").make_in(folder, |path| {
                std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)
            })?;
            beside.write_all(text.as_bytes())?;
            beside.as_file().sync_all()?;
            beside.persist(&self.file)?;
            Ok(())
        });
        written.context(format_args!("the profiles cannot be written to {shown}"))
    }

    fn edited(&self, before: &str) -> Result<String, toml_edit::TomlError> {
        let mut document: toml_edit::DocumentMut = before.parse()?;
        match &self.current {
            Some(name) => document["current"] = toml_edit::value(name),
            None => {
                document.remove("current");
            }
        }
        let made = || {
            let mut table = toml_edit::Table::new();
            table.set_implicit(true);
            toml_edit::Item::Table(table)
        };
        let tables = document.entry("profiles").or_insert_with(made);
        let Some(tables) = tables.as_table_like_mut() else { return Ok(document.to_string()) };
        let gone: Vec<String> = tables.iter().map(|(name, _)| name.to_owned()).collect();
        for name in gone.iter().filter(|name| !self.named.contains_key(*name)) {
            tables.remove(name);
        }
        for (name, profile) in &self.named {
            let table = tables.entry(name).or_insert(toml_edit::Item::Table(toml_edit::Table::new()));
            let Some(table) = table.as_table_like_mut() else { continue };
            let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
            for (field, value) in [
                ("url", profile.url.clone()),
                ("key", profile.key.clone()),
                ("key_file", path(&profile.key_file)),
                ("ca", path(&profile.ca)),
                ("data", path(&profile.data)),
                ("app", profile.app.clone()),
            ] {
                match value {
                    Some(value) if table.get(field).and_then(|old| old.as_str()) == Some(&value) => {}
                    Some(value) => {
                        table.insert(field, toml_edit::value(value));
                    }
                    None => {
                        table.remove(field);
                    }
                }
            }
        }
        Ok(document.to_string())
    }
}

/// A path that names nothing, or goes through a file.
fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// A name that can stand in a file, on a command line and in a message.
pub(crate) fn check_name(name: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(fits) {
        return Ok(name.to_owned());
    }
    Err(format!(
        "the profile name {name:?}: a name has 1 to {NAME_CHARS_MAX} letters, digits, `-`, `_` and `.`"
    ))
}

/// `$STADIUM_PROFILES_FILE`, or `stadium/config.toml` where the user's configuration is (XDG Base
/// Directory).
fn usual_file() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable(FILE_VARIABLE).unwrap_or_else(|| {
        // A relative path there is invalid and to be ignored, says the specification.
        let folder = variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        let home = || variable("HOME").unwrap_or_else(|| PathBuf::from("/")).join(".config");
        folder.unwrap_or_else(home).join("stadium/config.toml")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_stay_when_profiles_change() {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let file = folder.path().join("a/config.toml");
        let mut profiles = Profiles::read(&file).expect("no file is no profile");
        let profile = Profile { url: Some("https://s.example".into()), ..Profile::default() };
        profiles.named.insert("prod".into(), profile.clone());
        profiles.save().expect("it is writable");
        let text = std::fs::read_to_string(&file).expect("it was written");
        assert_eq!(text, "[profiles.prod]\nurl = \"https://s.example\"\n");

        std::fs::write(&file, format!("# of the night shift\n{text}# until May\napp = \"shop\"\n"))
            .expect("writable");
        let mut profiles = Profiles::read(&file).expect("it is one of profiles");
        profiles.current = Some("prod".into());
        profiles.named.insert("local".into(), Profile { data: Some("/d".into()), ..Profile::default() });
        profiles.save().expect("it is writable");
        let text = std::fs::read_to_string(&file).expect("it was written");
        assert!(text.contains("# of the night shift") && text.contains("# until May"), "{text}");
        let read = Profiles::read(&file).expect("it is one of profiles");
        assert_eq!(read.current.as_deref(), Some("prod"));
        assert_eq!(read.named["prod"], Profile { app: Some("shop".into()), ..profile });
        assert_eq!(read.named["local"].data.as_deref(), Some(Path::new("/d")));
    }

    #[test]
    fn a_file_with_a_key_is_its_owners_alone() {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let file = folder.path().join("config.toml");
        std::fs::write(&file, "[profiles.p]\nkey = \"sk_secret\"\n").expect("writable");
        for (mode, is_read) in [(0o644, false), (0o640, false), (0o600, true), (0o400, true)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("it is ours");
            match Profiles::read(&file) {
                Ok(_) => assert!(is_read, "{mode:o}"),
                Err(failure) => {
                    let text = failure.to_string();
                    assert!(!is_read && text.contains("chmod 600") && !text.contains("sk_secret"), "{text}");
                }
            }
        }
    }

    #[test]
    fn mistakes_in_the_file_name_the_line() {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let file = folder.path().join("config.toml");
        for (text, why) in [
            ("[profiles.p]\nurk = \"x\"\n", "unknown field `urk`"),
            ("[profiles.\"a b\"]\n", "letters, digits"),
            ("current = \n", "line 1"),
        ] {
            std::fs::write(&file, text).expect("writable");
            let failure = Profiles::read(&file).expect_err("it is wrong");
            assert!(failure.to_string().contains(why), "{failure}");
        }
    }
}
