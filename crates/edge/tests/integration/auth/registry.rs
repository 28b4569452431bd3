//! The verdict of the registry of devices on a connection, and the verdicts that others may give
//! then.
//!
//! The registry is the test's own: it answers at once, or when the test lets it.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stadium_addresses::Limit;
use stadium_edge::auth::*;

use crate::auth::fixture::{Files, allowed, check, credentials, line, open, password_config, with_password};

/// Gives the same verdict on everybody, and remembers what it was asked.
#[derive(Debug)]
struct Book {
    says: Result<Standing, Duration>,
    asked: Mutex<Vec<Question>>,
}

impl DeviceRegistry for Book {
    fn ask(&self, question: Question, answer: Box<dyn FnOnce(Result<Standing, Duration>) + Send>) {
        self.asked.lock().expect("no panic").push(question);
        answer(self.says);
    }
}

fn saying(says: Result<Standing, Duration>) -> Arc<Book> {
    Arc::new(Book { says, asked: Mutex::default() })
}

fn introduced(config: AuthConfig, says: Standing) -> Authenticator {
    let authenticator = open(config);
    authenticator.introduce(saying(Ok(says)));
    authenticator
}

fn anonymous(anonymous: AnonymousAccess) -> AuthConfig {
    AuthConfig { anonymous, ..AuthConfig::default() }
}

#[test]
fn it_is_asked_about_the_device_that_the_client_id_names_and_gets_a_digest() {
    let book = saying(Ok(Standing::Proved));
    let authenticator = open(AuthConfig::default());
    authenticator.introduce(book.clone());
    for (client_id, app, device) in [("phone-1", "default", "phone-1"), ("shop/phone-1", "shop", "phone-1")] {
        let shown = Credentials { password: Some(b"abc".to_vec()), ..credentials(client_id) };
        let identity = allowed(check(&authenticator, shown));
        assert_eq!(
            (&*identity.principal, identity.via, identity.expires_at),
            (client_id, Via::Registry, None)
        );
        let asked = book.asked.lock().expect("no panic").pop().expect("it was asked");
        assert_eq!((asked.app.as_str(), asked.device.as_str()), (app, device));
        // FIPS 180-2, B.1.
        assert_eq!(asked.secret.map(|secret| (secret[0], secret[31])), Some((0xba, 0xad)));
    }
    // Names no device, so nobody but the other methods knows it.
    for client_id in ["", "a/b/c", "Shop/phone-1"] {
        let verdict = check(&authenticator, credentials(client_id));
        assert_eq!(verdict, Verdict::Deny(DenyReason::NoCredentials), "{client_id:?}");
    }
    assert!(book.asked.lock().expect("no panic").is_empty());
    let counts = authenticator.counts();
    assert!(counts.allowed.contains(&(Via::Registry, 2)) && counts.waiting == 0, "{counts:?}");
}

