//! People sign in at a real OpenID provider, work with a session's cookie, and sign out.
//!
//! The provider is the npm package `oidc-provider`. It must know a server's port before the server
//! is bound.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use serde_json::{Value, json};
use stadium_grants::Role;
use stadium_http::{Config, OidcConfig};

use crate::browser::{Browser as Chromium, Look};
use crate::provider::{AFTER_LOGOUT, CLIENT_SECRET, RealProvider, Setup};
use crate::support::{Answer, Fixture, eventually};
use crate::walk::Browser;

/// A server with its provider. `ann` is in the groups `ops` and `/team/a b`, `bob` in none.
pub struct Scene {
    pub fixture: Fixture,
    provider: RealProvider,
    _secret: tempfile::NamedTempFile,
}

impl Scene {
    pub fn with(roles: &[(&str, Role)], change: impl FnOnce(&mut Config)) -> Self {
        let free = free_address();
        let redirect_url = format!("http://{free}/auth/callback");
        let setup = Setup { redirect_url: redirect_url.clone(), ..Setup::default() };
        let provider = RealProvider::start(setup);
        let secret = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(secret.path(), format!("{CLIENT_SECRET}\n")).expect("it is written");
        let oidc = OidcConfig {
            issuer: provider.issuer.clone(),
            client_id: "stadium".to_owned(),
            client_secret_file: Some(secret.path().to_owned()),
            redirect_url,
            post_logout_redirect_url: Some(AFTER_LOGOUT.to_owned()),
            scopes: None,
            groups_claim: "groups".to_owned(),
            ca: None,
            roles: roles.iter().map(|(group, role)| ((*group).to_owned(), *role)).collect(),
            session: Duration::from_secs(3_600),
            idle: Duration::from_secs(600),
        };
        let fixture = Fixture::with(
            |config| {
                config.listen = free;
                config.oidc = Some(oidc);
                change(config);
            },
            None,
        );
        Self { fixture: fixture.and_queues(), provider, _secret: secret }
    }

    fn of(roles: &[(&str, Role)]) -> Self {
        Self::with(roles, |_| {})
    }

    /// A browser without any cookie.
    fn person(&self) -> Person<'_> {
        Person { scene: self, provider: Browser::new(None), cookies: BTreeMap::new() }
    }

    fn audit(&self) -> Vec<Value> {
        let entries = self.fixture.get("/api/audit?limit=100").json();
        entries["entries"].as_array().unwrap_or_else(|| panic!("{entries}")).clone()
    }
}

/// An address that nothing listens at. Its port is below those that the system gives away itself.
fn free_address() -> SocketAddr {
    let mut tried =
        std::iter::repeat_with(|| SocketAddr::from(([127, 0, 0, 1], fastrand::u16(20_000..32_000))));
    tried.find(|address| TcpListener::bind(address).is_ok()).expect("it goes on until one is free")
}

/// A person's browser.
struct Person<'s> {
    scene: &'s Scene,
    provider: Browser,
    cookies: BTreeMap<String, String>,
}

