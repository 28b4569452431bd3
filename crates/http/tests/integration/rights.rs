//! Each endpoint asks for the rights that its description names, and no principal finds another
//! way. Rights that only the body or the shards know have a scenario each.

use serde_json::{Value, json};

use crate::support::{Answer, Fixture};

/// Streams that do not end by themselves.
const STREAMS: [&str; 2] = ["live", "live_push"];

struct Operation {
    id: String,
    method: String,
    path: String,
    rights: Vec<String>,
    is_public: bool,
    /// A device asks for itself, with its own token.
    is_own: bool,
}

fn operations(fixture: &Fixture) -> Vec<Operation> {
    let api = fixture.get("/openapi.json").json();
    let mut all = Vec::new();
    for (path, item) in api["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let rights = match &operation["x-right"] {
                Value::String(right) => vec![right.clone()],
                Value::Array(rights) => {
                    rights.iter().map(|right| right.as_str().expect("text").to_owned()).collect()
                }
                _ => Vec::new(),
            };
            let is_own = rights == ["me"];
            assert_eq!(is_own, path.starts_with("/api/me/"), "{path}");
            all.push(Operation {
                is_own,
                id: operation["operationId"].as_str().expect("a name").to_owned(),
                method: method.to_uppercase(),
                path: path.clone(),
                rights,
                is_public: operation["security"] == json!([{}]),
            });
        }
    }
    assert!(all.len() > 100, "{} operations", all.len());
    all
}

fn key(fixture: &Fixture, fields: &Value) -> (String, String) {
    let made = fixture.post("/api/keys", &fields.to_string());
    assert_eq!(made.status, 201, "{}", made.text);
    let made = made.json();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    (text(&made["key"]["id"]), format!("Bearer {}", text(&made["secret"])))
}

fn secret(fixture: &Fixture, fields: &Value) -> String {
    key(fixture, fields).1
}

fn ask(fixture: &Fixture, method: &str, path: &str, key: &str, body: &str) -> Answer {
    let headers = [("authorization", key), ("content-type", "application/json")];
    fixture.ask(method, path, &headers, (method != "GET").then_some(body))
}

#[test]
fn every_operation_names_a_right_or_is_public_and_asks_for_it() {
    let fixture = Fixture::with_queues();
    let stranger = secret(&fixture, &json!({"name": "none", "grants": ["queue.put:nothing"]}));
    for Operation { id, method, path, rights, is_public, is_own } in operations(&fixture) {
        assert_ne!(rights.is_empty(), !is_public, "{id} names {rights:?}");
        if is_public || is_own {
            continue;
        }
        let path = path.replace('{', "x").replace('}', "");
        fixture.ask(&method, &path, &[], (method != "GET").then_some("{}")).problem(401, "HTTP-001");
        let refused = ask(&fixture, &method, &path, &stranger, "{}").problem(403, "HTTP-003");
        let verb = rights[0].split(':').next().expect("a verb");
        assert!(refused["detail"].as_str().expect("text").contains(verb), "{id}: {refused}");
    }
}

#[test]
fn a_device_token_reaches_its_own_endpoints_and_an_api_key_none_of_them() {
    let fixture = Fixture::with_queues();
    assert_eq!(fixture.put("/api/apps/default/devices/phone-7", "{}").status, 201);
    let made = fixture.post("/api/apps/default/devices/phone-7/token", "{}");
    assert_eq!(made.status, 201, "{}", made.text);
    let token = format!("Bearer {}", made.json()["token"].as_str().expect("text"));
    let admin = format!("Bearer {}", fixture.admin);
    let (mut own, mut others) = (0, 0);
    for Operation { id, method, path, is_public, is_own, .. } in operations(&fixture) {
        let path = path.replace('{', "x").replace('}', "");
        match (is_public, is_own) {
            (true, _) => continue,
            (false, true) => {
                fixture.ask(&method, &path, &[], (method != "GET").then_some("{}")).problem(401, "HTTP-036");
                ask(&fixture, &method, &path, &admin, "{}").problem(401, "HTTP-036");
                let answer = ask(&fixture, &method, &path, &token, "{}");
                assert!(![401, 403].contains(&answer.status), "{id}: {}", answer.text);
                own += 1;
            }
            (false, false) => {
                ask(&fixture, &method, &path, &token, "{}").problem(401, "HTTP-002");
                others += 1;
            }
        }
    }
    assert!(own == 6 && others > 100, "{own} of a device, {others} others");
}

