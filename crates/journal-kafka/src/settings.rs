//! How a node reaches the brokers: addresses, TLS, SASL, timeouts, bounds.
//!
//! A password comes from a file. It is held by a [`Secret`], which shows it to nobody but the
//! client that sends it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure;

/// Length in bytes of the longest message: that of docs/formats/log-message.md.
///
/// The topic takes batches of 17 MiB, which leaves room for Kafka's own headers.
pub const MESSAGE_BYTES_MAX: usize = BATCH_BYTES_MAX - 4096;

/// Bytes of the largest batch that the topic takes.
pub(crate) const BATCH_BYTES_MAX: usize = 17 * 1024 * 1024;

/// How a node talks to Kafka.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Brokers to ask first, each as HOST:PORT. They name all others.
    pub bootstrap: Vec<String>,
    /// The cluster's name, which names the topic, see [`topic_name`].
    pub cluster: String,
    /// TLS; without it nothing is encrypted.
    pub tls: Option<Tls>,
    /// Credentials; without them a broker knows the node by its certificate or not at all.
    pub sasl: Option<Sasl>,
    /// Time until an append without an acknowledgement is reported as not appended.
    ///
    /// Two to ten seconds: longer than a change of a partition's leader, or each one makes the owner
    /// claim its log again; shorter than what callers of a command wait.
    pub append_timeout: Duration,
    /// Time until any other request is given up and its connection closed. At least a second.
    pub request_timeout: Duration,
    /// How long a broker may hold back an answer to a read at the end of the log.
    ///
    /// A message is delivered at once all the same. librdkafka cannot add a partition to a read that
    /// is under way, so it is also the longest time until a read begins; each node asks each broker
    /// so often while nothing is written. rskafka reads each partition apart, and does not use it.
    pub fetch_wait: Duration,
    /// Bytes of all messages that wait for an acknowledgement, of the whole node. At least 18 MiB;
    /// what is beyond is refused at once.
    pub unacknowledged_bytes_max: usize,
    /// Connections for appends to each broker, 1 to 16. A broker answers the requests of a connection
    /// one after another, each after it is replicated: more connections let more shards commit at a
    /// time. rskafka has one for each partition, and does not use it.
    pub connections: u16,
}

impl Settings {
    /// The defaults for a cluster at these brokers: no TLS, no SASL, appends time out after 5 s,
    /// other requests after 3 s, 256 MiB wait at most.
    #[must_use]
    pub fn new(bootstrap: Vec<String>, cluster: &str) -> Self {
        Self {
            bootstrap,
            cluster: cluster.to_owned(),
            tls: None,
            sasl: None,
            append_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(3),
            fetch_wait: Duration::from_millis(25),
            unacknowledged_bytes_max: 256 * 1024 * 1024,
            connections: 4,
        }
    }

    /// Checks what no file and no broker is needed for.
    ///
    /// # Errors
    /// A value is out of its bounds, or a name cannot be a topic's.
    pub fn check(&self) -> Result<(), SettingsError> {
        let wrong = |what: String| Err(SettingsError { what: failure::with_code(failure::SETTINGS, what) });
        if self.bootstrap.is_empty() {
            return wrong("no broker is named".into());
        }
        let is_address = |text: &String| match text.rsplit_once(':') {
            Some((host, port)) => !host.is_empty() && !host.contains(',') && port.parse::<u16>().is_ok(),
            None => false,
        };
        if let Some(odd) = self.bootstrap.iter().find(|text| !is_address(text)) {
            return wrong(format!("broker `{odd}` is not HOST:PORT"));
        }
        // Kafka's rule for topics, less the `stadium.` and `.log` around it.
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if self.cluster.is_empty() || self.cluster.len() > 200 || !self.cluster.chars().all(is_name) {
            return wrong(format!(
                "cluster `{}` must have 1 to 200 letters, digits, dots, dashes or underscores",
                self.cluster
            ));
        }
        let seconds = |least, most| Duration::from_secs(least)..=Duration::from_secs(most);
        if !seconds(1, 60).contains(&self.append_timeout) || !seconds(1, 60).contains(&self.request_timeout) {
            return wrong("the timeouts must be 1 to 60 s".into());
        }
        if self.fetch_wait < Duration::from_millis(1) || self.fetch_wait > Duration::from_millis(500) {
            return wrong("the wait of a read must be 1 to 500 ms".into());
        }
        let least = MESSAGE_BYTES_MAX + 4096;
        if !(least..=1 << 30).contains(&self.unacknowledged_bytes_max) {
            return wrong(format!("unacknowledged bytes must be {least} to {}", 1 << 30));
        }
        if !(1..=16).contains(&self.connections) {
            return wrong("connections must be 1 to 16".into());
        }
        Ok(())
    }