impl Person<'_> {
    fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Answer {
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let cookies = cookies.join("; ");
        let mut all = vec![("cookie", cookies.as_str())];
        if body.is_some() {
            all.push(("content-type", "application/json"));
        }
        all.extend(headers);
        let answer = self.scene.fixture.ask(method, path, &all, body);
        for set in answer.headers("set-cookie") {
            let (pair, attributes) = set.split_once(';').expect("attributes");
            assert!(attributes.contains("HttpOnly") && attributes.contains("SameSite=Lax"), "{set}");
            let (name, value) = pair.split_once('=').expect("a cookie");
            match value.is_empty() {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        answer
    }

    fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, &[], None)
    }

    /// Begins at the server, walks through the provider's pages, and comes back.
    fn sign_in(&mut self, name: &str, to: &str) -> Answer {
        let path = self.callback(name, to);
        self.get(&path)
    }

    /// The same up to the way back, which is returned.
    fn callback(&mut self, name: &str, to: &str) -> String {
        let begun = self.get(&format!("/auth/login?to={to}"));
        assert_eq!(begun.status, 303, "{}", begun.text);
        assert_eq!(begun.header("cache-control"), Some("no-store"));
        let url = begun.header("location").expect("a redirect");
        let back = self.provider.walk_back(url, name);
        back.strip_prefix(&self.scene.fixture.url("")).unwrap_or_else(|| panic!("{back}")).to_owned()
    }

    fn session(&mut self) -> Value {
        self.get("/auth/session").json()
    }

    fn token(&mut self) -> String {
        self.session()["signed_in"]["csrf"].as_str().expect("signed in").to_owned()
    }

    /// Declares an app, with these headers.
    fn declare(&mut self, headers: &[(&str, &str)]) -> Answer {
        self.ask("PUT", "/api/apps/shop", headers, Some("{}"))
    }
}

#[test]
fn a_viewer_reads_and_changes_nothing() {
    let scene = Scene::of(&[("ops", Role::Viewer)]);
    let mut ann = scene.person();
    assert_eq!(ann.session(), json!({"offered": true, "signed_in": null}));
    ann.get("/api/devices").problem(401, "HTTP-001");
    let back = ann.sign_in("ann", "/queues?state=dead%26x");
    assert_eq!((back.status, back.header("location")), (303, Some("/queues?state=dead&x")), "{}", back.text);
    assert_eq!(ann.cookies.keys().collect::<Vec<_>>(), ["stadium-session"], "the login's cookie is gone");
    let mut session = ann.session();
    let token = session["signed_in"]["csrf"].take();
    assert_eq!(
        session["signed_in"],
        json!({"name": "Ann Example", "email": "ann@example.org", "roles": ["viewer"], "csrf": null})
    );
    assert_eq!(ann.get("/api/devices").status, 200);
    let refused = ann.declare(&[("stadium-csrf", token.as_str().expect("a token"))]);
    let problem = refused.problem(403, "HTTP-003");
    assert!(problem["detail"].as_str().expect("a detail").starts_with("Ann Example: "), "{problem}");
    ann.get("/api/keys").problem(403, "HTTP-003");
}

#[test]
fn an_operator_changes_with_the_token_from_a_page_of_this_server() {
    let origins = ["https://ops.example.org".to_owned()];
    let scene = Scene::with(&[("/team/a b", Role::Operator)], |config| {
        config.allowed_origins = origins.to_vec();
    });
    let mut ann = scene.person();
    assert_eq!(ann.sign_in("ann", "/").status, 303);
    let token = ann.token();
    ann.declare(&[]).problem(403, "HTTP-033");
    ann.declare(&[("stadium-csrf", "x")]).problem(403, "HTTP-033");
    let mut bob = scene.person();
    bob.declare(&[("stadium-csrf", &token)]).problem(401, "HTTP-001");
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1"] {
        ann.declare(&[("stadium-csrf", &token), ("origin", origin)]).problem(403, "HTTP-033");
    }
    let own = scene.fixture.url("");
    for origin in [own.as_str(), origins[0].as_str()] {
        let declared = ann.declare(&[("stadium-csrf", &token), ("origin", origin)]);
        assert!(declared.status < 300, "{}", declared.text);
    }
    assert!(ann.declare(&[("stadium-csrf", &token)]).status < 300);

    let entries = scene.audit();
    let changes: Vec<_> = entries.iter().filter(|entry| entry["route"] == "PUT /api/apps/{app}").collect();
    assert_eq!(changes.len(), 8, "{entries:?}");
    for change in &changes {
        assert_eq!((&change["key"], &change["role"]), (&json!("oidc:ann"), &json!("operator")), "{change}");
    }
    assert_eq!(changes.iter().filter(|change| change["code"] == "HTTP-033").count(), 5);
}