/// One name for each part of a path.
fn names(random: &mut fastrand::Rng, path: &str) -> (String, Vec<(String, String)>) {
    let mut parts = Vec::new();
    let mut filled = String::new();
    for piece in path.split('/').skip(1) {
        filled.push('/');
        match piece.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            None => filled.push_str(piece),
            Some(name) => {
                let value = ["a1", "a2", "b1"][random.usize(..3)];
                filled.push_str(value);
                parts.push((name.to_owned(), value.to_owned()));
            }
        }
    }
    (filled, parts)
}

/// The resource of a right; none where the path does not know it.
fn resource(right: &str, parts: &[(String, String)]) -> Option<String> {
    let (verb, mut resource) = match right.split_once(':') {
        Some((verb, resource)) => (verb, resource.to_owned()),
        None => (right, "*".to_owned()),
    };
    for (name, value) in parts {
        resource = resource.replace(&format!("{{{name}}}"), value);
    }
    if verb.starts_with("device.") && resource != "*" && !resource.contains('/') {
        resource = format!("default/{resource}");
    }
    (!resource.contains('{')).then_some(resource)
}

#[test]
fn random_principals_find_no_way_beside_the_table() {
    let fixture = Fixture::with_queues();
    let operations = operations(&fixture);
    let verbs: Vec<&str> = operations
        .iter()
        .filter(|operation| !operation.is_own)
        .flat_map(|operation| &operation.rights)
        .filter_map(|right| right.split([':', '?']).next())
        .collect();
    let mut random = fastrand::Rng::with_seed(18);
    let (mut allowed, mut refused) = (0, 0);
    for principal in 0..24 {
        let mut held: Vec<(String, String)> = Vec::new();
        for _ in 0..random.usize(1..40) {
            let verb = verbs[random.usize(..verbs.len())];
            let pattern = match (verb.split('.').next().expect("a verb"), random.usize(..4)) {
                ("node" | "keys" | "audit" | "retained" | "rules" | "user", _) | (_, 0) => "*",
                ("device", 1) => "a1/*",
                ("device", 2) => "default/a1",
                ("device", _) => "a2/a*",
                ("wallet", 1) if verb == "wallet.transfer" => "debit=a*",
                ("wallet", _) if verb == "wallet.transfer" => "debit=b1",
                (_, 1) => "a1",
                (_, 2) => "a*",
                _ => "b1",
            };
            held.push((verb.to_owned(), pattern.to_owned()));
        }
        let grants: Vec<_> = held.iter().map(|(verb, pattern)| format!("{verb}:{pattern}")).collect();
        let secret = secret(&fixture, &json!({"name": format!("principal {principal}"), "grants": grants}));
        let holds = |verb: &str, resource: Option<&str>| {
            held.iter().any(|(known, pattern)| {
                known == verb
                    && resource.is_none_or(|resource| match pattern.strip_suffix('*') {
                        Some(beginning) => resource.starts_with(beginning),
                        None => resource == pattern,
                    })
            })
        };
        for Operation { id, method, path, rights, is_public, is_own } in &operations {
            if *is_public || *is_own {
                continue;
            }
            let (path, parts) = names(&mut random, path);
            let mut knows_all = true;
            let may = rights.iter().filter(|right| !right.ends_with('?')).all(|right| {
                let resource = resource(right, &parts);
                knows_all &= resource.is_some();
                holds(right.split(':').next().expect("a verb"), resource.as_deref())
            });
            if may && STREAMS.contains(&id.as_str()) {
                continue;
            }
            let answer = ask(&fixture, method, &path, &secret, "{}");
            let context = format!("principal {principal} with {grants:?}: {method} {path}: {}", answer.text);
            match may {
                false => assert_eq!(answer.status, 403, "{context}"),
                true if knows_all => assert!(![401, 403].contains(&answer.status), "{context}"),
                // The body or the shards decide about the rest.
                true => assert_ne!(answer.status, 401, "{context}"),
            }
            *if may { &mut allowed } else { &mut refused } += 1;
        }
    }
    assert!(allowed > 300 && refused > 300, "{allowed} allowed, {refused} refused");
}

