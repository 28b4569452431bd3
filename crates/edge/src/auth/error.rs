//! Errors of configuration: a file, key or rule that cannot be used.
//!
//! They appear when the server starts or reads its files again, never because of what a device sends.
//! Each has a code with a paragraph in docs/reference/errors/auth.md. None prints a secret.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why the configuration of authentication cannot be used.
#[derive(Debug)]
pub enum Error {
    /// A file cannot be read. (AUTH-001)
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A line of the password file has not the form `user:$argon2id$...`. (AUTH-002)
    PasswordLine {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A token key cannot be used. (AUTH-003)
    TokenKey {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The rules cannot be used. (AUTH-004)
    Rules {
        /// The file, or `None` for rules in the configuration.
        path: Option<PathBuf>,
        /// What is wrong, with the rule's number.
        problem: String,
    },
    /// The callback cannot be set up. (AUTH-005)
    Callback {
        /// What is wrong.
        problem: String,
    },
    /// A setting is outside its bounds. (AUTH-006)
    Setting {
        /// The setting.
        name: &'static str,
        /// Its bounds, in words.
        bounds: &'static str,
    },
    /// A thread could not be started, or the system gave no randomness. (AUTH-007)
    System {
        /// What was attempted.
        attempt: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// A password cannot be hashed or a user not be written down. (AUTH-008)
    Password {
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl Error {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "AUTH-001",
            Self::PasswordLine { .. } => "AUTH-002",
            Self::TokenKey { .. } => "AUTH-003",
            Self::Rules { .. } => "AUTH-004",
            Self::Callback { .. } => "AUTH-005",
            Self::Setting { .. } => "AUTH-006",
            Self::System { .. } => "AUTH-007",
            Self::Password { .. } => "AUTH-008",
        }
    }
}

impl From<stadium_token_keys::Error> for Error {
    fn from(error: stadium_token_keys::Error) -> Self {
        use stadium_token_keys::Error as OfKeys;
        match error {
            OfKeys::File { path, source } => Self::File { path, source },
            OfKeys::Key { path, problem } => Self::TokenKey { path, problem },
            OfKeys::Count => Self::Setting { name: "keys of tokens", bounds: "1 to 64 in all" },
            OfKeys::Thread(source) => Self::System { attempt: "start a thread", source },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, source } => write!(f, "cannot read {}: {source}", path.display())?,
            Self::PasswordLine { path, line, problem } => {
                write!(f, "password file {} line {line}: {problem}", path.display())?;
            }
            Self::TokenKey { path, problem } => write!(f, "token key {}: {problem}", path.display())?,
            Self::Rules { path: Some(path), problem } => {
                write!(f, "rules file {}: {problem}", path.display())?;
            }
            Self::Rules { path: None, problem } => write!(f, "rules: {problem}")?,
            Self::Callback { problem } => write!(f, "authentication callback: {problem}")?,
            Self::Setting { name, bounds } => write!(f, "setting {name} must be {bounds}")?,
            Self::System { attempt, source } => write!(f, "cannot {attempt}: {source}")?,
            Self::Password { problem } => f.write_str(problem)?,
        }
        write!(f, " ({})", self.code())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } | Self::System { source, .. } => Some(source),
            _ => None,
        }
    }
}
