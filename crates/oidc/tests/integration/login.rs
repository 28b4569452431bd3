//! Logins at a real provider, from the first redirect to the logout.
//!
//! A browser of the tests walks through the provider's own pages. The time that a rule waits for is
//! passed in.

use std::time::Duration;

use stadium_oidc::{
    Callback, Error, Identity, Now, PendingLogins, Provider, Refusal, ReturnPath, RoleMap, SessionConfig,
    Sessions, Settings,
};

use crate::browser::{Browser, Stop, parameter};
use crate::provider::{AFTER_LOGOUT, RealProvider, Setup};

/// This server, with the logins that it knows.
struct Party {
    provider: Provider,
    logins: PendingLogins,
}

impl Party {
    fn of(real: &RealProvider) -> Self {
        Self { provider: Provider::new(real.settings()).expect("settings"), logins: PendingLogins::default() }
    }

    /// A login as the routes of a server do it, seen from the browser.
    fn log_in(&self, browser: &mut Browser, person: &str, now: Now) -> Result<Identity, Error> {
        let path = ReturnPath::parse("/console/queues").expect("a path");
        let begun = self.provider.begin(path, now.instant)?;
        let cookie = self.logins.add(begun.pending, now.instant)?;
        let callback = Callback::parse(&browser.log_in(&begun.authorization_url, person))?;
        let login = self.logins.take(callback.state(), Some(cookie.expose()), now.instant)?;
        assert_eq!(login.return_to().as_str(), "/console/queues");
        self.provider.finish(&callback, &login, now)
    }
}