    /// The topic of this cluster.
    #[must_use]
    pub fn topic(&self) -> String {
        topic_name(&self.cluster)
    }
}

/// The topic that holds the logs of a cluster: `stadium.CLUSTER.log`.
#[must_use]
pub fn topic_name(cluster: &str) -> String {
    format!("stadium.{cluster}.log")
}

/// How connections are encrypted.
#[derive(Clone, Debug)]
pub struct Tls {
    /// PEM file with the authorities that may sign a broker's certificate. The system's, if `None`.
    pub authorities: Option<PathBuf>,
    /// The certificate that the node shows, if the brokers ask for one.
    pub identity: Option<Identity>,
    /// Whether a broker's certificate must be for the name by which it is reached.
    pub server_name: ServerName,
}

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Identity {
    /// PEM file with the certificate, and those between it and an authority.
    pub certificate: PathBuf,
    /// PEM file with its private key, without a passphrase.
    pub key: PathBuf,
}

/// The strictness about the name in a broker's certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerName {
    /// It must be signed by an authority, and be for the broker's name or address.
    Checked,
    /// It must be signed by an authority. Only for authorities that sign nothing but brokers.
    Unchecked,
}

/// A user of the brokers, by SASL.
#[derive(Clone, Debug)]
pub struct Sasl {
    /// How the password is proved.
    pub mechanism: Mechanism,
    /// The user's name.
    pub user: String,
    /// The user's password.
    pub password: Secret,
}

/// A mechanism of SASL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mechanism {
    /// The password itself is sent. Only over TLS.
    Plain,
    /// SCRAM with SHA-256: both ends prove that they know the password.
    ScramSha256,
    /// SCRAM with SHA-512.
    ScramSha512,
}

impl Mechanism {
    /// Its name in the protocol.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Reads a file's first line.
    ///
    /// # Errors
    /// The file cannot be read, or its first line is empty.
    pub fn from_file(path: &Path) -> Result<Self, SettingsError> {
        let text = std::fs::read_to_string(path).map_err(|error| SettingsError::of_file(path, &error))?;
        match text.lines().next() {
            Some(line) if !line.is_empty() => Ok(Self(line.to_owned())),
            _ => Err(SettingsError::of_file(path, &"its first line is empty")),
        }
    }

    /// The text, for a client that sends or hashes it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// The settings cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsError {
    what: String,
}

impl SettingsError {
    /// A file with its cause.
    pub(crate) fn of_file(path: &Path, cause: &dyn fmt::Display) -> Self {
        Self::new(format!("cannot use {}: {cause}", path.display()))
    }

    /// Any other cause.
    pub(crate) fn new(what: String) -> Self {
        Self { what: failure::with_code(failure::SETTINGS, what) }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for SettingsError {}

#[cfg(test)]
mod tests {
    use super::{Mechanism, Sasl, Secret, Settings};

    fn settings() -> Settings {
        Settings::new(vec!["kafka-1:9092".into()], "main")
    }

    #[test]
    fn a_password_is_shown_to_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        std::fs::write(&file, "hunter2\nnot this\n").unwrap();
        let password = Secret::from_file(&file).unwrap();
        assert_eq!(password.reveal(), "hunter2");
        let sasl = Some(Sasl { mechanism: Mechanism::Plain, user: "stadium".into(), password });
        let shown = format!("{:?}", Settings { sasl, ..settings() });
        assert!(shown.contains("stadium") && !shown.contains("hunter2"), "{shown}");
        std::fs::write(&file, "\n").unwrap();
        assert!(Secret::from_file(&file).unwrap_err().to_string().contains("(KFK-001)"));
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        assert_eq!(settings().check(), Ok(()));
        type Spoil = fn(&mut Settings);
        let refused: &[(&str, Spoil)] = &[
            ("no broker", |settings| settings.bootstrap.clear()),
            ("`kafka-1` is not HOST:PORT", |settings| settings.bootstrap = vec!["kafka-1".into()]),
            ("`a:1,b:2` is not HOST:PORT", |settings| settings.bootstrap = vec!["a:1,b:2".into()]),
            ("cluster `a b`", |settings| settings.cluster = "a b".into()),
            ("timeouts", |settings| settings.append_timeout = std::time::Duration::from_millis(999)),
            ("wait of a read", |settings| settings.fetch_wait = std::time::Duration::ZERO),
            ("unacknowledged", |settings| settings.unacknowledged_bytes_max = 1 << 20),
            ("connections", |settings| settings.connections = 0),
        ];
        for (words, spoil) in refused {
            let mut settings = settings();
            spoil(&mut settings);
            let error = settings.check().unwrap_err().to_string();
            assert!(error.contains(words) && error.ends_with("(KFK-001)"), "{error}");
        }
    }
}
