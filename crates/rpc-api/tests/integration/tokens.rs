//! Callers with signed tokens: signed by whom, for whom, and the rights of their groups.
//!
//! Each token is signed for real; the wrong ones are wrong in one thing only.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stadium_grants::Role;
use stadium_http::key_store::NewKey;
use stadium_rpc_api::{Tokens, TokensConfig};
use stadium_token_keys::{KeyFetchConfig, KeySources};

use crate::fixture::{SOON, Scene, bearer, refused};
use crate::provider::{AUDIENCE, ISSUER, Provider, Signer, claims, claims_with, now, unsigned};

/// Longer than a test.
const ONCE: Duration = Duration::from_secs(3_600);

fn config(sources: KeySources) -> TokensConfig {
    TokensConfig {
        sources,
        issuer: ISSUER.to_owned(),
        audience: AUDIENCE.to_owned(),
        leeway: Duration::ZERO,
        groups_claim: "groups".to_owned(),
        roles: vec![
            ("workers".to_owned(), Role::Worker),
            ("backends".to_owned(), Role::Sender),
            ("ops".to_owned(), Role::Operator),
        ],
    }
}

/// A server that believes the tokens of a provider. Its keys are fetched once, and where one is
/// missing again after this time.
fn believing(provider: &Provider, again_min: Duration) -> Scene {
    let fetch = KeyFetchConfig { urls: vec![provider.url.clone()], again_min, ..KeyFetchConfig::default() };
    let tokens = Tokens::open(config(KeySources { fetch, ..KeySources::default() }));
    Scene::with(None, |keys| keys.with_tokens(tokens.expect("the settings are right")))
}

#[test]
fn tokens_of_both_algorithms_have_the_roles_of_their_groups() {
    let (es, rs) = (Signer::es256("es"), Signer::rs256("rs"));
    let scene = believing(&Provider::of(&[&es, &rs]), ONCE);
    let caller = scene.caller(None);
    for signer in [&es, &rs] {
        assert_eq!(caller.puts_soon(&signer.sign(&claims(&["workers", "others"]))), Ok(()));
        let sender = bearer(&signer.sign(&claims(&["backends"])));
        let reason = refused(caller.puts(&sender));
        assert!(reason.starts_with("principal token:ann of https://id.example.org: "), "{reason}");
        assert!(reason.contains("queue.put"), "{reason}");
        refused(caller.operates(&sender));
        let both = signer.sign(&claims_with(&[], "groups", json!("backends workers")));
        assert_eq!(caller.puts(&bearer(&both)), Ok(()));
    }
}

#[test]
fn a_token_that_is_wrong_in_one_thing_is_refused_and_never_quoted() {
    let signer = Signer::es256("k");
    let scene = believing(&Provider::of(&[&signer]), ONCE);
    let caller = scene.caller(None);
    let groups = &["workers"];
    assert_eq!(caller.puts_soon(&signer.sign(&claims(groups))), Ok(()));
    let with = |claim: &str, value: Value| signer.sign(&claims_with(groups, claim, value));
    let none = format!("{}.", unsigned(&json!({ "alg": "none", "kid": "k" }), &claims(groups)));
    let cases = [
        (with("exp", json!(now() - 1)), "has expired (exp)"),
        (with("exp", Value::Null), "has no end (exp)"),
        (with("nbf", json!(now() + 600)), "is not valid yet (nbf)"),
        (with("aud", json!("other")), "for another audience (aud)"),
        (with("aud", Value::Null), "for another audience (aud)"),
        (with("iss", json!("https://id.example.org/")), "of another issuer (iss)"),
        (with("sub", json!("")), "names no subject (sub)"),
        (with("groups", json!(["strangers"])), "none of its groups has a role"),
        (with("groups", Value::Null), "none of its groups has a role"),
        (with("groups", json!({ "workers": true })), "groups that is not a list"),
        (none, "is malformed, or is not signed"),
        (format!("{}A", with("jti", json!("1"))), "is malformed, or is not signed"),
        (with("long", json!("x".repeat(20_000))), "more than 16384 bytes"),
        (Signer::es256("k").sign(&claims(groups)), "is malformed, or is not signed"),
        // The key of this id is for another algorithm.
        (Signer::rs256("k").sign(&claims(groups)), "is malformed, or is not signed"),
        (Signer::es256("unknown").sign(&claims(groups)), "is malformed, or is not signed"),
    ];
    for (token, expected) in cases {
        let reason = refused(caller.puts_soon(&token));
        assert!(reason.contains(expected), "{expected}: {reason}");
        let mut parts = token.split('.').filter(|part| !part.is_empty());
        assert!(parts.all(|part| !reason.contains(part)), "the token is quoted: {reason}");
    }
    assert_eq!(caller.puts(&bearer(&signer.sign(&claims(groups)))), Ok(()));
}