#[test]
fn what_it_says_and_who_is_let_in() {
    use AnonymousAccess::{Anyone, Refused, WithoutCredentials};
    use DenyReason::{BadSecret, NamedAsApp, NoCredentials, Revoked, RevokedNoSecret, RevokedWrongSecret};
    use Standing::{Proved, Unknown, Unproved};
    let (secret, nothing) = (true, false);
    let table = [
        // Proved its credential.
        (Refused, Proved, secret, Ok(Via::Registry)),
        (WithoutCredentials, Proved, secret, Ok(Via::Registry)),
        (Anyone, Proved, secret, Ok(Via::Registry)),
        // Has one, and showed another one or none.
        (Refused, Unproved, secret, Err(BadSecret)),
        (WithoutCredentials, Unproved, nothing, Err(NoCredentials)),
        (Anyone, Unproved, secret, Err(BadSecret)),
        (Anyone, Unproved, nothing, Err(NoCredentials)),
        // Has none: the next method decides.
        (Refused, Unknown, secret, Err(NoCredentials)),
        (WithoutCredentials, Unknown, nothing, Ok(Via::Anonymous)),
        (WithoutCredentials, Unknown, secret, Err(NoCredentials)),
        (Anyone, Unknown, secret, Ok(Via::Anonymous)),
        (Anyone, Unknown, nothing, Ok(Via::Anonymous)),
        // Is revoked: one that has not proved who it is does not hear it.
        (Refused, Standing::Revoked { proved: true }, secret, Err(Revoked)),
        (Refused, Standing::Revoked { proved: false }, secret, Err(RevokedWrongSecret)),
        (WithoutCredentials, Standing::Revoked { proved: false }, nothing, Err(RevokedNoSecret)),
        (Anyone, Standing::Revoked { proved: false }, nothing, Err(RevokedNoSecret)),
        // Has the name of an app.
        (Refused, Standing::NamedAsApp, secret, Err(NamedAsApp)),
        (Anyone, Standing::NamedAsApp, nothing, Err(NamedAsApp)),
    ];
    for (open_to, says, shown, expected) in table {
        let authenticator = introduced(anonymous(open_to), says);
        assert!(!authenticator.lets_anyone_in(), "a registry is to be asked");
        let shown = if shown { with_password("phone", b"secret") } else { credentials("phone") };
        let verdict = match check(&authenticator, shown) {
            Verdict::Allow(identity) => Ok(identity.via),
            Verdict::Deny(reason) => Err(reason),
            Verdict::Busy { .. } => panic!("nobody is busy"),
        };
        assert_eq!(verdict, expected, "{open_to:?}, {says:?}");
    }
    let answers =
        [(BadSecret, 0x86, 4), (RevokedWrongSecret, 0x86, 4), (RevokedNoSecret, 0x87, 5), (Revoked, 0x8A, 5)];
    for (reason, code, code_v3) in answers {
        assert_eq!((reason.answer().reason_code(), reason.answer().return_code_v3()), (code, code_v3));
    }
}

#[test]
fn a_revoked_device_stays_out_with_a_right_password_and_without_one() {
    let files = Files::new();
    let users = files.write("users", line("phone", b"secret", &[]));
    let authenticator = introduced(password_config(users.clone()), Standing::Unknown);
    let by_file = allowed(check(&authenticator, with_password("phone", b"secret")));
    assert_eq!(by_file.via, Via::Password, "a device without credential goes on to the password file");
    let revoked = introduced(password_config(users), Standing::Revoked { proved: false });
    for password in [&b"secret"[..], b"wrong"] {
        let verdict = check(&revoked, with_password("phone", password));
        assert_eq!(verdict, Verdict::Deny(DenyReason::RevokedWrongSecret));
    }
}

/// Has revoked `phone`, and knows no other device.
#[derive(Debug)]
struct OnlyPhoneIsRevoked;

impl DeviceRegistry for OnlyPhoneIsRevoked {
    fn ask(&self, question: Question, answer: Box<dyn FnOnce(Result<Standing, Duration>) + Send>) {
        let is_phone = question.device.as_str() == "phone";
        answer(Ok(if is_phone { Standing::Revoked { proved: false } } else { Standing::Unknown }));
    }
}

#[test]
fn a_revoked_device_stays_out_under_another_client_id() {
    let files = Files::new();
    let users =
        files.write("users", format!("{}\n{}", line("phone", b"secret", &[]), line("anna", b"secret", &[])));
    let mut config = password_config(users);
    if let Some(password) = &mut config.password {
        password.client_id = ClientIdBinding::Any;
    }
    let authenticator = open(config);
    authenticator.introduce(Arc::new(OnlyPhoneIsRevoked));
    let as_user = |user: &str, client_id: &str| Credentials {
        username: Some(user.to_owned()),
        password: Some(b"secret".to_vec()),
        ..credentials(client_id)
    };
    // Twice: the second pair is remembered and answered on the loop.
    for client_id in ["", "other", "other"] {
        let verdict = check(&authenticator, as_user("phone", client_id));
        assert_eq!(verdict, Verdict::Deny(DenyReason::Revoked), "{client_id:?}");
        let identity = allowed(check(&authenticator, as_user("anna", client_id)));
        assert_eq!(&*identity.principal, "anna");
    }
    assert_eq!(authenticator.counts().waiting, 0);
}

