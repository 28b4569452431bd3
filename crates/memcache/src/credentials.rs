//! The name and the password of a client, for servers with `memcached -Y`.

use std::fmt;

use crate::error::Error;

/// A user and a password. The password is in no error and in no `Debug` text.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    user: String,
    password: String,
}

/// Bytes of both together at most, as the server's own buffer has it (`authfile.c`: 256 with the
/// separators).
const BYTES_MAX: usize = 250;

impl Credentials {
    /// A user and a password, together up to 250 bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Config`]: one is empty or has a space or a control character, the user has a colon, or
    /// both are too long. The server cannot express them.
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> Result<Self, Error> {
        let (user, password) = (user.into(), password.into());
        let is_wrong = user.is_empty()
            || password.is_empty()
            || user.contains(':')
            || user.chars().chain(password.chars()).any(|one| one == ' ' || one.is_control())
            || user.len() + password.len() > BYTES_MAX;
        if is_wrong {
            return Err(Error::Config("the user or the password cannot be used".into()));
        }
        Ok(Self { user, password })
    }

    /// The command that logs in: a classic `set` with "user password" as its value, under any key.
    ///
    /// A server that asks for no login stores the value: it expires at once.
    pub(crate) fn command(&self) -> Vec<u8> {
        let Self { user, password } = self;
        let bytes = user.len() + 1 + password.len();
        format!("set stadium-memcache-login 0 -1 {bytes}\r\n{user} {password}\r\n").into_bytes()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_checked_and_the_password_is_not_shown() {
        let credentials = Credentials::new("ada", "secret").unwrap();
        assert!(!format!("{credentials:?}").contains("secret"));
        assert_eq!(credentials.command(), b"set stadium-memcache-login 0 -1 10\r\nada secret\r\n");
        for (user, password) in
            [("", "p"), ("u", ""), ("u", "p q"), ("a b", "p"), ("a:b", "p"), ("a", "p\r\nflush_all")]
        {
            assert!(Credentials::new(user, password).is_err(), "{user} {password}");
        }
        assert!(Credentials::new("u", "p".repeat(249)).is_ok());
        assert!(Credentials::new("u", "p".repeat(250)).is_err());
    }
}
