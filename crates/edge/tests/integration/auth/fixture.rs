//! What all these tests stand on: credentials, verdicts in time, files.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use stadium_edge::auth::*;

pub const DEADLINE: Duration = Duration::from_secs(20);

pub fn credentials(client_id: &str) -> Credentials {
    Credentials {
        client_id: client_id.to_owned(),
        username: None,
        password: None,
        certificate: None,
        peer: SocketAddr::from(([192, 0, 2, 1], 40_000)),
        method: None,
    }
}

pub fn with_password(user: &str, password: &[u8]) -> Credentials {
    Credentials { username: Some(user.to_owned()), password: Some(password.to_vec()), ..credentials(user) }
}

/// The verdict, early or late.
pub fn check(authenticator: &Authenticator, credentials: Credentials) -> Verdict {
    let (answer, late) = mpsc::channel();
    let sender = |answer: mpsc::Sender<Late>| move |late| answer.send(late).expect("the test waits");
    let mut early = authenticator.check(credentials, sender(answer.clone()));
    loop {
        if let Some(verdict) = early {
            return verdict;
        }
        match late.recv_timeout(DEADLINE).expect("a verdict in time") {
            Late::Verdict(verdict) => return verdict,
            Late::GoOn(asked) => early = authenticator.go_on(*asked, sender(answer.clone())),
        }
    }
}

pub fn allowed(verdict: Verdict) -> Identity {
    match verdict {
        Verdict::Allow(identity) => identity,
        other => panic!("not allowed: {other:?}"),
    }
}

pub fn open(config: AuthConfig) -> Authenticator {
    Authenticator::open(&config).expect("a configuration that can be used")
}

/// A folder with the files of one test.
pub struct Files(tempfile::TempDir);

impl Files {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).expect("written");
        path
    }
}

pub fn password_config(file: PathBuf) -> AuthConfig {
    AuthConfig { password: Some(PasswordConfig::new(file)), ..AuthConfig::default() }
}

pub fn line(user: &str, password: &[u8], groups: &[&str]) -> String {
    password_line(user, password, groups).expect("a line")
}
