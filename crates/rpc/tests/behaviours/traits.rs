//! What the framework answers for every service, and to whom.
//!
//! Operating methods are for operators alone; the others answer anybody, also while the service is full.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use stadium_rpc::proto::{self, health::Status, log_level_request::Level};
use stadium_rpc::{Call, CallContext, CallOptions, Method, Operations, ServerConfig, StreamSender};
use stadium_rsocket::frame::Interaction;
use stadium_rsocket::metadata::authentication::{self, Authentication};

use crate::fixture::*;

const HEALTH: Method<proto::HealthRequest, proto::Health> = Method::unary("words/health");
const DESCRIBE: Method<proto::DescribeRequest, proto::Description> = Method::unary("words/describe");
const STATISTICS: Method<proto::StatisticsRequest, proto::Statistics> = Method::unary("words/statistics");
const QUIESCE: Method<proto::QuiesceRequest, proto::Quiesced> = Method::unary("words/quiesce");
const LOG_LEVEL: Method<proto::LogLevelRequest, proto::LogLevel> = Method::unary("words/log-level");

/// What operators of these tests show.
const TOKEN: &str = "of the operators";

/// Settings of a server that operators with [`TOKEN`] may end.
fn operated() -> ServerConfig {
    ServerConfig { operations: Operations::bearer(TOKEN), ..server_config() }
}

/// Metadata of a call that shows a token.
fn bearer(token: &str) -> Vec<u8> {
    let mut metadata = Vec::new();
    authentication::write(&mut metadata, Authentication::Bearer(token));
    metadata
}

#[test]
fn operating_methods_are_off_unless_the_server_names_operators() {
    let control = |_: Option<&str>| panic!("nobody may ask");
    let server = serve_with(ServerConfig { log_level: Some(Arc::new(control)), ..server_config() }, echo());
    for route in ["words/quiesce", "words/log-level"] {
        // Any RSocket client, and one that guesses a token.
        let mut plain = crate::plain::Plain::dial(&server);
        for guess in [Vec::new(), bearer(""), bearer(TOKEN)] {
            let mut metadata = Vec::new();
            stadium_rsocket::metadata::write_route(&mut metadata, route);
            metadata.extend_from_slice(&guess);
            plain.ask_with(Interaction::RequestResponse, 1, Some(&metadata), &[]);
            let crate::plain::Got::Failed { code, text, .. } = plain.next() else { panic!("it is refused") };
            assert_eq!((code.0, &text[..9]), (0x201, "RPC-012: "), "{route}: {text}");
        }
    }
    assert!(!server.is_quiescing());
    let words = client_of(&[&server]).service("words");
    assert_eq!(words.call(&ECHO, &word("on")).wait(), Ok(word("on")), "it goes on");
}

#[test]
fn operating_methods_are_for_operators_alone() {
    let server = serve_with(operated(), echo());
    let words = client_of(&[&server]).service("words");
    let ask = |metadata: &[u8]| {
        let options = CallOptions { metadata, ..CallOptions::default() };
        words.call_with(&QUIESCE, &proto::QuiesceRequest::default(), &options).wait()
    };
    for wrong in [Vec::new(), bearer(""), bearer("of the operator"), bearer("of the operators!")] {
        assert_eq!(rejection(ask(&wrong)).0, "RPC-012");
    }
    assert_eq!(words.call(&ECHO, &word("on")).wait(), Ok(word("on")), "it goes on");
    assert!(!server.is_quiescing());
    assert!(ask(&bearer(TOKEN)).is_ok());
    until("it quiesces", || server.is_quiescing());
}

#[test]
fn an_empty_token_makes_nobody_an_operator() {
    let server = serve_with(ServerConfig { operations: Operations::bearer(""), ..server_config() }, echo());
    let words = client_of(&[&server]).service("words");
    for metadata in [&[][..], &bearer("")] {
        let options = CallOptions { metadata, ..CallOptions::default() };
        let answer = words.call_with(&QUIESCE, &proto::QuiesceRequest::default(), &options).wait();
        assert_eq!(rejection(answer).0, "RPC-012");
    }
}

