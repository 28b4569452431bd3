//! TLS and SASL, with what is right and what is wrong, against a broker with such listeners.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use stadium_journal_kafka::{
    Client, Error, Identity, Mechanism, Replication, Sasl, Secret, ServerName, Settings, Tls, make_or_check,
    open,
};
use stadium_journal_log::partition::Event;
use stadium_testing::certificates::Authority;
use stadium_testing::kafka::{Kafka, Listener, PASSWORD, STRANGER, USER};

use crate::stage::Player;

struct Secured {
    kafka: Kafka,
    authority: Authority,
    folder: tempfile::TempDir,
}

static SECURED: LazyLock<Secured> = LazyLock::new(|| {
    let authority = Authority::new().expect("an authority");
    let kafka = Kafka::secure(&authority).expect("a broker starts");
    Secured { kafka, authority, folder: tempfile::tempdir().expect("a folder") }
});

impl Secured {
    fn settings(&self, listener: Listener, cluster: &str) -> Settings {
        let timeout = Duration::from_secs(2);
        Settings {
            append_timeout: timeout,
            request_timeout: timeout,
            ..Settings::new(self.kafka.bootstrap(listener), cluster)
        }
    }

    fn tls(&self, server_name: ServerName, name: Option<&str>) -> Tls {
        let identity = name.map(|name| {
            let identity = self.authority.device(name).expect("a certificate");
            Identity { certificate: identity.certificate, key: identity.key }
        });
        Tls { authorities: Some(self.authority.file()), identity, server_name }
    }

    fn sasl(&self, mechanism: Mechanism, user: &str, password: &str) -> Sasl {
        let file: PathBuf = self.folder.path().join(format!("{}-{}", user, password.len()));
        std::fs::write(&file, password).expect("written");
        Sasl { mechanism, user: user.to_owned(), password: Secret::from_file(&file).expect("a password") }
    }
}

/// Makes the topic, appends and reads by both clients. Returns the warnings.
fn works(settings: &Settings) -> Vec<String> {
    let checked = make_or_check(settings, 1, Replication::One).expect("a topic");
    for client in Client::ALL {
        let topic = open(*client, settings, 1).expect("opened");
        let mut player = Player::new(&topic, 0);
        let offset = player.appended(b"encrypted or not");
        assert_eq!(player.messages(offset, 1)[0].1, "encrypted or not");
        assert_eq!(player.ends(), (0, offset + 1));
    }
    checked.warnings
}

/// The check is refused with this code, and both clients' appends fail in time.
fn is_refused(settings: &Settings, code: &str) {
    match make_or_check(settings, 1, Replication::One) {
        Err(Error::Failed(failure)) => {
            assert!(failure.what.contains(code), "{code} was to be refused: {failure}");
            assert!(!failure.is_temporary && !failure.what.contains(PASSWORD), "{failure}");
        }
        other => panic!("{code} was to be refused: {other:?}"),
    }
    for client in Client::ALL {
        let topic = open(*client, settings, 1).expect("opened");
        let mut player = Player::new(&topic, 0);
        player.append(1, b"never");
        match player.outcome() {
            Event::NotAppended { failure, .. } => {
                println!("{client:?}: {failure}");
                assert!(!failure.what.contains(PASSWORD), "{failure}");
            }
            other => panic!("{client:?}: {other:?}"),
        }
    }
}

#[test]
fn tls_with_a_certificate_of_the_nodes_own_works() {
    let mut settings = SECURED.settings(Listener::Tls, "mutual");
    settings.tls = Some(SECURED.tls(ServerName::Unchecked, Some("stadium")));
    assert_eq!(works(&settings), [""; 0]);
}

#[test]
fn tls_with_something_wrong_is_refused() {
    let mut settings = SECURED.settings(Listener::Tls, "mutual-wrong");
    settings.tls = Some(SECURED.tls(ServerName::Checked, Some("stadium")));
    is_refused(&settings, "(KFK-003)");
    settings.tls = Some(SECURED.tls(ServerName::Unchecked, None));
    is_refused(&settings, "(KFK-003)");
    let others = Authority::new().expect("an authority");
    let tls = SECURED.tls(ServerName::Unchecked, Some("stadium"));
    settings.tls = Some(Tls { authorities: Some(others.file()), ..tls });
    is_refused(&settings, "(KFK-003)");
    // A certificate that the broker takes, of somebody who may do nothing.
    settings.tls = Some(SECURED.tls(ServerName::Unchecked, Some("mallory")));
    is_refused(&settings, "(KFK-005)");
    // A file that is none.
    let nothing = SECURED.folder.path().join("nothing.pem");
    settings.tls = Some(Tls { authorities: Some(nothing), identity: None, server_name: ServerName::Checked });
    for client in Client::ALL {
        let error = open(*client, &settings, 1).err().expect("there is no such file").to_string();
        assert!(error.contains("nothing.pem") && error.ends_with("(KFK-001)"), "{error}");
    }
}

#[test]
fn each_mechanism_works_with_the_right_password() {
    for mechanism in [Mechanism::Plain, Mechanism::ScramSha256, Mechanism::ScramSha512] {
        for listener in [Listener::Sasl, Listener::SaslTls] {
            let mut settings = SECURED.settings(listener, "users");
            settings.sasl = Some(SECURED.sasl(mechanism, USER, PASSWORD));
            if listener == Listener::SaslTls {
                settings.tls = Some(SECURED.tls(ServerName::Checked, None));
            }
            let is_readable = mechanism == Mechanism::Plain && listener == Listener::Sasl;
            let warns = works(&settings).iter().any(|warning| warning.contains("can read the password"));
            assert_eq!(warns, is_readable, "{mechanism:?} {listener:?}");
        }
    }
}

#[test]
fn wrong_passwords_and_strangers_are_refused() {
    let mut settings = SECURED.settings(Listener::SaslTls, "users-wrong");
    settings.tls = Some(SECURED.tls(ServerName::Checked, None));
    for mechanism in [Mechanism::Plain, Mechanism::ScramSha512] {
        settings.sasl = Some(SECURED.sasl(mechanism, USER, "matinee"));
        is_refused(&settings, "(KFK-004)");
    }
    settings.sasl = Some(SECURED.sasl(Mechanism::ScramSha256, "nobody", PASSWORD));
    is_refused(&settings, "(KFK-004)");
    settings.sasl = Some(SECURED.sasl(Mechanism::ScramSha256, STRANGER, PASSWORD));
    is_refused(&settings, "(KFK-005)");
}
