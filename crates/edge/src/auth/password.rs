//! The password file: names, argon2id hashes and groups.
//!
//! ```text
//! # made by `stadium device passwd`
//! d-4711:$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA
//! gate-1:$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA:gates,staff
//! ```
//!
//! Each hash names its own cost. A name that is unknown is checked against another user's hash and then
//! refused, so that its answer takes as long as a wrong password's (as far as the file's hashes cost the same).

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use arc_swap::ArcSwap;
use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};

use super::remembered::{Remembered, Tag};
use super::verdict::{GROUPS_MAX, PRINCIPAL_BYTES_MAX};
use super::watched::Watched;
use super::{Error, PasswordConfig};

/// Bytes of a password that are hashed; the bound of what a connection may send before it is authenticated.
const PASSWORD_BYTES_MAX: usize = 4096;

/// Memory that one hash of the file may ask for, in KiB: 1 GiB. A slip of the pen must not end the process.
const HASH_MEMORY_KIB_MAX: u32 = 1 << 20;

/// Hashes a password for the password file: argon2id with 19 MiB, two passes and a random salt of 16 bytes.
///
/// Takes some 20 ms. Fails for an empty password and for one of more than 4096 bytes (AUTH-008).
pub fn hash_password(password: &[u8]) -> Result<String, Error> {
    if password.is_empty() {
        return Err(Error::Password { problem: "the password is empty" });
    }
    if password.len() > PASSWORD_BYTES_MAX {
        return Err(Error::Password { problem: "the password has more than 4096 bytes" });
    }
    let hash = Argon2::default().hash_password(password);
    Ok(hash.map_err(|_| Error::Password { problem: "the password cannot be hashed" })?.to_string())
}

/// The line of the password file for this user, without a line end.
///
/// Fails for what [`hash_password`] refuses, and for a name that the file cannot hold (AUTH-008).
pub fn password_line(user: &str, password: &[u8], groups: &[&str]) -> Result<String, Error> {
    check_user(user).map_err(|problem| Error::Password { problem })?;
    if groups.len() > GROUPS_MAX || groups.iter().any(|group| !is_group(group)) {
        return Err(Error::Password {
            problem: "a group has 1 to 256 bytes without : , # or white space, at most 32 groups",
        });
    }
    let hash = hash_password(password)?;
    Ok(if groups.is_empty() {
        format!("{user}:{hash}")
    } else {
        format!("{user}:{hash}:{}", groups.join(","))
    })
}

/// The password file as it was read last.
pub(super) struct Passwords {
    path: PathBuf,
    users: ArcSwap<Users>,
    watched: Watched,
    /// Pairs that were right lately. The tag covers the hash as well, so a changed password is not remembered.
    remembered: Remembered<()>,
}

struct Users {
    by_name: HashMap<Arc<str>, User>,
    /// The hash that an unknown name is checked against.
    stand_in: Option<Arc<str>>,
}

/// One line of the file.
#[derive(Debug, Clone)]
pub(super) struct User {
    pub(super) name: Arc<str>,
    hash: Arc<str>,
    pub(super) groups: Arc<[Arc<str>]>,
}

impl Passwords {
    pub(super) fn open(config: &PasswordConfig, now: Instant) -> Result<Self, Error> {
        let watched = Watched::new(vec![config.file.clone()], now);
        let users = Users::read(&config.file)?;
        Ok(Self {
            path: config.file.clone(),
            users: ArcSwap::from_pointee(users),
            watched,
            remembered: Remembered::new(config.remember, config.remember_max)?,
        })
    }

    /// Reads the file again; on an error what was read before stays.
    pub(super) fn reload(&self) -> Result<(), Error> {
        self.users.store(Arc::new(Users::read(&self.path)?));
        Ok(())
    }

    /// Whether the file has changed and wants [`Passwords::reload`].
    pub(super) fn changed(&self, now: Instant) -> bool {
        self.watched.changed(now)
    }

    /// Takes back that a change was noticed, because nobody had time to read.
    pub(super) fn look_again(&self) {
        self.watched.look_again();
    }

    /// The user of this name.
    pub(super) fn user(&self, name: &str) -> Option<User> {
        self.users.load().by_name.get(name).cloned()
    }

    /// The digest under which a pair that was right is remembered.
    pub(super) fn tag(&self, user: &User, password: &[u8]) -> Tag {
        self.remembered.tag(&[user.name.as_bytes(), user.hash.as_bytes(), password])
    }

    /// Whether this pair was right lately.
    pub(super) fn recalls(&self, tag: &Tag, now: Instant) -> bool {
        self.remembered.recall(tag, now).is_some()
    }

    /// Computes the hash: some 20 ms on a thread of the pool. A pair that is right is remembered.
    pub(super) fn verify(&self, user: &User, password: &[u8], tag: Tag) -> bool {
        let right = verify(password, &user.hash);
        if right {
            self.remembered.remember(tag, (), Instant::now());
        }
        right
    }

    /// Takes the time of [`Passwords::verify`] for a name that is unknown.
    pub(super) fn spend(&self, password: &[u8]) {
        let stand_in = self.users.load().stand_in.clone();
        if let Some(hash) = stand_in {
            // The answer does not matter: the name is unknown. The fence keeps the work from being left out.
            let right = verify(password, &hash);
            std::sync::atomic::compiler_fence(Ordering::SeqCst);
            std::hint::black_box(right);
        }
    }

