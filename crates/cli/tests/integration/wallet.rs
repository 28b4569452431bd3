//! Wallets as people use them: `stadium wallet`, the service `wallet`, and pushes that are put with transfers.
//!
//! Black box: the built binary is the server and the client, devices are a few bytes of MQTT.

use crate::binary;

use std::fs;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use binary::device::Device;
use binary::{Server, err, json, out, run_in, stadium, wait_for};
use serde_json::{Value, json};

/// Small files: a test starts many servers.
const SMALL: [&str; 9] = [
    "--trial",
    "--set",
    "journal.segment_bytes=16777216",
    "--set",
    "journal.reserve_bytes=65536",
    "--set",
    "shards.count=2",
    "--set",
    "wallet.seal_after_s=1",
];

fn server() -> Server {
    Server::start(&SMALL)
}

/// A server where EUR and VOTE are known, and alice and bob have accounts of both.
fn bank() -> Server {
    let server = server();
    wallet(&server, &["asset", "EUR", "--scale", "2"]);
    wallet(&server, &["asset", "VOTE"]);
    wallet(&server, &["open", "EUR", "alice", "bob"]);
    wallet(&server, &["open", "VOTE", "alice", "bob"]);
    server
}

/// Runs `stadium wallet ...`, which must work.
fn wallet(server: &Server, arguments: &[&str]) -> Output {
    let done = server.client(&[&["wallet"], arguments].concat());
    assert!(done.status.success(), "{arguments:?}: {}", err(&done));
    done
}

/// Runs `stadium wallet ...`, which must fail with exit code 1, and returns its message.
fn refused(server: &Server, arguments: &[&str]) -> String {
    let done = server.client(&[&["wallet"], arguments].concat());
    assert_eq!(done.status.code(), Some(1), "{arguments:?}: {}{}", out(&done), err(&done));
    err(&done)
}

/// What a wallet's account has: posted, held, available.
fn balance(server: &Server, name: &str, asset: &str) -> (i64, i64, i64) {
    let account = json(&wallet(server, &["show", name, asset, "--json"]));
    let amount = |field: &str| account[field].as_i64().unwrap_or_else(|| panic!("{account}"));
    (amount("posted"), amount("held"), amount("available"))
}

/// The first word that was printed: a transfer's id.
fn id(output: &Output) -> String {
    out(output).split_whitespace().next().expect("an id is printed").to_owned()
}

/// Calls a method of the service over RPC with the admin key.
fn call(server: &Server, method: &str, request: &Value) -> Output {
    let key = server.data().join("admin.key").display().to_string();
    let route = format!("wallet/{method}");
    let address = server.address("rpc");
    let arguments = [
        "service",
        "call",
        &route,
        &request.to_string(),
        "--instance",
        &address,
        "--bearer-file",
        &key,
        "--json",
    ];
    run_in(server.data(), &arguments)
}

fn answered(server: &Server, method: &str, request: &Value) -> Value {
    let done = call(server, method, request);
    assert!(done.status.success(), "{method} {request}: {}{}", out(&done), err(&done));
    json(&done)
}

#[test]
fn an_amount_moves_once_and_nobody_is_overdrawn() {
    let server = bank();
    let uuid = "00000000-0000-4000-8000-000000000001";
    let first = wallet(&server, &["transfer", "@bank", "alice", "12.50", "EUR", "--id", uuid]);
    assert_eq!(id(&first), uuid);
    let again = wallet(&server, &["transfer", "@bank", "alice", "12.50", "EUR", "--id", uuid]);
    assert!(err(&again).contains("had been booked before"), "{}", err(&again));
    assert_eq!(out(&again), out(&first), "the first answer");
    let other = refused(&server, &["transfer", "@bank", "alice", "12.51", "EUR", "--id", uuid]);
    assert!(other.contains("WAL-026"), "{other}");
    wallet(&server, &["transfer", "alice", "bob", "2.5", "EUR", "--reference", "lunch"]);
    let short = refused(&server, &["transfer", "alice", "bob", "10.01", "EUR"]);
    assert!(short.contains("WAL-023"), "{short}");
    assert_eq!(balance(&server, "alice", "EUR"), (1_000, 0, 1_000));
    assert_eq!(balance(&server, "bob", "EUR"), (250, 0, 250));
    assert_eq!(balance(&server, "@bank", "EUR"), (-1_250, 0, -1_250));
    let assets = out(&wallet(&server, &["assets"]));
    assert!(assets.contains("12.50") && assets.contains("balance") && !assets.contains("NOT"), "{assets}");
    let shown = out(&wallet(&server, &["show", "alice"]));
    assert!(shown.contains("EUR") && shown.contains("10.00") && shown.contains("VOTE"), "{shown}");
    let found = out(&wallet(&server, &["find", uuid]));
    assert!(found.contains("posted: 12.50 EUR from @bank to alice"), "{found}");
}

