//! Names and passwords from a file.
//!
//! Argon2 runs for real, on the pool that production has.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use stadium_addresses::Limit;
use stadium_edge::auth::*;

use crate::auth::fixture::{
    DEADLINE, Files, allowed, check, credentials, line, open, password_config, with_password,
};

#[test]
fn a_password_is_checked_against_its_hash() {
    let files = Files::new();
    let users =
        format!("# users\n\n{}\n{}\n", line("anna", b"secret", &["staff"]), line("bert", b"other", &[]));
    let authenticator = open(password_config(files.write("users", users)));

    let anna = allowed(check(&authenticator, with_password("anna", b"secret")));
    assert_eq!((&*anna.principal, anna.via, &*anna.groups[0]), ("anna", Via::Password, "staff"));
    for (user, password) in [("anna", "other"), ("bert", "secret"), ("carl", "secret"), ("anna", "")] {
        let verdict = check(&authenticator, with_password(user, password.as_bytes()));
        assert_eq!(verdict, Verdict::Deny(DenyReason::BadPassword), "{user} {password}");
    }
    let nothing = check(&authenticator, credentials("anna"));
    assert_eq!(nothing, Verdict::Deny(DenyReason::NoCredentials));
    let counts = authenticator.counts();
    assert!(counts.denied.contains(&(DenyReason::BadPassword, 4)), "{counts:?}");
    assert!(counts.allowed.contains(&(Via::Password, 1)), "{counts:?}");
}

#[test]
fn an_unknown_name_is_refused_late_like_a_wrong_password() {
    let files = Files::new();
    let authenticator = open(password_config(files.write("users", line("anna", b"secret", &[]))));
    for user in ["anna", "nobody"] {
        let (answer, verdicts) = mpsc::channel();
        let early = authenticator
            .check(with_password(user, b"wrong"), move |late| answer.send(late).expect("the test waits"));
        assert_eq!(early, None, "{user} was answered without the time of a hash");
        let late = verdicts.recv_timeout(DEADLINE).expect("a verdict in time");
        assert!(matches!(late, Late::Verdict(Verdict::Deny(DenyReason::BadPassword))), "{late:?}");
    }
}

#[test]
fn a_pair_that_was_right_is_remembered_until_the_file_changes_it() {
    let files = Files::new();
    let path = files.write("users", line("anna", b"secret", &[]));
    let authenticator = open(password_config(path));
    let never = |_| panic!("the verdict was early");
    allowed(check(&authenticator, with_password("anna", b"secret")));
    let again = authenticator.check(with_password("anna", b"secret"), never);
    allowed(again.expect("an immediate verdict"));
    assert_eq!(authenticator.counts().remembered, 1);

    files.write("users", line("anna", b"new secret", &[]));
    authenticator.reload().expect("the file is good");
    let old = check(&authenticator, with_password("anna", b"secret"));
    assert_eq!(old, Verdict::Deny(DenyReason::BadPassword));
    allowed(check(&authenticator, with_password("anna", b"new secret")));
}

#[test]
fn a_changed_password_file_is_noticed_without_being_asked() {
    let files = Files::new();
    let path = files.write("users", line("anna", b"secret", &[]));
    let config = AuthConfig { failures: None, ..password_config(path) };
    let authenticator = open(config);
    let deny = Verdict::Deny(DenyReason::BadPassword);
    assert_eq!(check(&authenticator, with_password("bert", b"other")), deny);
    files.write("users", line("bert", b"other", &[]));
    let end = Instant::now() + DEADLINE;
    while check(&authenticator, with_password("bert", b"other")) == deny {
        assert!(Instant::now() < end, "the new file was never read");
    }
    assert_eq!(check(&authenticator, with_password("anna", b"secret")), deny);
}

#[test]
fn a_bad_password_file_is_refused_and_the_one_in_force_stays() {
    let files = Files::new();
    let good = line("anna", b"secret", &[]);
    let path = files.write("users", &good);
    let authenticator = open(password_config(path.clone()));
    files.write("users", format!("{good}\nbert:secret\n"));
    let error = authenticator.reload().expect_err("a bad line");
    assert!(error.to_string().contains("line 2") && error.code() == "AUTH-002", "{error}");
    allowed(check(&authenticator, with_password("anna", b"secret")));
    assert!(Authenticator::open(&password_config(path)).is_err());
    files.write("users", format!("{good}\n{good}\n"));
    assert!(authenticator.reload().expect_err("twice").to_string().contains("twice"));
}