fn refusal(outcome: Result<Identity, Error>) -> Refusal {
    match outcome {
        Err(Error::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_person_logs_in_with_groups_in_the_id_token() {
    let real = RealProvider::start(Setup::default());
    let party = Party::of(&real);
    let ann = party.log_in(&mut Browser::new(None), "ann", Now::read()).expect("logged in");
    assert_eq!((ann.issuer.as_str(), ann.subject.as_str()), (real.issuer.as_str(), "ann"));
    assert_eq!((ann.name.as_deref(), ann.email.as_deref()), (Some("Ann Example"), Some("ann@example.org")));
    assert_eq!(ann.groups, ["ops", "/team/a b"]);
    let map = RoleMap::new([("ops", "admin"), ("dev", "read")]).expect("a map");
    assert_eq!(map.roles(&ann.groups).into_iter().collect::<Vec<_>>(), ["admin"]);

    let bob = party.log_in(&mut Browser::new(None), "bob", Now::read()).expect("logged in");
    assert!(bob.groups.is_empty() && map.roles(&bob.groups).is_empty());
    let hint = bob.id_token_hint.as_ref().expect("a hint");
    assert!(!format!("{bob:?}").contains(hint.expose()));
}

#[test]
fn groups_come_from_the_userinfo_endpoint_where_the_token_has_none() {
    let real = RealProvider::start(Setup { groups_in: "userinfo", ..Setup::default() });
    let ann = Party::of(&real).log_in(&mut Browser::new(None), "ann", Now::read()).expect("logged in");
    assert_eq!(ann.groups, ["ops", "/team/a b"]);
    assert_eq!((ann.name.as_deref(), ann.email.as_deref()), (Some("Ann Example"), Some("ann@example.org")));
}

#[test]
fn the_client_proves_itself_in_each_way_and_tokens_have_each_signature() {
    for (auth_method, algorithm) in
        [("client_secret_post", "PS256"), ("none", "ES256"), ("client_secret_basic", "EdDSA")]
    {
        let real = RealProvider::start(Setup { auth_method, algorithm, ..Setup::default() });
        let metadata = real.metadata();
        assert_eq!(metadata["token_endpoint_auth_methods_supported"][0], auth_method);
        let outcome = Party::of(&real).log_in(&mut Browser::new(None), "ann", Now::read());
        assert_eq!(outcome.expect(algorithm).groups, ["ops", "/team/a b"]);
    }
}

#[test]
fn a_provider_with_a_certificate_of_its_own_authority_is_reached() {
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let tls = Some((pair.signing_key.serialize_pem(), pair.cert.pem()));
    let real = RealProvider::start(Setup { tls, ..Setup::default() });
    let mut browser = Browser::new(real.settings().authorities.as_deref());
    let party = Party::of(&real);
    assert_eq!(party.log_in(&mut browser, "ann", Now::read()).expect("logged in").subject, "ann");

    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let settings = Settings { authorities: Some(other.cert.pem().into_bytes()), ..real.settings() };
    let outcome =
        Provider::new(settings).expect("settings").begin(ReturnPath::default(), Now::read().instant);
    assert!(matches!(outcome, Err(Error::Provider { .. })), "another authority did not sign it");
}

#[test]
fn a_code_is_of_one_login_and_one_use() {
    let real = RealProvider::start(Setup::default());
    let Party { provider, logins } = Party::of(&real);
    let now = Now::read();
    let begin = || {
        let begun = provider.begin(ReturnPath::default(), now.instant).expect("begun");
        (begun.authorization_url, logins.add(begun.pending, now.instant).expect("kept"))
    };
    // A code that somebody else got is put into the callback of a login of this browser.
    let (of_attacker, _) = begin();
    let (of_victim, cookie) = begin();
    let stolen = parameter(&Browser::new(None).log_in(&of_attacker, "bob"), "code").expect("a code");
    let state = parameter(&of_victim, "state").expect("a state");
    let injected =
        Callback::parse(&format!("code={stolen}&state={state}&iss={}", real.issuer)).expect("read");
    let login = logins.take(injected.state(), Some(cookie.expose()), now.instant).expect("taken");
    assert_eq!(
        refusal(provider.finish(&injected, &login, now)),
        Refusal::Code,
        "PKCE: the verifier is another"
    );

    let (url, cookie) = begin();
    let callback = Callback::parse(&Browser::new(None).log_in(&url, "ann")).expect("read");
    let login = logins.take(callback.state(), Some(cookie.expose()), now.instant).expect("taken");
    assert!(provider.finish(&callback, &login, now).is_ok());
    assert_eq!(refusal(provider.finish(&callback, &login, now)), Refusal::Code, "it was used");
    let replayed = logins.take(callback.state(), Some(cookie.expose()), now.instant).err();
    assert_eq!(replayed, Some(Refusal::UnknownState));

    let (url, cookie) = begin();
    let query = Browser::new(None).log_in(&url, "ann");
    let at = query.find("&iss=").expect("RFC 9207");
    let without = Callback::parse(&query[..at]).expect("read");
    let elsewhere = format!("{}&iss=https://evil.example.org", &query[..at]);
    let elsewhere = Callback::parse(&elsewhere).expect("read");
    let login = logins.take(without.state(), Some(cookie.expose()), now.instant).expect("taken");
    for callback in [without, elsewhere] {
        assert_eq!(refusal(provider.finish(&callback, &login, now)), Refusal::OtherIssuer);
    }
}

#[test]
fn a_person_who_aborts_is_told_apart_from_a_fault() {
    let real = RealProvider::start(Setup::default());
    let Party { provider, logins } = Party::of(&real);
    let now = Now::read();
    let begun = provider.begin(ReturnPath::default(), now.instant).expect("begun");
    let cookie = logins.add(begun.pending, now.instant).expect("kept");
    let mut browser = Browser::new(None);
    let Stop::Page(page) = browser.open(&begun.authorization_url) else { panic!("no login page") };
    let abort = page.split('"').find(|text| text.ends_with("/abort")).expect("a link");
    let Stop::Left(url) = browser.open(abort) else { panic!("a page") };
    let callback = Callback::parse(&crate::browser::query_of_callback(&url)).expect("read");
    let login = logins.take(callback.state(), Some(cookie.expose()), now.instant).expect("taken");
    let refused = refusal(provider.finish(&callback, &login, now));
    assert_eq!(refused, Refusal::Denied("access_denied".to_owned()));
}

#[test]
fn clocks_that_differ_too_much_refuse_the_login() {
    let real = RealProvider::start(Setup::default());
    let party = Party::of(&real);
    let now = Now::read();
    for time in [now.time + Duration::from_secs(3_600 + 120), now.time - Duration::from_secs(120)] {
        let outcome = party.log_in(&mut Browser::new(None), "ann", Now { time, ..now });
        let Refusal::Token(problem) = refusal(outcome) else { panic!("not the token") };
        assert!(problem.contains("(exp)") || problem.contains("(iat)"), "{problem}");
    }
}

#[test]
fn rotated_keys_are_fetched_by_the_login_that_needs_them() {
    let real = RealProvider::start(Setup::default());
    let party = Party::of(&real);
    let now = Now::read();
    let browser = || Browser::new(None);
    assert!(party.log_in(&mut browser(), "ann", now).is_ok());
    real.rotate_keys();
    let early = refusal(party.log_in(&mut browser(), "ann", now));
    assert!(matches!(early, Refusal::Token(problem) if problem.contains("does not publish")), "{early}");
    let later = Now { instant: now.instant + Duration::from_secs(30), time: now.time };
    assert_eq!(party.log_in(&mut browser(), "ann", later).expect("fetched").subject, "ann");
}

#[test]
fn a_provider_that_is_down_is_reported_and_found_again() {
    let real = RealProvider::start(Setup::default());
    let (down, settings) = (Party::of(&real), real.settings());
    let known = Party::of(&real);
    let mut browser = Browser::new(None);
    let now = Now::read();
    assert!(known.log_in(&mut browser, "ann", now).is_ok());
    let begun = known.provider.begin(ReturnPath::default(), now.instant).expect("begun");
    let cookie = known.logins.add(begun.pending, now.instant).expect("kept");
    let query = browser.log_in(&begun.authorization_url, "ann");
    let callback = Callback::parse(&query).expect("read");
    let restart = real.stop();

    let problem = |outcome: Result<(), Error>| match outcome {
        Err(error @ Error::Provider { .. }) => error.to_string(),
        other => panic!("not the provider: {other:?}"),
    };
    let shown = problem(down.provider.begin(ReturnPath::default(), now.instant).map(drop));
    assert!(shown.contains(&settings.issuer), "{shown}");
    let login = known.logins.take(callback.state(), Some(cookie.expose()), now.instant).expect("taken");
    let shown = problem(known.provider.finish(&callback, &login, now).map(drop));
    assert!(shown.contains("token endpoint"), "{shown}");
    let code = parameter(&query, "code").expect("a code");
    assert!(!shown.contains(&code), "{shown}");

    let real = restart();
    let at_once = problem(down.provider.begin(ReturnPath::default(), now.instant).map(drop));
    assert!(
        at_once.contains(&settings.issuer),
        "a provider that failed is left alone for a while: {at_once}"
    );
    let later = Now { instant: now.instant + Duration::from_secs(60), time: now.time };
    assert_eq!(down.log_in(&mut Browser::new(None), "ann", later).expect("found again").issuer, real.issuer);
}

#[test]
fn a_logout_ends_the_session_here_and_there() {
    let real = RealProvider::start(Setup::default());
    let party = Party::of(&real);
    assert_eq!(party.provider.logout_url(None), None, "nothing is known of the provider");
    let mut browser = Browser::new(None);
    let now = Now::read();
    let ann = party.log_in(&mut browser, "ann", now).expect("logged in");
    let sessions = Sessions::new(SessionConfig::default()).expect("sessions");
    let begun = sessions.begin(ann, "admin", now).expect("begun");
    assert!(sessions.find(begun.cookie.expose(), now.instant).is_some());

    // The provider knows the browser: it asks for nothing.
    let again = party.provider.begin(ReturnPath::default(), now.instant).expect("begun");
    assert!(matches!(browser.open(&again.authorization_url), Stop::Left(_)));

    let ended = sessions.end(begun.cookie.expose()).expect("a session");
    assert!(sessions.find(begun.cookie.expose(), now.instant).is_none());
    let url = party.provider.logout_url(ended.identity().id_token_hint.as_ref()).expect("a logout");
    let Stop::Page(page) = browser.open(&url) else { panic!("no question") };
    assert_eq!(browser.submit(&page, &[("logout", "yes")]), Stop::Left(AFTER_LOGOUT.to_owned()));
    assert!(matches!(browser.open(&again.authorization_url), Stop::Page(page) if page.contains("password")));
}
