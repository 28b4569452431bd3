//! `stadium service` against a service that this suite serves, and against a server's own service.
//!
//! The contract is compiled here and described by the service itself; the binary learns it from
//! there alone.

use crate::binary;

use std::fs;
use std::net::SocketAddr;
use std::process::Output;
use std::time::Duration;

use binary::device::Device;
use binary::{Server, err, json, out, run, wait_for};
use prost::Message;
use serde_json::{Value, json};
use stadium_rpc::{Listen, Method, Operations, Refusal, ServerConfig, Service, StreamReceiver, StreamSender};

/// Figures that operators of the numbers show.
const OPERATORS: &str = "of-the-operators";

const CONTRACT: &str = r#"
    syntax = "proto3";
    package numbers.v1;
    import "google/protobuf/empty.proto";
    message Number { sint64 value = 1; repeated string notes = 2; }
    message Range { uint32 until = 1; }
    service Numbers {
        rpc Double(Number) returns (Number) { option idempotency_level = NO_SIDE_EFFECTS; }
        rpc Count(Range) returns (stream Number);
        rpc Full(Number) returns (Number);
        rpc Never(Number) returns (Number);
        rpc Note(Number) returns (google.protobuf.Empty);
        rpc Sum(stream Number) returns (stream Number);
    }
"#;

#[derive(Clone, PartialEq, Message)]
struct Number {
    #[prost(sint64, tag = "1")]
    value: i64,
    #[prost(string, repeated, tag = "2")]
    notes: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Range {
    #[prost(uint32, tag = "1")]
    until: u32,
}

/// The numbers on a free port, until it is dropped.
struct Numbers {
    server: stadium_rpc::Server,
}

impl Numbers {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let file = folder.path().join("numbers.proto");
        fs::write(&file, CONTRACT).expect("the directory is writable");
        let descriptors = protox::compile([&file], [folder.path()]).expect("the contract is well formed");
        let service = Service::new("numbers", "1")
            .descriptors(descriptors.encode_to_vec())
            .inline(&Method::unary("numbers/Double"), |_, number: &Number, answer: &mut Number| {
                answer.value = number.value.checked_mul(2).ok_or_else(|| {
                    Refusal::rejected("NUM-001", format!("twice {} is too much", number.value))
                })?;
                answer.notes.clone_from(&number.notes);
                Ok(())
            })
            .streaming(&Method::stream("numbers/Count"), |_, range: Range, out| async move {
                for value in 1..=i64::from(range.until) {
                    if out.send(Number { value, notes: Vec::new() }).await.is_err() {
                        break;
                    }
                }
                Ok(())
            })
            .inline(&Method::unary("numbers/Full"), |_, _: &Number, _: &mut Number| {
                Err(Refusal::busy(Duration::from_millis(120), "no room for numbers"))
            })
            .asynchronous(&Method::unary("numbers/Never"), |_, _: Number| {
                std::future::pending::<Result<Number, Refusal>>()
            })
            .inline(&Method::one_way("numbers/Note"), |_, _: &Number, (): &mut ()| Ok(()))
            .channel(
                &Method::<Number, Number>::channel("numbers/Sum"),
                |_, numbers: StreamReceiver<Number>, out: StreamSender<Number>| async move {
                    let mut sum = Number::default();
                    while let Ok(Some(number)) = numbers.next().await {
                        sum.value = sum.value.saturating_add(number.value);
                    }
                    let _ = out.send(sum).await;
                    Ok(())
                },
            );
        let listen = vec![Listen::tcp(SocketAddr::from(([127, 0, 0, 1], 0)))];
        let operations = Operations::bearer(OPERATORS);
        let config = ServerConfig { listen, operations, ..ServerConfig::default() };
        Self { server: stadium_rpc::Server::start(config, vec![service]).expect("a free port") }
    }

    fn address(&self) -> String {
        self.server.bound()[0].to_string()
    }