#[test]
fn an_identity_may_use_its_own_client_identifier_only() {
    let files = Files::new();
    let path = files.write("users", line("anna", b"secret", &[]));
    let authenticator = open(password_config(path.clone()));
    let other = Credentials { client_id: "bert".to_owned(), ..with_password("anna", b"secret") };
    assert_eq!(check(&authenticator, other.clone()), Verdict::Deny(DenyReason::ClientId));
    let assigned = Credentials { client_id: String::new(), ..with_password("anna", b"secret") };
    allowed(check(&authenticator, assigned));

    let any = PasswordConfig { client_id: ClientIdBinding::Any, ..PasswordConfig::new(path) };
    let authenticator = open(AuthConfig { password: Some(any), ..AuthConfig::default() });
    allowed(check(&authenticator, other));
}

#[test]
fn more_devices_than_the_queue_holds_are_asked_to_reconnect_later() {
    let files = Files::new();
    let path = files.write("users", line("anna", b"secret", &[]));
    let password =
        PasswordConfig { threads: 1, queue_max: 2, remember: Duration::ZERO, ..PasswordConfig::new(path) };
    let authenticator = open(AuthConfig { password: Some(password), ..AuthConfig::default() });
    let (answer, verdicts) = mpsc::channel();
    let mut busy = 0;
    for _ in 0..20 {
        let answer = answer.clone();
        let shown = with_password("anna", b"secret");
        match authenticator.check(shown, move |late| answer.send(late).expect("the test waits")) {
            None => {}
            Some(Verdict::Busy { retry_after }) => {
                assert!(retry_after >= Duration::from_secs(1));
                busy += 1;
            }
            Some(other) => panic!("{other:?}"),
        }
    }
    drop(answer);
    assert!(busy >= 1, "the queue took them all");
    let late: Vec<_> = verdicts.iter().collect();
    assert_eq!(late.len() + busy, 20, "every device gets exactly one verdict");
    assert!(late.iter().all(|late| matches!(late, Late::Verdict(Verdict::Allow(_)))));
    assert_eq!(authenticator.counts().busy, busy as u64);
}

#[test]
fn an_address_that_guesses_is_banned_and_others_are_not() {
    let files = Files::new();
    let limit = Limit { burst: 3, refill: Duration::from_secs(60), ban: Duration::from_secs(60) };
    let users = files.write("users", line("anna", b"secret", &[]));
    let authenticator = open(AuthConfig { failures: Some(limit), ..password_config(users) });
    for _ in 0..4 {
        check(&authenticator, with_password("anna", b"guess"));
    }
    let right = with_password("anna", b"secret");
    let Verdict::Deny(reason) = check(&authenticator, right.clone()) else { panic!("not denied") };
    assert_eq!((reason, reason.answer().reason_code()), (DenyReason::Banned, 0x8A));
    allowed(check(&authenticator, Credentials { peer: SocketAddr::from(([192, 0, 2, 2], 1)), ..right }));
    assert_eq!(authenticator.counts().bans, 1);
}

#[test]
fn checks_that_wait_when_their_address_is_banned_compute_no_hash() {
    let files = Files::new();
    let limit = Limit { burst: 3, refill: Duration::from_secs(60), ban: Duration::from_secs(60) };
    let path = files.write("users", line("anna", b"secret", &[]));
    let password = PasswordConfig { threads: 1, queue_max: 100, ..PasswordConfig::new(path) };
    let config = AuthConfig { failures: Some(limit), password: Some(password), ..AuthConfig::default() };
    let authenticator = open(config);
    let (answer, verdicts) = mpsc::channel();
    for _ in 0..50 {
        let answer = answer.clone();
        let shown = with_password("anna", b"guess");
        let early = authenticator.check(shown, move |late| answer.send(late).expect("the test waits"));
        // An early one was found banned before it had to wait.
        assert!(matches!(early, None | Some(Verdict::Deny(DenyReason::Banned))), "{early:?}");
    }
    drop(answer);
    let is = |late: &Late, reason| matches!(late, Late::Verdict(Verdict::Deny(found)) if *found == reason);
    let late: Vec<_> = verdicts.iter().collect();
    assert_eq!(late.iter().filter(|late| is(late, DenyReason::BadPassword)).count(), 4, "{late:?}");
    assert!(late[4..].iter().all(|late| is(late, DenyReason::Banned)), "{late:?}");
}

#[test]
fn secrets_are_not_printed() {
    let text = format!("{:?}", with_password("anna", b"secret-4711"));
    assert!(text.contains("anna") && !text.contains("4711") && !text.contains("115, 101"), "{text}");
}