#[test]
fn a_device_with_a_credential_does_not_come_in_by_the_password_file_unless_that_is_asked_before() {
    let files = Files::new();
    let users = files.write("users", line("phone", b"secret", &[]));
    let usual = introduced(password_config(users.clone()), Standing::Unproved);
    let verdict = check(&usual, with_password("phone", b"secret"));
    assert_eq!(verdict, Verdict::Deny(DenyReason::BadSecret));
    let order = vec![Method::Password, Method::Registry];
    let file_first = introduced(AuthConfig { order, ..password_config(users) }, Standing::Unproved);
    assert_eq!(allowed(check(&file_first, with_password("phone", b"secret"))).via, Via::Password);
}

#[test]
fn a_registry_that_cannot_say_has_the_device_come_again() {
    let busy = Duration::from_millis(700);
    for open_to in [AnonymousAccess::Refused, AnonymousAccess::Anyone] {
        let authenticator = open(anonymous(open_to));
        authenticator.introduce(saying(Err(busy)));
        let verdict = check(&authenticator, credentials("phone"));
        assert_eq!(verdict, Verdict::Busy { retry_after: busy });
    }
}

#[test]
fn it_is_not_asked_where_it_is_off_or_not_there() {
    let off = AuthConfig { registry: RegistryAccess::Unasked, ..anonymous(AnonymousAccess::Anyone) };
    let authenticator = introduced(off, Standing::Revoked { proved: true });
    assert!(authenticator.lets_anyone_in());
    assert_eq!(allowed(check(&authenticator, credentials("phone"))).via, Via::Anonymous);
    assert!(open(anonymous(AnonymousAccess::Anyone)).lets_anyone_in(), "there is no registry");
}

/// Keeps its answers until the test wants them given.
#[derive(Debug)]
struct Slow(mpsc::Sender<Held>);

struct Held(Box<dyn FnOnce(Result<Standing, Duration>) + Send>);

impl DeviceRegistry for Slow {
    fn ask(&self, _: Question, answer: Box<dyn FnOnce(Result<Standing, Duration>) + Send>) {
        self.0.send(Held(answer)).expect("the test waits");
    }
}

#[test]
fn nobody_waits_for_a_slow_registry() {
    let (held, answers) = mpsc::channel();
    let authenticator = open(AuthConfig::default());
    authenticator.introduce(Arc::new(Slow(held)));
    let (verdict, verdicts) = mpsc::channel();
    let early = authenticator
        .check(with_password("phone", b"secret"), move |late| verdict.send(late).expect("the test waits"));
    assert_eq!(early, None);
    assert_eq!(authenticator.counts().waiting, 1);
    let Held(answer) = answers.try_recv().expect("it was asked at once");
    answer(Ok(Standing::Proved));
    let Ok(Late::GoOn(asked)) = verdicts.try_recv() else { panic!("it was answered") };
    let verdict = authenticator.go_on(*asked, |_| panic!("the verdict was early"));
    assert_eq!(allowed(verdict.expect("a verdict")).via, Via::Registry);
    assert_eq!(authenticator.counts().waiting, 0);
}

#[test]
fn guesses_at_a_secret_ban_their_address() {
    let failures = Limit { burst: 3, ..FAILURES };
    let config = AuthConfig { failures: Some(failures), ..AuthConfig::default() };
    let authenticator = introduced(config, Standing::Unproved);
    let verdicts: Vec<_> = (0..5).map(|_| check(&authenticator, with_password("phone", b"guess"))).collect();
    assert_eq!(verdicts[0], Verdict::Deny(DenyReason::BadSecret));
    assert_eq!(verdicts[4], Verdict::Deny(DenyReason::Banned));
    // Where everybody is let in, a device with a wrong secret bars nobody else behind its address.
    let config = AuthConfig { failures: Some(failures), ..anonymous(AnonymousAccess::Anyone) };
    let open_to_all = introduced(config, Standing::Unproved);
    for _ in 0..5 {
        let verdict = check(&open_to_all, with_password("phone", b"guess"));
        assert_eq!(verdict, Verdict::Deny(DenyReason::BadSecret));
    }
}