#[test]
fn a_key_of_an_app_reaches_no_other() {
    let fixture = Fixture::with_queues();
    for app in ["shop", "other"] {
        assert_eq!(fixture.put(&format!("/api/apps/{app}"), "{}").status, 200, "{app}");
    }
    let shop = secret(&fixture, &json!({"name": "shop", "roles": ["sender"], "apps": ["shop"]}));
    let ask = |method: &str, path: &str, body: &str| ask(&fixture, method, path, &shop, body);
    assert_eq!(ask("PUT", "/api/apps/shop/devices/phone", "{}").status, 201);
    assert_eq!(ask("GET", "/api/apps/shop/devices", "").status, 200);
    let push = r#"{"to": {"devices": ["phone"]}, "message": {"title": "x"}}"#;
    let sent = ask("POST", "/api/apps/shop/pushes", push);
    assert!(sent.status < 300 || sent.status == 422, "{}", sent.text);
    for (method, path, body) in [
        ("PUT", "/api/apps/other/devices/phone", "{}"),
        ("GET", "/api/apps/other/devices", ""),
        ("POST", "/api/apps/other/pushes", push),
        ("GET", "/api/apps/other", ""),
        ("GET", "/api/devices", ""),
        ("GET", "/api/devices/other%2Fphone", ""),
        ("POST", "/api/push", r#"{"to": "everybody", "message": "x"}"#),
        ("POST", "/api/queues/votes/jobs", r#"{"payload": "x"}"#),
        ("GET", "/api/queues", ""),
        ("GET", "/metrics", ""),
        ("GET", "/api/keys", ""),
    ] {
        ask(method, path, body).problem(403, "HTTP-003");
    }
    let listed = ask("GET", "/api/apps", "").json();
    let apps: Vec<_> = listed["apps"].as_array().expect("a list").iter().map(|app| &app["app"]).collect();
    assert_eq!(apps, ["shop"], "{listed}");
    assert_eq!(ask("GET", "/api/devices/shop%2Fphone", "").status, 404, "it may ask; the device is away");
}

#[test]
fn leases_and_jobs_of_other_queues_are_out_of_reach() {
    let fixture = Fixture::with_queues();
    for queue in ["mine", "theirs", "events.shop.crm"] {
        let put = fixture.post(&format!("/api/queues/{queue}/jobs"), r#"{"payload": "secret"}"#);
        assert_eq!(put.status, 201, "{}", put.text);
    }
    let reserve = |queue: &str| {
        let reserved = fixture.post(&format!("/api/queues/{queue}/reserve"), "{}").json();
        reserved["jobs"][0]["lease"].as_str().expect("a lease").to_owned()
    };
    let grants = ["queue.reserve:mine", "queue.read:mine", "queue.control:mine"];
    let mine = secret(&fixture, &json!({"name": "mine", "grants": grants}));
    let worker = secret(&fixture, &json!({"name": "worker", "roles": ["worker"]}));
    for (secret, queue, status) in [
        (&mine, "mine", 200),
        (&mine, "theirs", 403),
        (&worker, "events.shop.crm", 403),
        (&worker, "theirs", 200),
    ] {
        let lease = reserve(queue);
        let (job, _) = lease.rsplit_once('-').expect("a job and a number");
        let ask = |method: &str, path: &str, body: &str| ask(&fixture, method, path, secret, body);
        let seen = if queue == "events.shop.crm" { 200 } else { status };
        assert_eq!(ask("GET", &format!("/api/jobs/{job}"), "").status, seen, "{queue}");
        assert_eq!(ask("GET", &format!("/api/jobs/{job}/history"), "").status, seen, "{queue}");
        let several = json!({"leases": [lease]}).to_string();
        assert_eq!(ask("POST", "/api/leases/settle", &several).status, status, "{queue}");
        if status == 403 {
            let path = format!("/api/leases/{lease}/release");
            ask("POST", &path, "{}").problem(403, "HTTP-003");
            assert_eq!(ask("DELETE", &format!("/api/jobs/{job}"), "").status, 403, "{queue}");
            let released = fixture.post(&path, r#"{"delay_ms": 0}"#);
            assert_eq!(released.status, 200, "its own worker still holds it: {}", released.text);
        }
    }
    let forward = json!({"queue": "theirs", "job": {}}).to_string();
    let put = fixture.post("/api/queues/mine/jobs", r#"{"payload": "x"}"#);
    assert_eq!(put.status, 201);
    let lease = reserve("mine");
    let refused = ask(&fixture, "POST", &format!("/api/leases/{lease}/forward"), &mine, &forward);
    assert!(refused.problem(403, "HTTP-003")["detail"].as_str().expect("text").contains("queue.put"));
    let refused = ask(&fixture, "POST", "/api/queues/mine/redrive", &mine, r#"{"to": "theirs"}"#);
    refused.problem(403, "HTTP-003");
}

#[test]
fn payloads_are_a_right_of_their_own() {
    let fixture = Fixture::with_queues();
    let put = fixture.post("/api/queues/votes/jobs", r#"{"payload": "a secret ballot"}"#).json();
    let job = put["id"].as_str().expect("an id");
    let viewer = secret(&fixture, &json!({"name": "viewer", "roles": ["viewer"]}));
    let reader = json!({"name": "reader", "roles": ["viewer"], "grants": ["queue.payload:votes"]});
    let reader = secret(&fixture, &reader);
    for path in [format!("/api/jobs/{job}"), "/api/queues/votes/jobs".to_owned()] {
        let seen = |secret: &str| ask(&fixture, "GET", &path, secret, "").text;
        assert!(
            !seen(&viewer).contains("ballot") && seen(&viewer).contains(r#""payload_bytes":15"#),
            "{path}"
        );
        assert!(seen(&reader).contains("a secret ballot"), "{path}");
    }
}

#[test]
fn contents_of_pushes_are_a_right_of_their_own() {
    let fixture = Fixture::with_queues();
    let viewer = secret(&fixture, &json!({"name": "viewer", "roles": ["viewer"]}));
    let reader = json!({"name": "reader", "roles": ["viewer"], "grants": ["push.payload:default"]});
    let reader = secret(&fixture, &reader);
    let notification = json!({"title": "a secret title", "body": "and a secret text"});
    let push =
        json!({"id": "0190a1b2c3d47e5f8a9b0c1d2e3f4a5b", "audience": "all", "notification": notification});
    let live = json!({"live": true, "audience": "all", "notification": notification});
    let daily = json!({"cron": "@daily", "push": {"audience": "all", "notification": notification}});
    assert_eq!(fixture.post("/api/apps/default/pushes", &push.to_string()).status, 202);
    assert_eq!(fixture.post("/api/apps/default/pushes", &live.to_string()).status, 202);
    assert_eq!(fixture.put("/api/apps/default/schedules/daily", &daily.to_string()).status, 200);
    for path in ["pushes", "pushes/0190a1b2c3d47e5f8a9b0c1d2e3f4a5b", "schedules"] {
        let path = format!("/api/apps/default/{path}");
        let seen = |secret: &str| ask(&fixture, "GET", &path, secret, "");
        assert_eq!(seen(&viewer).status, 200, "{path}");
        assert!(!seen(&viewer).text.contains("secret"), "{path}: {}", seen(&viewer).text);
        assert!(seen(&reader).text.contains("a secret title"), "{path}: {}", seen(&reader).text);
    }
}

#[test]
fn holds_and_reversals_need_the_wallet_that_pays() {
    let fixture = Fixture::with_queues();
    assert_eq!(fixture.put("/api/assets/EUR", r#"{"scale": 2}"#).status, 200);
    for wallet in ["alice", "bob"] {
        let account = json!({"wallet": wallet, "asset": "EUR"}).to_string();
        assert_eq!(fixture.post("/api/wallets", &account).status, 201);
    }
    let book = |secret: Option<&str>, fields: Value, status: u16| {
        let answer = match secret {
            None => fixture.post("/api/transfers", &fields.to_string()),
            Some(secret) => ask(&fixture, "POST", "/api/transfers", secret, &fields.to_string()),
        };
        assert_eq!(answer.status, status, "{fields}: {}", answer.text);
    };
    let id = |n: u32| format!("00000000-0000-4000-8000-{n:012}");
    let post = |n: u32, debit: &str, credit: &str| json!({"id": id(n), "debit": debit, "credit": credit, "asset": "EUR", "amount": 10});
    book(None, post(1, "@bank", "alice"), 201);
    book(None, post(2, "@bank", "alice"), 201);
    let mut hold = post(3, "alice", "bob");
    hold["kind"] = json!("hold");
    hold["expires_after_ms"] = json!(60_000);
    book(None, hold, 201);
    let grants = ["wallet.transfer:debit=bob", "wallet.read:bob"];
    let bob = secret(&fixture, &json!({"name": "bob", "grants": grants}));
    book(Some(&bob), post(4, "alice", "bob"), 403);
    let step =
        |n: u32, word: &str| ask(&fixture, "POST", &format!("/api/transfers/{}/{word}", id(n)), &bob, "{}");
    step(3, "capture").problem(403, "HTTP-003");
    step(3, "void").problem(403, "HTTP-003");
    // Nor may a list give the hold a payer of its own: its first transfer is refused for its id.
    let list = json!({"transfers": [
        post(3, "bob", "alice"),
        {"id": id(7), "kind": "capture", "of": id(3)},
    ]});
    let taken = ask(&fixture, "POST", "/api/transfers/batch", &bob, &list.to_string());
    taken.problem(403, "HTTP-003");
    // A reversal is paid by the wallet that got the amount.
    step(1, "reverse").problem(403, "HTTP-003");
    book(None, post(5, "alice", "bob"), 201);
    assert_eq!(step(5, "reverse").status, 201);
    assert_eq!(ask(&fixture, "GET", &format!("/api/transfers/{}", id(5)), &bob, "").status, 200);
    ask(&fixture, "GET", &format!("/api/transfers/{}", id(1)), &bob, "").problem(403, "HTTP-003");
    let listed = ask(&fixture, "GET", "/api/wallets", &bob, "").text;
    assert!(listed.contains("bob") && !listed.contains("alice"), "{listed}");
    let together =
        json!({"transfers": [post(6, "bob", "alice")], "jobs": [{"queue": "q", "job": {"payload": "x"}}]});
    let refused =
        ask(&fixture, "POST", "/api/together", &bob, &together.to_string()).problem(403, "HTTP-003");
    assert!(refused["detail"].as_str().expect("text").contains("queue.put:q"), "{refused}");
}

#[test]
fn a_limit_is_kept_and_said() {
    let fixture = Fixture::with_queues();
    let slow = secret(&fixture, &json!({"name": "slow", "grants": ["queue.put:votes 2/s"]}));
    let put = || ask(&fixture, "POST", "/api/queues/votes/jobs", &slow, r#"{"payload": "x"}"#);
    let answers: Vec<_> = (0..6).map(|_| put()).collect();
    let refused = answers.iter().find(|answer| answer.status == 429).expect("six at once are too many");
    assert!(refused.problem(429, "HTTP-032")["detail"].as_str().expect("text").contains("queue.put:votes"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(answers.iter().filter(|answer| answer.status == 201).count() >= 2);
}

#[test]
fn a_key_is_explained_rotated_and_ends() {
    let fixture = Fixture::with_queues();
    let fields = json!({"name": "votes", "roles": ["worker"], "grants": ["queue.put:events.shop.* 9/s"]});
    let (id, old) = key(&fixture, &fields);
    let explain = |verb: &str, resource: &str| {
        let answer = fixture.get(&format!("/api/keys/{id}/explain?verb={verb}&resource={resource}"));
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    };
    let of_role = explain("queue.put", "votes");
    assert_eq!(of_role["reason"], "allowed by `queue.put:*`, the role `worker`");
    assert_eq!(of_role["held"].as_array().expect("a list").len(), 2);
    let own = explain("queue.put", "events.shop.crm");
    assert_eq!(own["by"]["grant"], "queue.put:events.shop.* 9/s");
    let denied = explain("wallet.transfer", "debit=@bank");
    assert_eq!((&denied["allowed"], &denied["by"]), (&json!(false), &Value::Null));
    fixture.get(&format!("/api/keys/{id}/explain?verb=fly")).problem(400, "HTTP-017");
    fixture.get("/api/keys/k_none/explain?verb=node.read").problem(404, "HTTP-020");

    let rotate = |overlap_s: u64| {
        let rotated =
            fixture.post(&format!("/api/keys/{id}/rotate"), &json!({"overlap_s": overlap_s}).to_string());
        assert_eq!(rotated.status, 200, "{}", rotated.text);
        format!("Bearer {}", rotated.json()["secret"].as_str().expect("a secret"))
    };
    let works = |secret: &str| ask(&fixture, "GET", "/api/queues", secret, "").status;
    let new = rotate(60);
    assert_eq!((works(&old), works(&new)), (200, 200), "both work in the overlap");
    let last = rotate(0);
    assert_eq!((works(&old), works(&new), works(&last)), (401, 401, 200));
    fixture.post(&format!("/api/keys/{id}/rotate"), r#"{"overlap_s": 9999999}"#).problem(422, "HTTP-005");
    for wrong in [
        json!({"name": "x"}),
        json!({"name": "x", "grants": ["queue.fly"]}),
        json!({"name": "x", "roles": ["sender"], "apps": []}),
        json!({"name": "x", "roles": ["sender"], "expires_in_s": 0}),
    ] {
        fixture.post("/api/keys", &wrong.to_string()).problem(422, "HTTP-005");
    }
}