#[test]
fn a_hold_is_captured_voided_or_refused_later() {
    let server = bank();
    wallet(&server, &["transfer", "@bank", "alice", "10", "EUR"]);
    let hold = id(&wallet(&server, &["hold", "alice", "@shop", "4", "EUR", "--expires", "1h"]));
    assert_eq!(balance(&server, "alice", "EUR"), (1_000, 400, 600));
    let holds = json(&wallet(&server, &["holds", "alice", "--json"]));
    assert_eq!(holds["holds"][0]["id"], hold.as_str());
    assert!(
        refused(&server, &["hold", "alice", "@shop", "6.01", "EUR", "--expires", "1h"]).contains("WAL-023")
    );
    assert!(refused(&server, &["capture", &hold, "4.01"]).contains("WAL-028"));
    let captured = id(&wallet(&server, &["capture", &hold, "2.50"]));
    assert_eq!(balance(&server, "alice", "EUR"), (750, 0, 750));
    assert!(refused(&server, &["void", &hold]).contains("WAL-027"));
    wallet(&server, &["reverse", &captured]);
    assert_eq!(balance(&server, "alice", "EUR"), (1_000, 0, 1_000));
    assert!(refused(&server, &["reverse", &captured]).contains("WAL-029"));
    let other = id(&wallet(&server, &["hold", "alice", "bob", "1", "EUR", "--expires", "1h"]));
    wallet(&server, &["void", &other]);
    assert_eq!(balance(&server, "alice", "EUR"), (1_000, 0, 1_000));
    let unknown = "00000000-0000-4000-8000-00000000ffff";
    assert!(refused(&server, &["void", unknown]).contains("WAL-022"));
}

#[test]
fn accounts_follow_their_rules() {
    let server = bank();
    assert!(refused(&server, &["open", "USD", "alice"]).contains("WAL-020"));
    let again = out(&wallet(&server, &["open", "EUR", "alice"]));
    assert!(again.contains("there with the same rules"), "{again}");
    assert!(refused(&server, &["open", "EUR", "alice", "--overdraft", "allowed"]).contains("WAL-031"));
    wallet(&server, &["change", "alice", "EUR", "--ceiling", "5"]);
    assert!(refused(&server, &["transfer", "@bank", "alice", "5.01", "EUR"]).contains("WAL-024"));
    wallet(&server, &["change", "alice", "EUR", "--ceiling", "none", "--overdraft", "allowed"]);
    wallet(&server, &["transfer", "alice", "bob", "3", "EUR"]);
    assert_eq!(balance(&server, "alice", "EUR").0, -300);
    assert!(refused(&server, &["change", "alice", "EUR", "--overdraft", "never"]).contains("WAL-"));
    wallet(&server, &["close", "bob", "EUR"]);
    assert!(refused(&server, &["transfer", "bob", "alice", "1", "EUR"]).contains("WAL-025"));
    wallet(&server, &["reopen", "bob", "EUR"]);
    wallet(&server, &["transfer", "bob", "alice", "1", "EUR"]);
    let listed = out(&wallet(&server, &["list", "a", "--asset", "EUR"]));
    assert!(
        listed.contains("alice") && listed.contains("may be overdrawn") && !listed.contains("bob"),
        "{listed}"
    );
}