#[test]
fn an_api_key_goes_before_the_cookie() {
    let scene = Scene::of(&[("ops", Role::Viewer)]);
    let mut ann = scene.person();
    assert_eq!(ann.sign_in("ann", "/").status, 303);
    let key = format!("Bearer {}", scene.fixture.admin);
    let declared = ann.declare(&[("authorization", &key)]);
    assert!(declared.status < 300, "a key needs no token: {}", declared.text);
    ann.ask("GET", "/api/devices", &[("authorization", "Bearer sk_wrong")], None).problem(401, "HTTP-002");
    assert_eq!(scene.audit().iter().filter(|entry| entry["key"] == "oidc:ann").count(), 1, "the sign-in");
}

#[test]
fn a_logout_ends_the_session_here_and_at_the_provider() {
    let scene = Scene::of(&[("ops", Role::Viewer)]);
    let mut ann = scene.person();
    assert_eq!(ann.sign_in("ann", "/").status, 303);
    let (token, cookies) = (ann.token(), ann.cookies.clone());
    ann.ask("POST", "/auth/logout", &[], None).problem(403, "HTTP-033");
    assert_eq!(ann.get("/api/devices").status, 200, "it did not end");
    let out = ann.ask("POST", "/auth/logout", &[("stadium-csrf", &token)], None);
    let to = out.header("location").expect("a redirect");
    assert_eq!(out.status, 303);
    assert!(to.starts_with(&scene.provider.issuer) && to.contains("id_token_hint="), "{to}");
    assert!(ann.cookies.is_empty(), "{:?}", ann.cookies);
    ann.cookies = cookies;
    ann.get("/api/devices").problem(401, "HTTP-001");
    ann.ask("POST", "/auth/logout", &[("stadium-csrf", &token)], None).problem(401, "HTTP-001");

    // A script is not redirected: it cannot follow one to the provider.
    assert_eq!(ann.sign_in("ann", "/").status, 303);
    let token = ann.token();
    let headers = [("stadium-csrf", token.as_str()), ("accept", "application/json")];
    let out = ann.ask("POST", "/auth/logout", &headers, None);
    assert_eq!(out.status, 200, "{}", out.text);
    assert!(out.json()["to"].as_str().expect("a URL").starts_with(&scene.provider.issuer));

    let entries = scene.audit();
    let of = |route: &str, status: u16| {
        entries.iter().filter(|entry| entry["route"] == route && entry["status"] == status).count()
    };
    assert_eq!(of("GET /auth/callback", 303), 2, "{entries:?}");
    assert_eq!((of("POST /auth/logout", 303), of("POST /auth/logout", 200)), (1, 1), "{entries:?}");
    assert_eq!((of("POST /auth/logout", 403), of("POST /auth/logout", 401)), (1, 1), "{entries:?}");
    let texts: Vec<_> = entries.iter().map(Value::to_string).collect();
    assert!(texts.iter().all(|text| !text.contains("code=") && !text.contains("state=")), "{texts:?}");
    let signed_in = entries.iter().find(|entry| entry["status"] == 303).expect("an entry");
    assert_eq!((&signed_in["key"], &signed_in["name"]), (&json!("oidc:ann"), &json!("Ann Example")));
}

#[test]
fn a_session_ends_with_its_time() {
    let scene = Scene::with(&[("ops", Role::Viewer)], |config| {
        config.oidc.as_mut().expect("set").session = Duration::from_secs(2);
    });
    let mut ann = scene.person();
    let back = ann.sign_in("ann", "/");
    assert!(back.headers("set-cookie").any(|set| set.contains("Max-Age=2;")), "{}", back.text);
    eventually("the session has ended", || ann.get("/api/devices").status == 401);
    ann.declare(&[("stadium-csrf", "x")]).problem(401, "HTTP-001");
    assert_eq!(ann.session()["signed_in"], Value::Null);
}