#[test]
fn a_token_ends_in_a_connection_that_goes_on() {
    let signer = Signer::es256("k");
    let scene = believing(&Provider::of(&[&signer]), ONCE);
    let caller = scene.caller(None);
    assert_eq!(caller.puts_soon(&signer.sign(&claims(&["workers"]))), Ok(()));
    let short = bearer(&signer.sign(&claims_with(&["workers"], "exp", json!(now() + 2))));
    assert_eq!(caller.puts(&short), Ok(()));
    let end = Instant::now() + SOON;
    while caller.puts(&short).is_ok() {
        assert!(Instant::now() < end, "it is believed for ever");
    }
    assert!(refused(caller.puts(&short)).contains("has expired (exp)"));
}

#[test]
fn a_rotated_key_is_fetched_and_a_withdrawn_one_is_no_longer_believed() {
    let (old, new) = (Signer::es256("old"), Signer::rs256("new"));
    let provider = Provider::of(&[&old]);
    let scene = believing(&provider, Duration::ZERO);
    let caller = scene.caller(None);
    let by_old = old.sign(&claims(&["workers"]));
    assert_eq!(caller.puts_soon(&by_old), Ok(()));
    provider.publish(&[&new]);
    assert_eq!(caller.puts_soon(&new.sign(&claims(&["workers"]))), Ok(()), "it was fetched for the token");
    let end = Instant::now() + SOON;
    while caller.puts(&bearer(&by_old)).is_ok() {
        assert!(Instant::now() < end, "the old key was withdrawn");
    }
}

#[test]
fn keys_of_a_file_are_read_again() {
    let (old, new) = (Signer::es256("old"), Signer::es256("new"));
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("set.json");
    std::fs::write(&file, old.set()).expect("written");
    let tokens = Tokens::open(config(KeySources { key_sets: vec![file.clone()], ..KeySources::default() }));
    let scene = Scene::with(None, |keys| keys.with_tokens(tokens.expect("the settings are right")));
    let caller = scene.caller(None);
    let by_new = bearer(&new.sign(&claims(&["workers"])));
    assert_eq!(caller.puts(&bearer(&old.sign(&claims(&["workers"])))), Ok(()));
    refused(caller.puts(&by_new));
    std::fs::write(&file, "no set").expect("written");
    assert!(scene.principals.reload().is_err());
    assert_eq!(caller.puts(&bearer(&old.sign(&claims(&["workers"])))), Ok(()), "it stays in force");
    std::fs::write(&file, new.set()).expect("written");
    assert_eq!(scene.principals.reload(), Ok(()));
    assert_eq!(caller.puts(&by_new), Ok(()));
}

#[test]
fn keys_are_good_beside_tokens_and_without_either_nobody_calls() {
    let signer = Signer::es256("k");
    let scene = believing(&Provider::of(&[&signer]), ONCE);
    let caller = scene.caller(None);
    let worker = NewKey { name: "w".to_owned(), roles: vec![Role::Worker], ..NewKey::default() };
    let key = scene.keys.create(&worker).expect("made");
    assert_eq!(caller.puts(&bearer(&key.secret)), Ok(()));
    refused(caller.operates(&bearer(&key.secret)));
    assert!(refused(caller.puts(&bearer("sk_nobodys"))).contains("was never made here"));
    let needs = "queue/Put needs an API key or a signed token, sent as a bearer token";
    assert_eq!(refused(caller.puts(&[])), needs);

    let without = Scene::with(None, |keys| keys);
    let reason = refused(without.caller(None).puts(&bearer(&signer.sign(&claims(&["workers"])))));
    assert!(reason.contains("was never made here"), "{reason}");
}

#[test]
fn an_operators_token_operates_and_is_named_in_the_audit_log() {
    let signer = Signer::es256("k");
    let scene = believing(&Provider::of(&[&signer]), ONCE);
    let caller = scene.caller(None);
    assert!(caller.puts_soon(&signer.sign(&claims(&["ops"]))).is_err());
    let token = signer.sign(&claims_with(&["ops"], "name", json!("Ann B")));
    assert_eq!(caller.operates(&bearer(&token)), Ok(()));
    let log = scene.audit_log();
    for part in
        [r#""key":"token:ann of https://id.example.org""#, r#""name":"Ann B""#, r#""role":"operator""#]
    {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert!(!log.contains(&token));
}
