//! Who shows nothing, and who shows what nobody asked for.

use stadium_edge::auth::*;

use crate::auth::fixture::{allowed, check, credentials, open, with_password};

#[test]
fn nobody_is_let_in_unless_configured() {
    let authenticator = open(AuthConfig::default());
    assert_eq!(check(&authenticator, credentials("d1")), Verdict::Deny(DenyReason::NoCredentials));
    let shown = with_password("anna", b"secret");
    assert_eq!(check(&authenticator, shown), Verdict::Deny(DenyReason::NoCredentials));
}

#[test]
fn anonymous_devices_are_let_in_only_without_credentials_or_in_the_trial_mode() {
    let without = AuthConfig { anonymous: AnonymousAccess::WithoutCredentials, ..AuthConfig::default() };
    let without = open(without);
    assert_eq!(allowed(check(&without, credentials("d1"))), Identity::anonymous());
    let wrong = check(&without, with_password("anna", b"secret"));
    assert_eq!(wrong, Verdict::Deny(DenyReason::NoCredentials));

    let trial = open(AuthConfig { anonymous: AnonymousAccess::Anyone, ..AuthConfig::default() });
    assert_eq!(allowed(check(&trial, with_password("anna", b"secret"))).via, Via::Anonymous);
}

#[test]
fn enhanced_authentication_is_refused_with_its_own_code() {
    let authenticator = open(AuthConfig { anonymous: AnonymousAccess::Anyone, ..AuthConfig::default() });
    let shown = Credentials { method: Some("SCRAM-SHA-256".to_owned()), ..credentials("d1") };
    let Verdict::Deny(reason) = check(&authenticator, shown) else { panic!("not denied") };
    assert_eq!((reason.answer().reason_code(), reason.answer().return_code_v3()), (0x8C, 5));
}