#[test]
fn wrong_usage_names_the_right_one() {
    let server = bank();
    let usage = |arguments: &[&str], hint: &str| {
        let done = server.client(&[&["wallet"], arguments].concat());
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {}", err(&done));
        assert!(err(&done).contains(hint), "{arguments:?}: {}", err(&done));
    };
    usage(&["transfer", "alice", "bob", "1.005", "EUR"], "2 digits");
    usage(&["transfer", "alice", "bob", "0", "EUR"], "above zero");
    usage(&["transfer", "alice", "bob"], "required");
    usage(&["transfer", "alice", "bob", "1", "EUR", "--lines"], "cannot be used");
    usage(&["hold", "alice", "bob", "1", "EUR"], "--expires");
    usage(&["change", "alice", "EUR"], "name what becomes different");
    usage(&["show", "alice", "--at", "2030-01-01T00:00:00Z"], "ASSET");
    assert!(refused(&server, &["transfer", "alice", "bob", "1", "USD"]).contains("WAL-020"));
}

#[test]
fn lines_are_booked_each_by_itself_or_all_together() {
    let server = bank();
    let book = |flags: &[&str], lines: &str| {
        use std::io::Write;
        let data = server.data().display().to_string();
        let arguments = [&["wallet", "transfer", "--lines"], flags, &["--data", &data]].concat();
        let mut command = stadium(&arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary can be run");
        child.stdin.take().expect("it is piped").write_all(lines.as_bytes()).expect("it reads");
        child.wait_with_output().expect("it ends")
    };
    let line = |from: &str, to: &str, amount: u64| {
        format!("{}\n", json!({"debit": from, "credit": to, "asset": "VOTE", "amount": amount}))
    };
    let lines: String = (1..=2_100).map(|_| line("@bank", "alice", 1)).collect();
    let booked = book(&[], &lines);
    assert!(booked.status.success() && out(&booked).contains("2,100"), "{}{}", out(&booked), err(&booked));
    let mixed =
        line("alice", "bob", 2_000) + &line("alice", "bob", 2_000) + "\n" + &line("alice", "bob", 100);
    let some = book(&["--json"], &mixed);
    assert_eq!(some.status.code(), Some(1));
    assert!(err(&some).contains("line 2") && err(&some).contains("WAL-023"), "{}", err(&some));
    assert_eq!(balance(&server, "bob", "VOTE").0, 2_100);
    let linked = book(&["--linked"], &(line("bob", "alice", 2_100) + &line("bob", "alice", 1)));
    assert_eq!(linked.status.code(), Some(1));
    assert!(err(&linked).contains("WAL-032"), "{}", err(&linked));
    assert_eq!(balance(&server, "bob", "VOTE").0, 2_100);
    let linked = book(&["--linked"], &(line("bob", "alice", 2_000) + &line("bob", "alice", 100)));
    assert!(linked.status.success(), "{}", err(&linked));
    assert_eq!(balance(&server, "alice", "VOTE").0, 2_100);
    assert!(err(&book(&[], "[1]\n")).contains("line 1"));
}

#[test]
fn history_and_statement_have_every_entry() {
    let server = bank();
    wallet(&server, &["transfer", "@bank", "alice", "10", "EUR"]);
    let before = json(&wallet(&server, &["history", "alice", "EUR", "--json"]));
    let booked = before["entries"][0]["transfer"]["booked_at"].as_str().expect("a timestamp").to_owned();
    // Timestamps have whole milliseconds.
    std::thread::sleep(Duration::from_millis(5));
    for number in 1..=3 {
        let reference = format!("order-{number}");
        wallet(&server, &["transfer", "alice", "@shop", "1", "EUR", "--reference", &reference]);
    }
    let table = out(&wallet(&server, &["history", "alice", "EUR", "--direction", "debit"]));
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(table.contains("-1.00") && table.contains("order-3") && table.contains("7.00"), "{table}");
    let one = json(&wallet(&server, &["history", "alice", "EUR", "--reference", "order-2", "--json"]));
    assert_eq!(one["entries"].as_array().map(Vec::len), Some(1), "{one}");
    assert_eq!((&one["entries"][0]["number"], &one["entries"][0]["balance"]), (&3.into(), &800.into()));
    let then = out(&wallet(&server, &["show", "alice", "EUR", "--at", &booked]));
    assert_eq!(then.trim(), "10.00 EUR");
    let csv = out(&wallet(&server, &["statement", "alice", "EUR"]));
    assert_eq!(csv.lines().count(), 5, "{csv}");
    assert!(csv.contains("order-1"), "{csv}");
    wallet(&server, &["statement", "alice", "EUR", "--format", "json", "--output", "all.json"]);
    let file = fs::read(server.data().join("all.json")).expect("it was written");
    let statement: Value = serde_json::from_slice(&file).expect("it is JSON");
    assert!(statement.to_string().contains("order-3"), "{statement}");
    assert!(refused(&server, &["statement", "nobody", "EUR", "--output", "none.csv"]).contains("WAL-021"));
    assert!(!server.data().join("none.csv").exists());
}

#[test]
fn the_service_follows_its_contract() {
    let server = bank();
    // Bytes are base64 in the JSON form of Protocol Buffers: 16 bytes of zero but for the last.
    let id = |last: &str| format!("AAAAAAAAAAAAAAAAAAAA{last}==");
    let post = |last: &str, debit: &str, credit: &str, amount: u64| {
        let post = json!({"debit": debit, "credit": credit, "asset": "VOTE", "amount": amount.to_string()});
        json!({"id": id(last), "post": post, "reference": "rpc"})
    };
    let request = json!({"transfers": [post("AQ", "@bank", "alice", 5), post("Ag", "alice", "bob", 6)]});
    let outcomes = answered(&server, "Transfer", &request);
    assert!(outcomes["outcomes"][0]["booked_at_ms"].as_u64() > Some(0), "{outcomes}");
    assert_eq!(outcomes["outcomes"][1]["refused"]["code"], "WAL-023", "{outcomes}");
    let again = answered(&server, "Transfer", &request);
    assert_eq!(again["outcomes"][0]["duplicate"], true, "{again}");
    assert_eq!(again["outcomes"][0]["booked_at_ms"], outcomes["outcomes"][0]["booked_at_ms"]);
    let found = answered(&server, "Find", &json!({"transfer": id("AQ")}));
    assert_eq!((&found["credit"], &found["reference"]), (&"alice".into(), &"rpc".into()), "{found}");
    let wallets = answered(&server, "Wallet", &json!({"wallets": ["alice", "bob", "nobody"]}));
    assert_eq!(wallets["accounts"].as_array().map(Vec::len), Some(4), "{wallets}");
    let history = answered(&server, "History", &json!({"wallet": "alice", "asset": "VOTE"}));
    assert_eq!(history["entries"][0]["balance"], 5, "{history}");
    let statement = answered(&server, "Statement", &json!({"wallet": "alice", "asset": "VOTE"}));
    assert_eq!(statement["balance"], 5, "{statement}");
    let assets = answered(&server, "Assets", &json!({}));
    assert_eq!((&assets["assets"][1]["credit"], &assets["assets"][1]["debit"]), (&"5".into(), &"5".into()));
    let wrong = call(&server, "Transfer", &json!({"transfers": [{"id": "AQ=="}]}));
    assert_eq!(wrong.status.code(), Some(65), "{}", err(&wrong));
    assert!(err(&wrong).contains("transfers[0]: id has 1 bytes"), "{}", err(&wrong));
    wait_for("a seal", || {
        let roots = answered(&server, "Roots", &json!({}));
        roots["roots"].as_array().filter(|roots| !roots.is_empty()).map(|_| ())
    });
}

/// A vote that is debited, counted and confirmed in one unit.
fn vote(last: &str, device: &str, message: &str) -> Value {
    let post = json!({"debit": "alice", "credit": "@candidate:7", "asset": "VOTE", "amount": "1"});
    json!({
        "transfers": [{"id": format!("AAAAAAAAAAAAAAAAAAAA{last}=="), "post": post}],
        "jobs": [{"queue": "votes", "job": {"payload": "dm90ZQ=="}}],
        "pushes": [{"device": device, "message": message}],
    })
}

#[test]
fn a_debit_a_job_and_a_push_happen_together_or_not_at_all() {
    let server = bank();
    wallet(&server, &["transfer", "@bank", "alice", "1", "VOTE"]);
    let mut phone = Device::connect(&server.address("mqtt"), "phone");
    phone.subscribe("inbox/phone");
    // "thank you" and "never" in base64.
    let units = json!({"units": [vote("AQ", "phone", "dGhhbmsgeW91"), vote("Ag", "phone", "bmV2ZXI=")]});
    let outcomes = answered(&server, "Together", &units);
    let [first, second] = [&outcomes["outcomes"][0], &outcomes["outcomes"][1]];
    assert_eq!(first["placed"]["jobs"].as_array().map(Vec::len), Some(2), "{outcomes}");
    assert_eq!(second["refused"]["code"], "WAL-023", "{outcomes}");
    assert_eq!(phone.message(), ("inbox/phone".to_owned(), "thank you".to_owned()));
    let again = answered(&server, "Together", &units);
    assert_eq!(again["outcomes"][0]["transfers"][0]["duplicate"], true, "{again}");
    assert!(again["outcomes"][0]["placed"].is_null(), "{again}");
    let votes = json(&server.client(&["queue", "stats", "votes", "--json"]));
    assert_eq!(votes["jobs"]["due"], 1, "{votes}");
    wait_for("the push's job to be settled", || {
        let pushes = json(&server.client(&["queue", "stats", "stadium.pushes", "--json"]));
        (pushes["totals"]["settled"] == 1).then_some(())
    });
}

#[test]
fn a_push_that_was_put_with_a_transfer_survives_the_server() {
    let server = bank();
    wallet(&server, &["transfer", "@bank", "alice", "1", "VOTE"]);
    // So that nobody pushes it before the server is killed.
    assert!(server.client(&["queue", "pause", "stadium.pushes"]).status.success());
    let outcomes = answered(&server, "Together", &json!({"units": [vote("AQ", "phone", "dGhhbmsgeW91")]}));
    assert_eq!(outcomes["outcomes"][0]["placed"]["jobs"].as_array().map(Vec::len), Some(2), "{outcomes}");
    server.signal("KILL");
    let server = server.again(&SMALL);
    let mut phone = Device::connect(&server.address("mqtt"), "phone");
    phone.subscribe("inbox/phone");
    assert!(server.client(&["queue", "resume", "stadium.pushes"]).status.success());
    assert_eq!(phone.message(), ("inbox/phone".to_owned(), "thank you".to_owned()));
    assert_eq!(balance(&server, "alice", "VOTE"), (0, 0, 0));
}

#[test]
fn a_push_that_can_never_be_made_is_buried_with_the_reason() {
    let server = server();
    let put = server.client(&["queue", "put", "stadium.pushes", "no push", "{\"to\":\"everybody\"}"]);
    assert!(put.status.success(), "{}", err(&put));
    let buried = wait_for("both to be buried", || {
        let list = json(&server.client(&["queue", "peek", "stadium.pushes", "--state", "buried", "--json"]));
        (list["jobs"].as_array().map(Vec::len) == Some(2)).then_some(list)
    });
    assert!(buried.to_string().contains("message"), "{buried}");
}

#[test]
fn a_drain_does_not_wait_for_workers_that_wait_for_jobs() {
    let mut server = server();
    // Only a queue that exists reports how many wait.
    assert!(server.client(&["queue", "declare", "idle"]).status.success());
    let data = server.data().display().to_string();
    let url = server.ready["http_url"].as_str().expect("it has one").to_owned();
    let key = fs::read_to_string(server.data().join("admin.key")).expect("there is a key");
    let waiting = std::thread::spawn(move || {
        let agent = ureq::agent();
        let body = r#"{"wait_ms": 60000}"#;
        let asked = agent
            .post(format!("{url}/api/queues/idle/reserve"))
            .header("Authorization", format!("Bearer {}", key.trim()))
            .header("Content-Type", "application/json")
            .send(body);
        asked.map(|answer| answer.status().as_u16())
    });
    wait_for("the consumer to wait", || {
        let done = stadium(&["queue", "stats", "idle", "--json", "--data", &data]).output().ok()?;
        let stats: Value = serde_json::from_slice(&done.stdout).ok()?;
        (stats["waiting"] == 1).then_some(())
    });
    let began = Instant::now();
    server.signal("TERM");
    assert!(server.ended().success());
    let took = began.elapsed();
    assert!(took < Duration::from_secs(4), "the drain took {took:?}");
    let answered = waiting.join().expect("it does not panic");
    assert_eq!(answered.expect("the consumer is answered"), 200);
}

#[test]
fn books_are_examined_with_and_without_the_server() {
    let mut server = bank();
    let data = server.data().display().to_string();
    wallet(&server, &["transfer", "@bank", "alice", "10", "EUR"]);
    let lunch = id(&wallet(&server, &["transfer", "alice", "bob", "2.50", "EUR", "--reference", "lunch"]));
    wallet(&server, &["transfer", "alice", "@shop", "1", "EUR", "--reference", "order-2"]);
    let compared = out(&wallet(&server, &["verify", &data, "--compare"]));
    assert!(compared.contains("the books balance, and the server agrees"), "{compared}");

    wait_for("a receipt", || {
        let receipt = ["wallet", "receipt", &data, &lunch, "--output", "receipt.json"];
        run_in(server.data(), &receipt).status.success().then_some(())
    });
    let published = wallet(&server, &["roots", "--json"]);
    fs::write(server.data().join("roots.json"), &published.stdout).expect("the directory is writable");
    server.signal("TERM");
    assert!(server.ended().success());
    let offline = |arguments: &[&str]| run_in(server.data(), &[&["wallet"], arguments].concat());
    let kept = offline(&["roots", "--from", &data, "--json"]);
    fs::write(server.data().join("kept.json"), &kept.stdout).expect("the directory is writable");
    for roots in ["roots.json", "kept.json"] {
        let proved = offline(&["check", "receipt.json", "--roots", roots]);
        assert!(proved.status.success(), "{}", err(&proved));
        assert!(out(&proved).contains("2.50 EUR from alice to bob"), "{}", out(&proved));
    }
    let strange = offline(&["check", "receipt.json", "--root", &"ab".repeat(32)]);
    assert!(strange.status.code() == Some(1) && err(&strange).contains("ADT-033"), "{}", err(&strange));
    let unknown = offline(&["receipt", &data, "00000000-0000-4000-8000-00000000ffff"]);
    assert!(unknown.status.code() == Some(1) && err(&unknown).contains("ADT-030"), "{}", err(&unknown));

    let sound = json(&offline(&["verify", &data, "--json"]));
    assert_eq!((&sound["sound"], &sound["assets"][0]["credit"]), (&true.into(), &1_000.into()), "{sound}");
    fs::write(
        server.data().join("bill.csv"),
        "order_id,amount,currency\nlunch,2.50,EUR\norder-2,1.50,EUR\nnone,1,EUR\n",
    )
    .expect("the directory is writable");
    let bill = offline(&["reconcile", &data, "bill.csv", "--wallet", "alice", "--json"]);
    assert_eq!(bill.status.code(), Some(1));
    assert!(
        err(&bill).contains("1 rows differ, 1 are on the bill only, 1 in the books only"),
        "{}",
        err(&bill)
    );
    let empty = offline(&["verify", &server.data().join("shards/none").display().to_string()]);
    assert!(empty.status.code() == Some(1) && err(&empty).contains("ADT-001"), "{}", err(&empty));
}