#[test]
fn service_describes_itself() {
    let service = echo()
        .inline(&TELL, |_: &Call<'_>, _: &Word, _: &mut Word| Ok(()))
        .streaming(&COUNT, |_: CallContext, _: Word, _: StreamSender<Word>| async { Ok(()) })
        .descriptors(b"");
    let server = serve(service);
    let words = client_of(&[&server]).service("words");
    let description = words.call(&DESCRIBE, &proto::DescribeRequest {}).wait().expect("it answers");
    assert_eq!((&*description.name, &*description.version), ("words", "1"));
    let methods: Vec<_> =
        description.methods.iter().map(|one| (&*one.route, one.interaction().as_str_name())).collect();
    assert_eq!(
        methods,
        [
            ("words/Echo", "REQUEST_RESPONSE"),
            ("words/Tell", "FIRE_AND_FORGET"),
            ("words/Count", "REQUEST_STREAM")
        ]
    );
}

#[test]
fn statistics_count_every_end() {
    let server =
        serve(words().inline(
            &ECHO,
            |_: &Call<'_>, request: &Word, _: &mut Word| {
                if request.number.is_multiple_of(2) { Ok(()) } else { Err(no()) }
            },
        ));
    let words = client_of(&[&server]).service("words");
    for round in 0..11 {
        let _ = words.call(&ECHO, &number(round)).wait();
    }
    let statistics = words.call(&STATISTICS, &proto::StatisticsRequest {}).wait().expect("it answers");
    assert_eq!((statistics.methods[0].ok, statistics.methods[0].rejected), (6, 5));
    assert_eq!((statistics.connections, statistics.methods.len()), (1, 1));
    assert_eq!(Some(statistics.methods), server.statistics("words").map(|now| now.methods));
    assert!(server.statistics("others").is_none());
}

#[test]
fn log_level_is_asked_for_and_set() {
    let level = Arc::new(Mutex::new("info".to_owned()));
    let control = {
        let level = Arc::clone(&level);
        move |wanted: Option<&str>| {
            let mut level = level.lock().expect("no test panics with it");
            if let Some(wanted) = wanted {
                wanted.clone_into(&mut level);
            }
            Ok(level.clone())
        }
    };
    let server = serve_with(ServerConfig { log_level: Some(Arc::new(control)), ..operated() }, echo());
    let words = client_of(&[&server]).service("words");
    let metadata = bearer(TOKEN);
    let options = CallOptions { metadata: &metadata, ..CallOptions::default() };
    let ask = |level: Level| {
        let request = proto::LogLevelRequest { level: level.into() };
        words.call_with(&LOG_LEVEL, &request, &options).wait().map(|answer| answer.level())
    };
    assert_eq!(ask(Level::Unspecified), Ok(Level::Info));
    assert_eq!(ask(Level::Debug), Ok(Level::Debug));
    assert_eq!(*level.lock().expect("no test panics with it"), "debug");
    let without = serve_with(operated(), echo());
    let words = client_of(&[&without]).service("words");
    let answer = words.call_with(&LOG_LEVEL, &proto::LogLevelRequest::default(), &options).wait();
    assert_eq!(rejection(answer).0, "RPC-010");
}

#[test]
fn traits_answer_while_the_service_is_full() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let mut config = server_config();
    config.admission.concurrency_min = 1;
    config.admission.concurrency_max = 1;
    config.admission.queue_max = 0;
    let server = serve_with(config, named_waiting("", &bell, &begun));
    let words = client_of(&[&server]).service("words");
    let call = call_begun(&words, &begun);
    let health = words.call(&HEALTH, &proto::HealthRequest {}).wait().expect("it answers");
    assert_eq!(health.status(), Status::Serving);
    bell.ring();
    assert!(call.wait().is_ok());
}

#[test]
fn service_is_asked_to_quiesce_and_finishes_what_it_has() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve_with(operated(), named_waiting("last", &bell, &begun));
    let words = client_of(&[&server]).service("words");
    let call = call_begun(&words, &begun);
    let health = || words.call(&HEALTH, &proto::HealthRequest {}).wait().map(|health| health.status());
    assert_eq!(health(), Ok(Status::Serving));
    let request = proto::QuiesceRequest { within_ms: 10_000 };
    let metadata = bearer(TOKEN);
    let options = CallOptions { metadata: &metadata, ..CallOptions::default() };
    assert!(words.call_with(&QUIESCE, &request, &options).wait().is_ok());
    until("it quiesces", || server.is_quiescing());
    bell.ring();
    assert_eq!(answer(call), Ok(word("last")), "what was accepted is finished");
    assert_eq!(server.quiesce(Duration::from_secs(20)).wait(), 0, "asking twice is asking once");
}