    pub(super) fn remembered_now(&self) -> usize {
        self.remembered.len()
    }
}

fn verify(password: &[u8], hash: &str) -> bool {
    // The comparison inside takes the same time wherever the first difference is.
    password.len() <= PASSWORD_BYTES_MAX
        && PasswordHash::new(hash)
            .is_ok_and(|hash| Argon2::default().verify_password(password, &hash).is_ok())
}

impl Users {
    fn read(path: &Path) -> Result<Self, Error> {
        let text =
            fs::read_to_string(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        let mut users = Self { by_name: HashMap::new(), stand_in: None };
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |problem| Error::PasswordLine { path: path.to_owned(), line: at + 1, problem };
            let user = parse_line(line).map_err(wrong)?;
            users.stand_in.get_or_insert_with(|| Arc::clone(&user.hash));
            if users.by_name.insert(Arc::clone(&user.name), user).is_some() {
                return Err(wrong("the user stands in the file twice"));
            }
        }
        Ok(users)
    }
}

fn parse_line(line: &str) -> Result<User, &'static str> {
    let mut fields = line.split(':');
    let name = fields.next().unwrap_or_default();
    check_user(name)?;
    let hash = fields.next().ok_or("after the user stand : and an argon2id hash")?;
    check_hash(hash)?;
    let groups: Vec<Arc<str>> = match fields.next() {
        None | Some("") => Vec::new(),
        Some(groups) => groups.split(',').map(Arc::from).collect(),
    };
    if groups.len() > GROUPS_MAX || groups.iter().any(|group| !is_group(group)) {
        return Err("groups have 1 to 256 bytes each with a comma between, at most 32 groups");
    }
    if fields.next().is_some() {
        return Err("too many fields; a line is user:hash or user:hash:groups");
    }
    Ok(User { name: name.into(), hash: hash.into(), groups: groups.into() })
}

fn check_hash(hash: &str) -> Result<(), &'static str> {
    let hash = PasswordHash::new(hash).map_err(|_| "the hash is not a PHC string ($argon2id$v=19$...)")?;
    if hash.algorithm.as_str() != "argon2id" || hash.salt.is_none() || hash.hash.is_none() {
        return Err("the hash is not argon2id with salt and output; make it with `stadium device passwd`");
    }
    let params = argon2::Params::try_from(&hash).map_err(|_| "the hash's cost is outside argon2's bounds")?;
    if params.m_cost() > HASH_MEMORY_KIB_MAX {
        return Err("the hash asks for more than 1 GiB of memory");
    }
    Ok(())
}

fn check_user(user: &str) -> Result<(), &'static str> {
    let odd = |char: char| char == ':' || char.is_control();
    if user.is_empty() || user.len() > PRINCIPAL_BYTES_MAX || user.contains(odd) {
        return Err("a user has 1 to 256 bytes without : and control characters");
    }
    if user.starts_with('#') || user.trim() != user {
        return Err("a user does not start with # and has no white space around it");
    }
    Ok(())
}

fn is_group(group: &str) -> bool {
    let odd = |char: char| matches!(char, ':' | ',' | '#') || char.is_whitespace() || char.is_control();
    !group.is_empty() && group.len() <= PRINCIPAL_BYTES_MAX && !group.contains(odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_made_is_read_and_verifies() {
        let line = password_line("gate-1", b"open sesame", &["gates", "staff"]).expect("a line");
        let user = parse_line(&line).expect("well-formed");
        assert_eq!(&*user.name, "gate-1");
        assert_eq!(user.groups.iter().map(|group| &**group).collect::<Vec<_>>(), ["gates", "staff"]);
        assert!(verify(b"open sesame", &user.hash));
        assert!(!verify(b"open Sesame", &user.hash));
        assert!(!verify(b"", &user.hash));
    }

    #[test]
    fn lines_that_cannot_be_meant_are_refused() {
        let hash = hash_password(b"secret").expect("a hash");
        for line in [
            "anna".to_owned(),
            format!(":{hash}"),
            "anna:secret".to_owned(),
            "anna:$2y$10$abcdefghijklmnopqrstuv".to_owned(),
            format!("anna:{}", hash.replace("argon2id", "argon2i")),
            format!("anna:{}", hash.replace("m=19456", "m=99999999")),
            format!("anna:{hash}:a b"),
            format!("anna:{hash}:a:b"),
            format!("anna:{hash}:a,,b"),
        ] {
            assert!(parse_line(&line).is_err(), "{line}");
        }
    }

    #[test]
    fn names_and_passwords_that_the_file_cannot_hold_are_refused() {
        for user in ["", "a:b", "#a", " a", "a\n", &"a".repeat(257)] {
            assert!(password_line(user, b"secret", &[]).is_err(), "{user:?}");
        }
        assert!(hash_password(b"").is_err());
        assert!(hash_password(&[b'a'; 4097]).is_err());
        assert!(password_line("anna", b"secret", &["a,b"]).is_err());
    }
}