#[test]
fn a_person_without_a_role_is_shown_why_and_gets_no_session() {
    let scene = Scene::of(&[("ops", Role::Admin)]);
    let mut bob = scene.person();
    let refused = bob.sign_in("bob", "/");
    assert_eq!((refused.status, refused.header("stadium-error")), (403, Some("HTTP-034")));
    assert_eq!(refused.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(refused.header("content-security-policy").is_some());
    for words in ["Bob Example is known", "<code>http.oidc.roles</code>", "/auth/login"] {
        assert!(refused.text.contains(words), "{words}: {}", refused.text);
    }
    assert!(!bob.cookies.contains_key("stadium-session"));
    bob.get("/api/devices").problem(401, "HTTP-001");
    let entries = scene.audit();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!((&entries[0]["key"], &entries[0]["code"]), (&json!("oidc:bob"), &json!("HTTP-034")));
    assert_eq!((&entries[0]["role"], &entries[0]["path"]), (&Value::Null, &json!("/auth/callback")));
}

#[test]
fn sign_ins_of_other_browsers_and_paths_to_other_sites_are_refused() {
    let scene = Scene::of(&[("ops", Role::Admin)]);
    let (mut attacker, mut victim) = (scene.person(), scene.person());
    for to in ["https://evil.example", "//evil.example", "/%5Cevil.example"] {
        let refused = attacker.get(&format!("/auth/login?to={to}"));
        assert_eq!((refused.status, refused.header("stadium-error")), (400, Some("HTTP-017")), "{to}");
    }
    let planted = attacker.callback("ann", "/");
    let refused = victim.get(&planted);
    assert_eq!(
        (refused.status, refused.header("stadium-error")),
        (403, Some("HTTP-034")),
        "{}",
        refused.text
    );
    assert!(victim.cookies.is_empty(), "{:?}", victim.cookies);
    let refused = attacker.get(&planted);
    assert_eq!(refused.header("stadium-error"), Some("HTTP-034"), "its state leaked: {}", refused.text);

    // A sign-in ends the session that the browser had, whoever put its cookie there.
    assert_eq!(victim.sign_in("ann", "/").status, 303);
    let fixed = victim.cookies.clone();
    assert_eq!(victim.sign_in("ann", "/").status, 303);
    assert_ne!(victim.cookies, fixed);
    victim.cookies = fixed;
    victim.get("/api/devices").problem(401, "HTTP-001");
}

#[test]
fn a_provider_that_is_away_is_reported_and_keys_work_on() {
    let scene = Scene::of(&[("ops", Role::Admin)]);
    let Scene { fixture, provider, .. } = scene;
    drop(provider);
    let refused = fixture.ask("GET", "/auth/login", &[], None);
    assert_eq!(
        (refused.status, refused.header("stadium-error")),
        (503, Some("HTTP-035")),
        "{}",
        refused.text
    );
    assert_eq!(refused.header("retry-after"), Some("5"));
    assert_eq!(fixture.get("/api/devices").status, 200);
    let begun = std::iter::repeat_with(|| fixture.ask("GET", "/auth/login", &[], None)).take(100);
    let bounded = begun.into_iter().find(|answer| answer.status == 429).expect("an address has a bound");
    assert_eq!(bounded.header("stadium-error"), Some("HTTP-031"));
}

#[test]
fn without_a_provider_the_pages_are_not_there() {
    let fixture = Fixture::begin();
    for path in ["/auth/login", "/auth/callback", "/auth/logout"] {
        fixture.ask("GET", path, &[], None).problem(404, "HTTP-008");
    }
    let session = fixture.ask("GET", "/auth/session", &[("cookie", "stadium-session=x")], None);
    assert_eq!(session.json(), json!({"offered": false, "signed_in": null}));
}

#[test]
fn requests_for_a_sign_in_are_bounded_whatever_key_they_show() {
    let fixture = Fixture::with(|config| config.keyless_requests_per_second_max = 1, None);
    let ask = || fixture.ask("GET", "/auth/session", &[("authorization", "Bearer sk_any")], None).status;
    let asked: Vec<_> = std::iter::repeat_with(ask).take(20).collect();
    assert_eq!(asked[0], 200, "{asked:?}");
    assert!(asked.contains(&429), "{asked:?}");
}

/// Fills in the provider's page, and consents on the next.
const LOG_IN: &str = "(() => { const form = document.querySelector('form'); \
                      if (form.login) [form.login.value, form.password.value] = ['ann', 'any']; form.submit(); })()";

#[test]
fn a_person_signs_in_and_out_in_the_console() {
    const DESKTOP: Look = Look { width: 1440, height: 900, scheme: "dark", motion: "no-preference" };
    const PHONE: Look = Look { width: 390, height: 844, scheme: "light", motion: "no-preference" };
    let scene = Scene::of(&[("ops", Role::Operator)]);
    let mut chromium = Chromium::start();
    let picture = |chromium: &mut Chromium, name: &str| {
        let Some(folder) = std::env::var_os("STADIUM_PICTURES") else { return };
        for (look, kind) in [(PHONE, "phone"), (DESKTOP, "desktop")] {
            chromium.look(look);
            chromium.picture(&std::path::Path::new(&folder).join(format!("sign-in-{name}-{kind}.png")));
        }
    };
    let inside = "document.documentElement.scrollWidth <= innerWidth";
    chromium.open(&scene.fixture.url("/queues?state=dead"), DESKTOP);
    chromium.wait_until("!document.getElementById('login-person').hidden");
    assert_eq!(chromium.evaluate("document.getElementById('login').hidden"), false);
    picture(&mut chromium, "form");
    // A change that is begun now goes on after the sign-in, which leaves the page.
    chromium.evaluate(
        "import('/assets/console.js').then((console) => { console.change('PUT', '/api/apps/begun', {}); })",
    );
    chromium.wait_until("document.getElementById('login-then').textContent.includes('PUT /api/apps/begun')");
    chromium.evaluate("document.getElementById('sign-in').click()");
    chromium.wait_until("Boolean(document.querySelector('form')?.login)");
    chromium.evaluate(LOG_IN);
    chromium.wait_until("document.body.innerText.includes('Authorize') || location.pathname === '/queues'");
    if chromium.evaluate("location.pathname") != "/queues" {
        chromium.evaluate(LOG_IN);
    }
    chromium.wait_until("location.pathname === '/queues' && !document.getElementById('person').hidden");
    assert_eq!(chromium.evaluate("location.search"), "?state=dead");
    assert_eq!(chromium.evaluate("document.getElementById('person-name').textContent"), "Ann Example");
    chromium.wait_until("document.getElementById('state-text').textContent === 'Ready'");
    chromium.wait_until("document.getElementById('confirm').open");
    assert_eq!(scene.fixture.get("/api/apps/begun").status, 404, "the person is asked first");
    chromium.evaluate("document.getElementById('confirm-yes').click()");
    chromium.wait_until("document.getElementById('toast').textContent === 'Done'");
    assert_eq!(scene.fixture.get("/api/apps/begun").status, 200);
    picture(&mut chromium, "person");
    for look in [PHONE, DESKTOP] {
        chromium.look(look);
        assert_eq!(chromium.evaluate(inside), true, "{}", look.width);
    }
    let change = "import('/assets/console.js').then((console) => console.request('/api/apps/shop', \
                  {method: 'PUT', headers: {'content-type': 'application/json'}, body: '{}'})) \
                  .then((answer) => answer.ok)";
    assert_eq!(chromium.evaluate(change), true, "the script sends the token");

    chromium.evaluate("document.getElementById('sign-out').click()");
    let issuer = &scene.provider.issuer;
    chromium.wait_until(&format!("location.href.startsWith('{issuer}')"));
    chromium.open(&scene.fixture.url("/queues"), DESKTOP);
    chromium.wait_until("!document.getElementById('login').hidden");
    assert_eq!(chromium.evaluate("document.getElementById('person').hidden"), true);
}
