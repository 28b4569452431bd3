//! Wallets as a client sees them: every endpoint over a real socket, answered by real shards on a real disk.
//!
//! The behaviour of the books is tested in the wallet's own crate; these tests are about JSON and
//! HTTP.

use crate::support;

use serde_json::{Value, json};
use support::money::{ID, balance, book, comes_to, id, money_scene, open, transfer};
use support::work::post;
use support::{Fixture, eventually};

#[test]
fn an_asset_is_declared_an_account_opened_and_an_amount_moved() {
    let fixture = Fixture::with_queues();
    let made = fixture.put("/api/assets/EUR", r#"{"scale": 2}"#);
    assert_eq!(made.status, 200, "{}", made.text);
    assert_eq!(made.json()["balanced"], true);
    assert_eq!(fixture.put("/api/assets/EUR", r#"{"scale": 2}"#).status, 200, "the same again is fine");
    fixture.put("/api/assets/EUR", r#"{"scale": 3}"#).problem(409, "WAL-031");

    let opened = fixture.post("/api/wallets", r#"{"wallet": "alice", "asset": "EUR", "ceiling": 100000}"#);
    assert_eq!(opened.status, 201, "{}", opened.text);
    let account = opened.json();
    assert_eq!((&account["posted"], &account["available"]), (&0.into(), &0.into()));
    assert_eq!((&account["overdraft"], &account["ceiling"]), (&"never".into(), &100_000.into()));
    let too_much = r#"{"accounts": [{"wallet": "bob", "asset": "EUR", "ceiling": 9223372036854775808}]}"#;
    let problem = fixture.post("/api/wallets", too_much).problem(422, "WAL-002");
    assert_eq!(problem["path"], "accounts[0].ceiling");
    let again = fixture.post("/api/wallets", r#"{"wallet": "alice", "asset": "EUR", "ceiling": 100000}"#);
    assert_eq!(again.status, 200, "it was there");
    fixture.post("/api/wallets", r#"{"wallet": "alice", "asset": "EUR"}"#).problem(409, "WAL-031");

    let booked = fixture.post("/api/transfers", &transfer("@bank", "alice", 250).to_string());
    assert_eq!(booked.status, 201, "{}", booked.text);
    let id = booked.json()["id"].as_str().expect("an id").to_owned();
    assert_eq!(booked.header("location"), Some(format!("/api/transfers/{id}").as_str()));
    assert_eq!(booked.json()["duplicate"], false);
    let wallet = fixture.get("/api/wallets/alice").json();
    assert_eq!((&wallet["wallet"], &wallet["accounts"][0]["posted"]), (&"alice".into(), &250.into()));
    assert_eq!(fixture.get("/api/wallets/@bank/EUR").json()["posted"], -250);

    let eur = fixture.get("/api/assets").json()["assets"][0].clone();
    assert_eq!(
        (&eur["asset"], &eur["scale"], &eur["credit"], &eur["debit"], &eur["balanced"]),
        (&"EUR".into(), &2.into(), &250.into(), &250.into(), &true.into())
    );
}

#[test]
fn several_accounts_have_an_outcome_each() {
    let fixture = money_scene();
    let asked = json!({"accounts": [
        {"wallet": "new", "asset": "EUR"},
        {"wallet": "alice", "asset": "EUR"},
        {"wallet": "new", "asset": "GOLD"},
        {"wallet": "house", "asset": "EUR", "overdraft": "allowed"},
    ]});
    let results = post(&fixture, "/api/wallets", asked)["results"].clone();
    assert_eq!(results[0], json!({"wallet": "new", "asset": "EUR", "opened": true}));
    assert_eq!(results[1], json!({"wallet": "alice", "asset": "EUR", "opened": false}));
    assert_eq!(results[2]["error"]["code"], "WAL-020", "{results}");
    assert_eq!(results[3]["opened"], true);
    book(&fixture, "house", "new", 1_000);
    assert_eq!(balance(&fixture, "house"), -1_000);
}

#[test]
fn a_repeated_transfer_is_the_first_one() {
    let fixture = money_scene();
    let body = transfer("@bank", "alice", 250);
    let first = fixture.post("/api/transfers", &body.to_string());
    let again = fixture.post("/api/transfers", &body.to_string());
    assert_eq!((first.status, again.status), (201, 200), "{} {}", first.text, again.text);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json()["duplicate"], true);
    assert_eq!(first.json()["booked_at"], again.json()["booked_at"]);
    let mut other = body.clone();
    other["amount"] = 251.into();
    fixture.post("/api/transfers", &other.to_string()).problem(422, "WAL-026");
    assert_eq!(balance(&fixture, "alice"), 250);
}

#[test]
fn an_idempotency_key_is_an_id() {
    let fixture = money_scene();
    let body = json!({"debit": "@bank", "credit": "alice", "asset": "EUR", "amount": 10}).to_string();
    let other = json!({"debit": "@bank", "credit": "alice", "asset": "EUR", "amount": 11}).to_string();
    for key in ["0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "order-17"] {
        let header = [("idempotency-key", key)];
        let first = fixture.post_with("/api/transfers", &body, &header);
        let again = fixture.post_with("/api/transfers", &body, &header);
        assert_eq!((first.status, again.status), (201, 200), "{} {}", first.text, again.text);
        assert_eq!(first.json()["id"], again.json()["id"]);
        assert_eq!(first.json()["id"] == key, key.len() == 36, "a UUID is the id itself");
        fixture.post_with("/api/transfers", &other, &header).problem(422, "WAL-026");
    }
    assert_eq!(balance(&fixture, "alice"), 20);
    // Another caller's key of the same name is another transfer.
    let made = fixture.post("/api/keys", r#"{"name": "till-2", "roles": ["admin"]}"#).json();
    let bearer = format!("Bearer {}", made["secret"].as_str().expect("a secret"));
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("idempotency-key", "order-17"),
    ];
    assert_eq!(fixture.ask("POST", "/api/transfers", &headers, Some(&body)).status, 201);
    assert_eq!(fixture.post("/api/transfers", &body).problem(422, "HTTP-005")["path"], "id");
    fixture.post_with("/api/transfers", &body, &[("idempotency-key", "a b")]).problem(400, "HTTP-016");
}

#[test]
fn amounts_beyond_53_bits_keep_every_digit() {
    let fixture = money_scene();
    let most = "9223372036854775806";
    let body = json!({"id": id(), "debit": "@bank", "credit": "alice", "asset": "EUR", "amount": most});
    assert_eq!(fixture.post("/api/transfers", &body.to_string()).status, 201);
    let account = fixture.get("/api/wallets/alice/EUR").json();
    assert_eq!((&account["posted"], &account["available"]), (&most.into(), &most.into()));
    let number = format!(
        r#"{{"id": "{}", "debit": "alice", "credit": "@bank", "asset": "EUR", "amount": 9007199254740993}}"#,
        id()
    );
    assert_eq!(fixture.post("/api/transfers", &number).status, 201);
    assert_eq!(fixture.get("/api/wallets/alice/EUR").json()["posted"], "9214364837600034813");
    let csv = fixture.get("/api/wallets/alice/EUR/statement").text;
    assert!(csv.contains(",-90071992547409.93,92143648376000348.13,"), "{csv}");
}

#[test]
fn a_debit_without_credit_and_a_closed_account_are_conflicts() {
    let fixture = money_scene();
    book(&fixture, "@bank", "alice", 100);
    let refused = fixture.post("/api/transfers", &transfer("alice", "bob", 101).to_string());
    let problem = refused.problem(409, "WAL-023");
    assert_eq!(problem["type"], "/docs/errors/WAL-023");
    assert_eq!(fixture.ask("GET", "/docs/errors/WAL-023", &[], None).status, 200, "it is explained");

    let change = |body: &str| fixture.send("PATCH", "/api/wallets/bob/EUR", body);
    assert_eq!(change(r#"{"ceiling": 50}"#).json()["ceiling"], 50);
    fixture.post("/api/transfers", &transfer("alice", "bob", 51).to_string()).problem(409, "WAL-024");
    assert_eq!(change(r#"{"ceiling": null, "closed": true}"#).json()["closed"], true);
    fixture.post("/api/transfers", &transfer("alice", "bob", 1).to_string()).problem(409, "WAL-025");
    assert_eq!(change(r#"{"closed": false}"#).json()["ceiling"], Value::Null);
    book(&fixture, "alice", "bob", 100);
    assert_eq!(balance(&fixture, "alice"), 0);
    comes_to(&fixture, "bob", 100);
    change("{}").problem(422, "HTTP-005");
    fixture.send("PATCH", "/api/wallets/nobody/EUR", r#"{"closed": true}"#).problem(404, "WAL-021");
}

#[test]
fn a_hold_is_captured_in_part_voided_and_reversed() {
    let fixture = money_scene();
    book(&fixture, "@bank", "alice", 1_000);
    let hold = |amount: u64| {
        let body = json!({"id": id(), "kind": "hold", "debit": "alice", "credit": "@shop", "asset": "EUR", "amount": amount,
                          "expires_after_ms": 60_000, "reference": "cart-1"});
        let made = fixture.post("/api/transfers", &body.to_string());
        assert_eq!(made.status, 201, "{}", made.text);
        made.json()["id"].as_str().expect("an id").to_owned()
    };
    let (first, second) = (hold(300), hold(50));
    let account = fixture.get("/api/wallets/alice/EUR").json();
    assert_eq!(
        (&account["posted"], &account["held"], &account["available"]),
        (&1_000.into(), &350.into(), &650.into())
    );
    let holds = fixture.get("/api/wallets/alice/holds").json();
    assert_eq!(holds["holds"].as_array().expect("a list").len(), 2);
    assert_eq!(
        (&holds["holds"][0]["id"], &holds["holds"][0]["amount"]),
        (&first.clone().into(), &300.into())
    );
    assert_eq!(
        fixture.get("/api/wallets/alice/holds?limit=1").json()["holds"].as_array().expect("a list").len(),
        1
    );

    fixture.post(&format!("/api/transfers/{first}/capture"), r#"{"amount": 301}"#).problem(422, "WAL-028");
    let captured = fixture.post(&format!("/api/transfers/{first}/capture"), r#"{"amount": 200}"#);
    assert_eq!(captured.status, 201, "{}", captured.text);
    let repeated = fixture.post(&format!("/api/transfers/{first}/capture"), r#"{"amount": 200}"#);
    assert_eq!((repeated.status, &repeated.json()["duplicate"]), (200, &true.into()), "the same capture");
    fixture.post(&format!("/api/transfers/{first}/capture"), r#"{"amount": 100}"#).problem(422, "WAL-026");
    fixture.post(&format!("/api/transfers/{first}/void"), "").problem(409, "WAL-027");
    assert_eq!(fixture.post(&format!("/api/transfers/{second}/void"), "").status, 201);
    assert_eq!(fixture.get(&format!("/api/transfers/{first}")).json()["state"], "captured");
    assert_eq!(fixture.get(&format!("/api/transfers/{second}")).json()["state"], "voided");
    let account = fixture.get("/api/wallets/alice/EUR").json();
    assert_eq!((&account["posted"], &account["held"]), (&800.into(), &0.into()));

    let capture = captured.json()["id"].as_str().expect("an id").to_owned();
    let shown = fixture.get(&format!("/api/transfers/{capture}")).json();
    assert_eq!((&shown["of"], &shown["amount"]), (&first.into(), &200.into()));
    let reversed = fixture.post(&format!("/api/transfers/{capture}/reverse"), r#"{"reference": "returned"}"#);
    assert_eq!(reversed.status, 201, "{}", reversed.text);
    let fresh = format!(r#"{{"id": "{}"}}"#, id());
    fixture.post(&format!("/api/transfers/{capture}/reverse"), &fresh).problem(409, "WAL-029");
    assert_eq!(balance(&fixture, "alice"), 1_000);
    fixture.post(&format!("/api/transfers/{ID}/void"), "").problem(404, "WAL-022");
    fixture.post("/api/transfers/17/void", "").problem(422, "HTTP-028");
    fixture.post(&format!("/api/transfers/{capture}/reverse"), r#"{"amount": 5}"#).problem(422, "HTTP-005");
}

#[test]
fn a_batch_has_an_outcome_each_and_a_linked_one_is_all_or_none() {
    let fixture = money_scene();
    book(&fixture, "@bank", "alice", 100);
    let (first, second, third) =
        (transfer("alice", "bob", 60), transfer("alice", "bob", 60), transfer("@bank", "alice", 5));
    let results =
        post(&fixture, "/api/transfers/batch", json!({"transfers": [first, second, third]}))["results"]
            .clone();
    assert_eq!((&results[0]["id"], &results[0]["duplicate"]), (&first["id"], &false.into()));
    assert_eq!(results[1]["error"]["code"], "WAL-023", "{results}");
    assert_eq!(results[1]["id"], second["id"]);
    assert_eq!(results[2]["duplicate"], false);
    assert_eq!(balance(&fixture, "alice"), 45);
    comes_to(&fixture, "bob", 60);

    let linked = json!({"linked": true, "transfers": [transfer("@bank", "alice", 10), transfer("alice", "bob", 1_000)]});
    let problem = fixture.post("/api/transfers/batch", &linked.to_string()).problem(409, "WAL-032");
    assert!(problem["detail"].as_str().expect("words").contains("WAL-023"), "{problem}");
    assert_eq!(balance(&fixture, "alice"), 45, "nothing of it happened");

    // Ids can come from the header; a repeated request books nothing again.
    let body = json!({"linked": true, "transfers": [
        {"debit": "@bank", "credit": "alice", "asset": "EUR", "amount": 5},
        {"debit": "@bank", "credit": "bob", "asset": "EUR", "amount": 5},
    ]});
    for duplicate in [false, true] {
        let answer =
            fixture.post_with("/api/transfers/batch", &body.to_string(), &[("idempotency-key", "run-9")]);
        assert_eq!(answer.status, 200, "{}", answer.text);
        let results = answer.json()["results"].clone();
        assert!(
            results.as_array().expect("a list").iter().all(|each| each["duplicate"] == duplicate),
            "{results}"
        );
    }
    assert_eq!(balance(&fixture, "alice"), 50);
    comes_to(&fixture, "bob", 65);
    fixture.post("/api/transfers/batch", r#"{"transfers": []}"#).problem(422, "WAL-001");
    let twice = transfer("@bank", "alice", 1);
    fixture
        .post("/api/transfers/batch", &json!({"transfers": [twice, twice]}).to_string())
        .problem(422, "WAL-008");
}

#[test]
fn transfers_between_shards_are_booked_and_found() {
    let fixture = money_scene();
    let names: Vec<String> = (0..12).map(|n| format!("user-{n}")).collect();
    for name in &names {
        open(&fixture, name);
    }
    book(&fixture, "@bank", &names[0], 1_000);
    // Around the circle, over both shards most likely.
    for (from, to) in names.iter().zip(names.iter().cycle().skip(1)) {
        book(&fixture, from, to, 1_000);
        comes_to(&fixture, to, 1_000);
    }
    let eur = fixture.get("/api/assets").json()["assets"][0].clone();
    assert_eq!((&eur["credit"], &eur["balanced"]), (&1_000.into(), &true.into()), "{eur}");
    let entry = fixture.get("/api/wallets/user-3/EUR/history").json()["entries"][0].clone();
    assert_eq!(entry["other"], "user-4", "the wallet on the other shard, by its name: {entry}");
    let found =
        fixture.get(&format!("/api/transfers/{}", entry["transfer"]["id"].as_str().expect("an id"))).json();
    assert_eq!((&found["debit"], &found["credit"]), (&"user-3".into(), &"user-4".into()));
}

#[test]
fn accounts_are_listed_in_pages_by_prefix_and_asset() {
    let fixture = money_scene();
    fixture.put("/api/assets/VOTE", r#"{"scale": 0}"#);
    for n in 0..25 {
        open(&fixture, &format!("tenant-{n:02}"));
    }
    post(&fixture, "/api/wallets", json!({"wallet": "tenant-03", "asset": "VOTE"}));
    let mut all = Vec::new();
    let mut after = String::new();
    loop {
        let page = fixture.get(&format!("/api/wallets?prefix=tenant-&limit=10{after}")).json();
        let named = |account: &Value| format!("{}/{}", account["wallet"], account["asset"]).replace('"', "");
        all.extend(page["accounts"].as_array().expect("a list").iter().map(named));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(all.len(), 26, "{all:?}");
    assert!(all.is_sorted(), "{all:?}");
    assert_eq!(all[3..5], ["tenant-03/EUR", "tenant-03/VOTE"]);
    let votes = fixture.get("/api/wallets?asset=VOTE").json();
    assert_eq!(votes["accounts"].as_array().expect("a list").len(), 1);
    assert_eq!(fixture.get("/api/wallets/tenant-03").json()["accounts"].as_array().expect("a list").len(), 2);
    assert_eq!(fixture.get("/api/wallets?prefix=none").json()["accounts"], json!([]));
}

#[test]
fn a_history_is_paged_and_filtered_and_has_past_balances() {
    let fixture = money_scene();
    book(&fixture, "@bank", "alice", 1_000);
    for n in 0..30 {
        let mut body = transfer("alice", if n % 2 == 0 { "@shop" } else { "bob" }, 10);
        body["reference"] = format!("order-{n}").into();
        body["metadata"] = json!({"line": n});
        assert_eq!(fixture.post("/api/transfers", &body.to_string()).status, 201);
    }
    let path = "/api/wallets/alice/EUR/history";
    let first = fixture.get(&format!("{path}?limit=20")).json();
    let newest = &first["entries"][0];
    assert_eq!(
        (&newest["number"], &newest["direction"], &newest["balance"]),
        (&31.into(), &"debit".into(), &700.into())
    );
    assert_eq!((&newest["other"], &newest["transfer"]["reference"]), (&"bob".into(), &"order-29".into()));
    assert_eq!(newest["transfer"]["metadata"], r#"{"line":29}"#);
    let rest =
        fixture.get(&format!("{path}?limit=20&before={}", first["next"].as_str().expect("more"))).json();
    assert_eq!((rest["entries"].as_array().expect("a list").len(), &rest["next"]), (11, &Value::Null));
    assert_eq!(rest["entries"][10]["number"], 1);

    let count = |query: &str| {
        fixture.get(&format!("{path}?{query}")).json()["entries"].as_array().expect("a list").len()
    };
    assert_eq!((count("direction=credit"), count("other=bob"), count("reference=order-7")), (1, 15, 1));
    let then = rest["entries"][10]["transfer"]["booked_at"].as_str().expect("a timestamp").to_owned();
    let now = newest["transfer"]["booked_at"].as_str().expect("a timestamp").to_owned();
    assert_eq!(count(&format!("to={then}")), 0);
    assert_eq!(count("from=2999-01-01T00:00:00Z"), 0);

    let at = |time: &str| fixture.get(&format!("/api/wallets/alice/EUR/balance?at={time}")).json();
    assert_eq!(at("2020-01-01T00:00:00Z")["posted"], 0);
    assert_eq!((&at(&now)["posted"], at(&now).get("held")), (&700.into(), None));
    let current = fixture.get("/api/wallets/alice/EUR/balance").json();
    assert_eq!(
        (&current["posted"], &current["held"], &current["at"]),
        (&700.into(), &0.into(), &Value::Null)
    );
}

#[test]
fn a_statement_is_a_file_of_all_entries() {
    let fixture = money_scene();
    for round in 0..2 {
        let batch: Vec<_> = (0..600).map(|_| transfer("@bank", "alice", 5)).collect();
        let answer = fixture.post("/api/transfers/batch", &json!({"transfers": batch}).to_string());
        assert_eq!(answer.status, 200, "{round}: {}", answer.text);
    }
    let mut odd = transfer("alice", "@shop", 1_234);
    odd["reference"] = "say \"hi\", twice".into();
    odd["effective_at"] = "2026-01-31T23:00:00Z".into();
    assert_eq!(fixture.post("/api/transfers", &odd.to_string()).status, 201);

    let csv = fixture.get("/api/wallets/alice/EUR/statement");
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    assert_eq!(csv.header("content-disposition"), Some("attachment; filename=\"alice-EUR.csv\""));
    let lines: Vec<_> = csv.text.split("\r\n").collect();
    assert_eq!(lines.len(), 1 + 1_201 + 1, "a heading, the entries, and the end of the last line");
    assert!(lines[0].starts_with("number,booked_at,"), "{}", lines[0]);
    assert!(lines[1].starts_with("1201,"), "{}", lines[1]);
    assert!(lines[1].contains(",2026-01-31T23:00:00.000Z,"), "{}", lines[1]);
    assert!(lines[1].contains(",@shop,-12.34,47.66,EUR,\"say \"\"hi\"\", twice\","), "{}", lines[1]);
    assert!(lines[1_201].contains(",@bank,0.05,0.05,EUR,"), "{}", lines[1_201]);

    let statement = fixture.get("/api/wallets/alice/EUR/statement?format=json&direction=credit").json();
    assert_eq!((&statement["scale"], &statement["entry_count"]), (&2.into(), &1_200.into()));
    assert_eq!(statement["entries"].as_array().expect("a list").len(), 1_200);
    assert_eq!(statement["entries"][0]["balance"], 6_000);
    fixture.get("/api/wallets/nobody/EUR/statement").problem(404, "WAL-021");
    let empty = fixture.get("/api/wallets/bob/EUR/statement?format=json").json();
    assert_eq!((&empty["entries"], &empty["entry_count"]), (&json!([]), &0.into()));
}

#[test]
fn transfers_jobs_and_pushes_happen_together_or_not_at_all() {
    let fixture = money_scene();
    book(&fixture, "@bank", "alice", 10);
    let body = json!({
        "transfers": [{"debit": "alice", "credit": "@candidate:7", "asset": "EUR", "amount": 10}],
        "jobs": [{"queue": "mails", "job": {"payload": "thanks, alice"}}],
        "pushes": [{"to": {"device": "alice-phone"}, "message": "Your vote counts"}],
    });
    for (key, status, duplicate) in [("vote-1", 201, false), ("vote-1", 200, true)] {
        let done = fixture.post_with("/api/together", &body.to_string(), &[("idempotency-key", key)]);
        assert_eq!(done.status, status, "{}", done.text);
        assert_eq!(done.json()["transfers"][0]["duplicate"], duplicate);
        let put = if duplicate { 0 } else { 1 };
        assert_eq!(done.json()["jobs"].as_array().expect("a list").len(), put);
        assert_eq!(done.json()["pushes"].as_array().expect("a list").len(), put);
    }
    // Alice has nothing left: neither the mail nor the push may be there.
    fixture
        .post_with("/api/together", &body.to_string(), &[("idempotency-key", "vote-2")])
        .problem(409, "WAL-023");
    for (queue, payload) in [
        ("mails", "thanks, alice"),
        ("stadium.pushes", r#"{"message":"Your vote counts","to":{"device":"alice-phone"}}"#),
    ] {
        eventually("the job is there", || {
            fixture.get(&format!("/api/queues/{queue}/jobs")).json()["jobs"][0]["payload"] == payload
        });
        assert_eq!(fixture.get(&format!("/api/queues/{queue}")).json()["jobs"]["total"], 1, "once");
    }
    let wrong = json!({"transfers": [], "pushes": [{"to": "everybody", "message": "x", "qos": 2}]});
    let problem = fixture.post("/api/together", &wrong.to_string()).problem(422, "HTTP-005");
    assert_eq!(problem["path"], "pushes[0].qos");
}

#[test]
fn mistakes_are_named_and_nothing_happens() {
    let fixture = money_scene();
    book(&fixture, "@bank", "alice", 100);
    let of = |change: Value| {
        let mut body = transfer("alice", "bob", 5);
        for (field, value) in change.as_object().expect("fields") {
            body[field] = value.clone();
        }
        body.to_string()
    };
    for (body, status, code, path) in [
        (of(json!({"amount": 0})), 422, "WAL-002", None),
        (of(json!({"amount": "9223372036854775808"})), 422, "WAL-002", None),
        (of(json!({"amount": -5})), 422, "HTTP-005", Some("amount")),
        (of(json!({"amount": 5.5})), 422, "HTTP-005", Some("amount")),
        (of(json!({"amount": "5.50"})), 422, "HTTP-005", Some("amount")),
        (of(json!({"credit": "alice"})), 422, "WAL-003", None),
        (of(json!({"credit": "nobody"})), 404, "WAL-021", None),
        (of(json!({"asset": "GOLD"})), 404, "WAL-020", None),
        (of(json!({"asset": "eur"})), 422, "HTTP-005", Some("asset")),
        (of(json!({"credit": "no name"})), 422, "HTTP-005", Some("credit")),
        (of(json!({"id": "17"})), 422, "HTTP-005", Some("id")),
        (of(json!({"kind": "steal"})), 422, "HTTP-005", Some("kind")),
        (of(json!({"kind": "hold"})), 422, "HTTP-005", Some("expires_after_ms")),
        (of(json!({"kind": "hold", "expires_after_ms": 10})), 422, "WAL-004", None),
        (of(json!({"reference": "x".repeat(129)})), 422, "WAL-005", None),
        (of(json!({"metadata": "x".repeat(1_025)})), 413, "WAL-006", None),
        (of(json!({"effective_at": "yesterday"})), 422, "HTTP-005", Some("effective_at")),
        (of(json!({"ammount": 5})), 422, "HTTP-005", Some("ammount")),
        ("[]".to_owned(), 422, "HTTP-005", None),
        ("{".to_owned(), 400, "HTTP-004", None),
    ] {
        let problem = fixture.post("/api/transfers", &body).problem(status, code);
        assert_eq!(
            problem.get("path").and_then(Value::as_str).filter(|path| !path.is_empty()),
            path,
            "{body}: {problem}"
        );
    }
    assert_eq!((balance(&fixture, "alice"), balance(&fixture, "bob")), (100, 0));

    fixture.put("/api/assets/eur", r#"{"scale": 2}"#).problem(422, "HTTP-028");
    fixture.put("/api/assets/XYZ", r#"{"scale": 19}"#).problem(422, "WAL-007");
    fixture.put("/api/assets/XYZ", r#"{"scale": -1}"#).problem(422, "HTTP-005");
    fixture.post("/api/wallets", r#"{"wallet": "a b", "asset": "EUR"}"#).problem(422, "HTTP-005");
    fixture.post("/api/wallets", r#"{"wallet": "a", "asset": "GOLD"}"#).problem(404, "WAL-020");
    fixture.post("/api/wallets", r#"{"accounts": [{"wallet": "a", "asset": "x"}]}"#).problem(422, "HTTP-005");
    for (path, status, code) in [
        ("/api/wallets/nobody", 404, "WAL-021"),
        ("/api/wallets/alice/GOLD", 404, "WAL-021"),
        ("/api/wallets/no%20name", 422, "HTTP-028"),
        ("/api/wallets/alice/eur", 422, "HTTP-028"),
        ("/api/wallets?after=alice", 400, "HTTP-017"),
        ("/api/wallets?asset=eur", 400, "HTTP-017"),
        ("/api/wallets?limit=1001", 400, "HTTP-017"),
        ("/api/wallets/alice/EUR/history?direction=up", 400, "HTTP-017"),
        ("/api/wallets/alice/EUR/history?before=x", 400, "HTTP-017"),
        ("/api/wallets/alice/EUR/history?from=today", 400, "HTTP-017"),
        ("/api/wallets/alice/EUR/balance?at=noon", 400, "HTTP-017"),
        ("/api/wallets/alice/EUR/statement?format=pdf", 400, "HTTP-017"),
        ("/api/live/wallets?sort=colour", 400, "HTTP-017"),
        ("/api/wallets/roots?shard=x", 400, "HTTP-017"),
        ("/api/transfers/17", 422, "HTTP-028"),
    ] {
        fixture.get(path).problem(status, code);
    }
    fixture.get(&format!("/api/transfers/{ID}")).problem(404, "WAL-022");
}

#[test]
fn roles_allow_to_look_move_and_open() {
    let fixture = money_scene();
    let secret = |role: &str| {
        let made = fixture.post("/api/keys", &format!(r#"{{"name": "{role}", "roles": ["{role}"]}}"#));
        format!("Bearer {}", made.json()["secret"].as_str().expect("a secret"))
    };
    let (reader, bookkeeper, sender) = (secret("viewer"), secret("bookkeeper"), secret("sender"));
    let ask = |method: &str, path: &str, key: &str, body: Option<&str>| {
        fixture.ask(method, path, &[("authorization", key), ("content-type", "application/json")], body)
    };
    for path in [
        "/api/assets",
        "/api/wallets",
        "/api/wallets/alice",
        "/api/wallets/alice/EUR",
        "/api/wallets/alice/holds",
        "/api/wallets/alice/EUR/history",
        "/api/wallets/alice/EUR/balance",
        "/api/wallets/alice/EUR/statement",
        "/api/wallets/roots",
        "/api/live/wallets",
    ] {
        let answer = ask("GET", path, &reader, None);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        fixture.ask("GET", path, &[], None).problem(401, "HTTP-001");
    }
    let body = transfer("@bank", "alice", 5).to_string();
    for path in
        ["/api/transfers", "/api/transfers/batch", "/api/together", &format!("/api/transfers/{ID}/void")]
    {
        ask("POST", path, &reader, Some("{}")).problem(403, "HTTP-003");
        fixture.ask("POST", path, &[], Some("{}")).problem(401, "HTTP-001");
    }
    ask("POST", "/api/transfers", &sender, Some(&body)).problem(403, "HTTP-003");
    let of_the_house = ask("POST", "/api/transfers", &bookkeeper, Some(&body)).problem(403, "HTTP-003");
    assert!(of_the_house["detail"].as_str().expect("text").contains("wallet.transfer:debit=@bank"));
    assert_eq!(fixture.post("/api/transfers", &body).status, 201);
    let body = transfer("alice", "bob", 2).to_string();
    let paid = ask("POST", "/api/transfers", &bookkeeper, Some(&body));
    assert_eq!(paid.status, 201, "{}", paid.text);
    ask("POST", "/api/wallets", &bookkeeper, Some("{}")).problem(403, "HTTP-003");
    ask("PUT", "/api/assets/EUR", &bookkeeper, Some("{}")).problem(403, "HTTP-003");
    ask("PATCH", "/api/wallets/alice/EUR", &bookkeeper, Some("{}")).problem(403, "HTTP-003");
}

#[test]
fn the_live_figures_show_the_movers_and_that_the_books_balance() {
    let fixture = money_scene();
    for _ in 0..3 {
        book(&fixture, "@bank", "alice", 100);
    }
    book(&fixture, "alice", "@shop", 40);
    let repeated = transfer("@bank", "bob", 1);
    for _ in 0..5 {
        post(&fixture, "/api/transfers", repeated.clone());
    }
    eventually("it was looked", || fixture.get("/api/live/wallets").json()["assets"][0]["credit"] == 301);
    let live = fixture.get("/api/live/wallets").json();
    assert_eq!(live["balanced"], true);
    let movers: Vec<_> =
        live["movers"].as_array().expect("a list").iter().map(|mover| mover["wallet"].clone()).collect();
    assert_eq!(movers, ["@bank", "alice", "@shop", "bob"], "a duplicate moves nothing");
    assert_eq!(
        (&live["movers"][1]["transfers"], &live["movers"][1]["credit"], &live["movers"][1]["debit"]),
        (&4.into(), &300.into(), &40.into())
    );
    let shards = live["shards"].as_array().expect("shards");
    assert_eq!(shards.iter().map(|shard| shard["booked"].as_u64().expect("a count")).sum::<u64>(), 5);
    assert!(
        fixture.get("/api/live/wallets?asset=VOTE").json()["movers"].as_array().expect("a list").is_empty()
    );

    let metrics = fixture.get("/metrics").text;
    for name in [
        "stadium_wallet_asset_credit{asset=\"EUR\"} 301.0",
        "stadium_wallet_asset_debit{asset=\"EUR\"} 301.0",
        "stadium_wallet_booked_total{shard=\"0\"}",
        "stadium_wallet_accounts{shard=\"1\"}",
    ] {
        assert!(metrics.contains(name), "{name} is not in\n{metrics}");
    }
}

#[test]
fn wallets_are_starting_until_there_are_shards() {
    let fixture = Fixture::begin();
    fixture.get("/api/wallets").problem(503, "HTTP-026");
    let answer = fixture.post("/api/transfers", &transfer("@bank", "alice", 1).to_string());
    answer.problem(503, "HTTP-026");
    assert_eq!(answer.header("retry-after"), Some("1"));
    fixture.get("/api/live/wallets").problem(503, "HTTP-026");
}