    fn service(&self, arguments: &[&str]) -> Output {
        let address = self.address();
        let mut all = vec!["service"];
        all.extend_from_slice(arguments);
        all.extend_from_slice(&["--instance", &address]);
        run(&all)
    }
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn a_call_takes_json_and_gives_json() {
    let numbers = Numbers::start();
    let doubled = numbers.service(&["call", "numbers/Double", r#"{"value": 21, "notes": ["a"]}"#]);
    assert_eq!(json(&doubled), json!({"value": 42, "notes": ["a"]}), "{}", err(&doubled));
    let nothing = numbers.service(&["call", "numbers/Double"]);
    assert_eq!(json(&nothing), json!({"value": 0, "notes": []}), "an empty request has the defaults");
}

#[test]
fn a_request_is_read_from_standard_input() {
    let numbers = Numbers::start();
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let request = folder.path().join("request.json");
    fs::write(&request, r#"{"value": -4}"#).expect("the directory is writable");
    let mut command =
        binary::stadium(&["service", "call", "numbers/Double", "-", "--instance", &numbers.address()]);
    let input = fs::File::open(&request).expect("it was written");
    let doubled = command.stdin(input).output().expect("the binary can be run");
    assert_eq!(json(&doubled)["value"], json!(-8), "{}", err(&doubled));
}

#[test]
fn the_exit_code_is_the_outcome_of_a_call() {
    let numbers = Numbers::start();
    let most = format!(r#"{{"value": {}}}"#, i64::MAX);
    let table: [(&[&str], i32, &str); 7] = [
        (&["call", "numbers/Full"], 75, "no room for numbers"),
        (&["call", "numbers/Double", &most], 65, "is too much (NUM-001)"),
        (&["call", "numbers/Triple"], 65, "there is no numbers/Triple; there are numbers/Double"),
        (&["call", "numbers/Never", "--deadline", "300ms"], 124, "the deadline passed"),
        (&["call", "numbers/Double", r#"{"valeu": 1}"#], 2, "value: sint64"),
        (&["call", "numbers/quiesce"], 2, "the framework's own"),
        (&["call", "numbers/Sum"], 2, "takes a stream of requests"),
    ];
    for (arguments, expected, expected_error) in table {
        let ended = numbers.service(arguments);
        assert_eq!(code(&ended), Some(expected), "{arguments:?}: {}", err(&ended));
        assert!(err(&ended).contains(expected_error), "{arguments:?}: {}", err(&ended));
    }
    let address = numbers.address();
    drop(numbers);
    let ended = run(&["service", "call", "numbers/Double", "--instance", &address, "--deadline", "1s"]);
    assert_eq!(code(&ended), Some(69), "{}", err(&ended));
}

#[test]
fn a_stream_is_printed_one_answer_a_line() {
    let numbers = Numbers::start();
    let values = |arguments: &[&str]| -> Vec<i64> {
        let counted = numbers.service(arguments);
        assert!(counted.status.success(), "{}", err(&counted));
        let lines = out(&counted);
        let value =
            |line: &str| serde_json::from_str::<Value>(line).expect("a line of JSON")["value"].as_i64();
        lines.lines().filter_map(value).collect()
    };
    let range = r#"{"until": 500}"#;
    assert_eq!(values(&["call", "numbers/Count", range, "--credit", "1"]), (1..=500).collect::<Vec<_>>());
    assert_eq!(values(&["call", "numbers/Count", range, "--take", "3"]), [1, 2, 3]);
}

#[test]
fn a_request_without_answer_has_left_when_the_command_ends() {
    let numbers = Numbers::start();
    let noted = numbers.service(&["call", "numbers/Note", r#"{"value": 7}"#]);
    assert!(noted.status.success() && noted.stdout.is_empty(), "{} {}", out(&noted), err(&noted));
    let statistics = wait_for("the note to be counted", || {
        let statistics = numbers.server.statistics("numbers").expect("it is served");
        statistics.methods.into_iter().find(|method| method.route == "numbers/Note" && method.ok == 1)
    });
    assert_eq!(statistics.rejected, 0);
}

#[test]
fn explain_shows_the_instances_and_the_choice() {
    let numbers = Numbers::start();
    let call = ["call", "numbers/Double", r#"{"value": 1}"#, "--explain", "--key", "k"];
    let shown = numbers.service(&call);
    assert_eq!(json(&shown)["value"], 2, "standard output has the answer alone");
    assert!(err(&shown).contains(&format!("chosen {}", numbers.address())), "{}", err(&shown));
    let shown = json(&numbers.service(&[&call[..], &["--json"]].concat()));
    assert_eq!(shown["answer"]["value"], 2);
    assert_eq!(shown["explanation"]["chosen"], json!(numbers.address()));
    assert_eq!(shown["explanation"]["reason"], "key");
}

#[test]
fn a_service_describes_itself() {
    let numbers = Numbers::start();
    let text = out(&numbers.service(&["describe", "numbers"]));
    for part in [
        "numbers version 1",
        "numbers/Double(numbers.v1.Number) numbers.v1.Number: request, answer, idempotent",
        "numbers/Count(numbers.v1.Range) numbers.v1.Number: request, stream of answers",
        "notes: list of string",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    let shown = json(&numbers.service(&["describe", "numbers", "--json"]));
    assert_eq!(shown["methods"].as_array().map(Vec::len), Some(6));
    assert_eq!(shown["methods"][1]["interaction"], "request_stream");
}

#[test]
fn a_file_is_a_discovery() {
    let (one, other) = (Numbers::start(), Numbers::start());
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let file = folder.path().join("services");
    let lines = format!("numbers/1={}\nnumbers/1={} # the other\n", one.address(), other.address());
    fs::write(&file, lines).expect("the directory is writable");
    let discovery = file.display().to_string();
    let listed = json(&run(&["service", "list", "--discovery", &discovery, "--json"]));
    assert_eq!(listed["services"][0]["instances"].as_array().map(Vec::len), Some(2), "{listed}");
    let called = run(&["service", "call", "numbers/Double", r#"{"value": 3}"#, "--discovery", &discovery]);
    assert_eq!(json(&called)["value"], 6, "{}", err(&called));

    let gone = other.address();
    drop(other);
    let health =
        run(&["service", "health", "numbers", "--discovery", &discovery, "--deadline", "1s", "--json"]);
    assert_eq!(code(&health), Some(0), "one still serves");
    let shown = json(&health);
    let status = |address: &str| {
        let instances = shown["instances"].as_array().expect("it is a list");
        instances.iter().find(|one| one["instance"] == address).expect("it is listed")["status"].clone()
    };
    assert_eq!((status(&one.address()), status(&gone)), (json!("serving"), json!("unreachable")));
    let nobody = run(&["service", "health", "letters", "--discovery", &discovery]);
    assert_eq!(code(&nobody), Some(69), "{}", err(&nobody));
}

#[test]
fn an_instance_is_named_by_its_host() {
    let numbers = Numbers::start();
    let port = numbers.server.bound()[0].port();
    let named = format!("localhost:{port}");
    let double = ["service", "call", "numbers/Double", r#"{"value": 21}"#];
    let called = run(&[&double[..], &["--instance", &named]].concat());
    assert_eq!(json(&called)["value"], 42, "{}", err(&called));
    let health = json(&run(&["service", "health", "numbers", "--instance", &named, "--json"]));
    assert_eq!(health["instances"], json!([{"instance": named, "status": "serving", "detail": ""}]));

    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let file = folder.path().join("services");
    // RFC 6761: no name below `invalid` is ever found.
    let lines = format!("numbers/1={named}\nnumbers/1=away.invalid:{port}\nletters/1=away.invalid:{port}\n");
    fs::write(&file, lines).expect("the directory is writable");
    let discovery = file.display().to_string();
    let run = |arguments: &[&str]| {
        // Where the name server is not reached, that does not take longer than the command.
        let mut command = binary::stadium(arguments);
        command.env("RES_OPTIONS", "timeout:1 attempts:1").output().expect("the binary can be run")
    };
    let called = run(&[&double[..], &["--discovery", &discovery, "--explain"]].concat());
    assert_eq!(json(&called)["value"], 42, "{}", err(&called));
    let missing = format!("away.invalid:{port} is not found: ");
    assert!(err(&called).contains(&missing), "{}", err(&called));
    let listed = run(&["service", "list", "--discovery", &discovery, "--json"]);
    let services = json(&listed)["services"].clone();
    assert_eq!((&services[0]["name"], &services[0]["instances"]), (&json!("letters"), &json!([])));
    let addresses = services[1]["instances"].as_array().expect("a list").iter();
    let addresses: Vec<&str> = addresses.filter_map(|one| one["address"].as_str()).collect();
    assert!(addresses.contains(&numbers.address().as_str()), "{addresses:?}");
    assert!(err(&listed).contains(&missing), "{}", err(&listed));
    for command in [&["health", "letters"][..], &["call", "letters/Write"][..]] {
        let nobody = run(&[&["service"], command, &["--discovery", &discovery]].concat());
        assert_eq!(code(&nobody), Some(69), "{command:?}: {}", err(&nobody));
        assert!(err(&nobody).contains(&missing), "{command:?}: {}", err(&nobody));
    }
}

#[test]
fn an_instance_that_is_no_host_and_port_is_refused_with_the_setting() {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let file = folder.path().join("services");
    for (place, expected_error) in [
        ("localhost", "the port is missing"),
        (":7800", "the host is missing"),
        ("localhost:0", "from 1 to 65535"),
        ("localhost:70000", "from 1 to 65535"),
        ("local host:7800", "letters, digits"),
    ] {
        let flag = run(&["service", "health", "numbers", "--instance", place]);
        assert_eq!(code(&flag), Some(2), "{}", err(&flag));
        assert!(err(&flag).contains("--instance: ") && err(&flag).contains(expected_error), "{}", err(&flag));
        fs::write(&file, format!("numbers/1={place}\n")).expect("the directory is writable");
        let listed = run(&["service", "list", "--discovery", &file.display().to_string()]);
        assert_eq!(code(&listed), Some(2), "{}", err(&listed));
        assert!(
            err(&listed).contains("services:1: ") && err(&listed).contains(expected_error),
            "{}",
            err(&listed)
        );
        let setting = format!("discovery.services=numbers/1={place}");
        let checked =
            run(&["config", "check", "--no-ports", "--set", "discovery.backend=static", "--set", &setting]);
        assert_eq!(code(&checked), Some(1), "{}", err(&checked));
        assert!(
            err(&checked).contains("discovery.services") && err(&checked).contains(expected_error),
            "{}",
            err(&checked)
        );
    }
}

#[test]
fn a_server_finds_services_of_its_settings_by_name() {
    let numbers = Numbers::start();
    let place = format!("discovery.services=numbers/1=localhost:{}", numbers.server.bound()[0].port());
    let server = Server::start(&["--trial", "--set", "discovery.backend=static", "--set", &place]);
    let mut device = Device::connect(&server.address("mqtt"), "phone-1");
    device.subscribe("inbox/phone-1");
    let number = Number { value: 21, notes: Vec::new() }.encode_to_vec();
    device.request("rpc/numbers/Double", "inbox/phone-1", &number);
    let (topic, answer) = device.message();
    assert_eq!(topic, "inbox/phone-1");
    assert_eq!(Number::decode(answer.as_bytes()).expect("a number").value, 42);
}

#[test]
fn an_instance_is_asked_to_leave() {
    let numbers = Numbers::start();
    let address = numbers.address();
    let ask = ["service", "quiesce", "numbers", &address, "--within", "1s", "--json"];
    let refused = run(&ask);
    assert_eq!(code(&refused), Some(65), "{}", err(&refused));
    assert!(err(&refused).contains("RPC-012"), "{}", err(&refused));
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let token = folder.path().join("token");
    fs::write(&token, format!("{OPERATORS}\n")).expect("the directory is writable");
    let quiesced = run(&[&ask[..], &["--bearer-file", &token.display().to_string()]].concat());
    assert_eq!(json(&quiesced)["inflight"], 0, "{}", err(&quiesced));
    wait_for("the server to quiesce", || numbers.server.is_quiescing().then_some(()));
    let refused = numbers.service(&["call", "numbers/Double", "--deadline", "1s"]);
    assert!(matches!(code(&refused), Some(69 | 75)), "{:?} {}", code(&refused), err(&refused));
}

#[test]
fn a_servers_own_service_pushes_for_those_with_a_key() {
    let server = Server::start(&["--trial"]);
    let instance = server.address("rpc");
    let mut device = Device::connect(&server.address("mqtt"), "phone-1");
    device.subscribe("channels/everybody");
    let key = server.data().join("admin.key").display().to_string();
    let push = r#"{"everybody": true, "message": "R29hbCE="}"#;
    let call = ["service", "call", "stadium/Push", push, "--instance", &instance];
    let refused = run(&call);
    assert_eq!(code(&refused), Some(65));
    assert!(err(&refused).contains("NODE-009"), "{}", err(&refused));
    let pushed = run(&[&call[..], &["--bearer-file", &key]].concat());
    assert!(json(&pushed)["id"].as_str().is_some_and(|id| !id.is_empty()), "{}", err(&pushed));
    assert_eq!(device.message(), ("channels/everybody".to_owned(), "Goal!".to_owned()));
}

#[test]
fn a_servers_log_level_is_changed_while_it_runs() {
    let server = Server::start(&["--trial"]);
    let instance = server.address("rpc");
    let ask = ["service", "log-level", "stadium", "--instance", &instance, "--json"];
    let refused = run(&ask);
    assert_eq!(code(&refused), Some(65), "{}", err(&refused));
    assert!(err(&refused).contains("NODE-009"), "{}", err(&refused));
    let key = server.data().join("admin.key").display().to_string();
    let level = |arguments: &[&str]| {
        let asked = run(&[&ask[..], arguments, &["--bearer-file", &key]].concat());
        json(&asked)["instances"][0]["level"].clone()
    };
    assert_eq!(level(&[]), "info");
    assert_eq!(level(&["debug"]), "debug");
    assert_eq!(level(&[]), "debug");
}

#[test]
fn a_server_drains_while_a_caller_is_connected() {
    let mut server = Server::start(&["--trial"]);
    let instance = server.address("rpc");
    assert!(run(&["service", "health", "stadium", "--instance", &instance]).status.success());
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    let health = run(&["service", "health", "stadium", "--instance", &instance, "--deadline", "500ms"]);
    assert_eq!(code(&health), Some(69));
}
