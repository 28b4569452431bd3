//! The engine's reports of targets of known behaviour: one that stalls, one that is not there,
//! ones that reset, hang and answer garbage. Figures must show what happened, and nothing that did
//! not.

use crate::stub;

use std::time::Duration;

use stadium_load::run::{Run, RunOptions, RunResult};
use stub::{Manner, Stub};

fn run(scenario: &str) -> RunResult {
    let program = stadium_scenario::parse(scenario, &mut |name| Err(format!("no file {name}")))
        .unwrap_or_else(|problems| panic!("{}", problems[0].render("scenario", scenario)));
    let options = RunOptions { loops: 1, ..RunOptions::default() };
    Run::start(program, &options).expect("it starts").wait(&mut |_| {}).expect("it runs")
}

/// A scenario with one GET.
fn get(stub: &Stub, phases: &str, more: &str) -> String {
    format!(
        "name = \"get\"\ngrace = \"5s\"\n[targets.stub]\nurl = \"http://{}\"\n{more}\n{phases}\n\
         [[sessions]]\nname = \"get\"\nsteps = [{{ name = \"get\", get = \"/\", timeout = \"3s\" }}]\n",
        stub.address()
    )
}

const OPEN: &str = "[[phases]]\nname = \"steady\"\nduration = \"4s\"\nrate = 200\n";
const SHORT: &str = "[[phases]]\nname = \"short\"\nduration = \"1s\"\nrate = 50\n";

#[test]
fn a_stall_shows_in_an_open_model_and_hides_in_a_closed_one() {
    let stall = Manner::Stalls { after: Duration::from_millis(1_500), length: Duration::from_secs(1) };
    let stub = Stub::start(stall);
    let open = run(&get(&stub, OPEN, "connections = { shared = 8 }"));
    assert_eq!(open.total.answered, 800, "{:?}", open.total.errors);
    let response = open.total.response.summary();
    // 200 of 800 were due in the second in which nothing was answered: one in eight waited for half of it or more.
    assert!(response.p999_ms > 900.0 && response.p999_ms < 1_400.0, "{response:?}");
    assert!(response.p90_ms > 300.0, "{response:?}");
    assert!(response.p50_ms < 100.0, "{response:?}");
    // Only those that were sent before had to wait for the answer itself: eight connections.
    let service = open.total.service.summary();
    assert!(service.p90_ms < 100.0 && service.max_ms > 900.0, "{service:?}");

    let stub = Stub::start(stall);
    let closed = run(&get(&stub, "[[phases]]\nname = \"users\"\nduration = \"4s\"\nusers = 4\n", ""));
    let response = closed.total.response.summary();
    assert!(closed.total.answered > 4_000, "{}", closed.total.answered);
    assert!(response.p999_ms < 500.0, "four of thousands: a closed loop hides it, {response:?}");
    assert!(response.max_ms > 900.0, "{response:?}");
}

#[test]
fn a_pace_shows_the_stall_for_users_that_stay() {
    let stub =
        Stub::start(Manner::Stalls { after: Duration::from_millis(1_500), length: Duration::from_secs(1) });
    let result = run(&format!(
        "name = \"pace\"\ngrace = \"5s\"\n[targets.stub]\nurl = \"http://{}\"\n\
         [[phases]]\nname = \"users\"\nduration = \"4s\"\nusers = 4\n\
         [[sessions]]\nname = \"get\"\nsteps = [{{ repeat = \"forever\", steps = [{{ pace = \"20ms\" }}, {{ name = \"get\", get = \"/\" }}] }}]\n",
        stub.address()
    ));
    let response = result.total.response.summary();
    assert!((700..=800).contains(&result.total.answered), "{}", result.total.answered);
    assert!(response.p90_ms > 300.0 && response.max_ms > 900.0, "{response:?}");
}

#[test]
fn the_rate_is_that_of_the_scenario_and_is_kept() {
    let stub = Stub::start(Manner::Answers);
    let result = run(&get(
        &stub,
        "[[phases]]\nname = \"ramp\"\nduration = \"2s\"\nrate = { from = 0, to = 1000 }\n\
         [[phases]]\nname = \"steady\"\nduration = \"2s\"\nrate = 1000\n",
        "connections = { shared = 8 }",
    ));
    assert!((2_998..=3_002).contains(&result.total.answered), "{}", result.total.answered);
    assert!(result.total.errors.is_empty(), "{:?}", result.total.errors);
    assert_eq!(result.total.statuses.get("200"), Some(&result.total.answered));
    assert_eq!(stub.served(), result.total.answered);
    assert_eq!(result.sessions[0].completed, result.total.answered);
    let arrived: u64 = result.series.iter().map(|interval| interval.arrived).sum();
    assert_eq!(arrived, result.total.started);
    assert!((240..=260).contains(&result.series[0].arrived), "{}", result.series[0].arrived);
}

#[test]
fn a_warm_up_is_drawn_and_not_counted() {
    let stub = Stub::start(Manner::Answers);
    let result = run(&get(
        &stub,
        "[[phases]]\nname = \"warm up\"\nduration = \"1s\"\nrate = 100\nmeasured = false\n\
         [[phases]]\nname = \"steady\"\nduration = \"1s\"\nrate = 100\n",
        "",
    ));
    let drawn: u64 = result.series.iter().map(|interval| interval.answered).sum();
    assert_eq!(drawn, 200, "{:?} {:?}", result.total.errors, result.generator.doubts);
    assert!((98..=102).contains(&result.total.answered), "{}", result.total.answered);
}

#[test]
fn a_target_that_is_not_there_is_reported_to_refuse() {
    let stub = Stub::start(Manner::Answers);
    let scenario = get(&stub, SHORT, "");
    drop(stub);
    let result = run(&scenario);
    assert_eq!((result.total.started, result.total.answered), (50, 0));
    assert_eq!(result.total.errors.get("connect: refused"), Some(&50), "{:?}", result.total.errors);
    assert_eq!(result.sessions[0].failed, 50);
    assert!(result.total.response.is_empty(), "no answer has no response time");
}

#[test]
fn resets_garbage_truncation_and_silence_have_names() {
    for (manner, kind) in [
        (Manner::Resets, "reset"),
        (Manner::Says("SSH-2.0-OpenSSH_9.2\r\n"), "malformed: status-line"),
        (Manner::Says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), "malformed: truncated"),
        (Manner::Says(""), "closed by the target"),
        (Manner::Hangs, "timeout"),
    ] {
        let stub = Stub::start(manner);
        let result = run(&get(&stub, SHORT, "").replace("3s", "500ms"));
        assert_eq!((result.total.started, result.total.answered), (50, 0), "{manner:?}");
        assert_eq!(result.total.errors.get(kind), Some(&50), "{manner:?}: {:?}", result.total.errors);
    }
}

#[test]
fn time_outs_count_with_the_time_that_they_took() {
    let stub = Stub::start(Manner::Hangs);
    let result = run(&get(&stub, SHORT, "").replace("3s", "500ms"));
    let response = result.total.response.summary();
    assert_eq!(response.count, 50);
    assert!(response.min_ms >= 499.0 && response.max_ms < 900.0, "{response:?}");
}

#[test]
fn values_of_an_answer_travel_to_the_next_request_and_checks_fail_sessions() {
    let stub = Stub::start(Manner::Echoes);
    let scenario = format!(
        r#"
name = "travel"
[targets.stub]
url = "http://{}"
[[phases]]
name = "some"
duration = "1s"
rate = 20
[[sessions]]
name = "travel"
[[sessions.steps]]
name = "first"
post = "/first"
json = {{ token = "t-${{user()}}" }}
extract = {{ token = "$.token" }}
check = {{ status = 200 }}
[[sessions.steps]]
name = "second"
post = "/second"
json = {{ token = "${{token}}", again = true }}
check = [{{ json = {{ "$.again" = true }} }}, {{ body = {{ contains = "t-" }} }}]
[[sessions.steps]]
name = "third"
post = "/third"
json = {{ wrong = 1 }}
check = {{ json = {{ "$.wrong" = 2 }} }}
[[sessions.steps]]
name = "never"
get = "/"
"#,
        stub.address()
    );
    let result = run(&scenario);
    let step = |name: &str| result.steps.iter().find(|step| step.name == name).expect("it is there");
    assert_eq!(step("second").requests.answered, 20);
    assert!(step("second").requests.errors.is_empty(), "{:?}", step("second").requests.errors);
    assert_eq!(
        step("second").checks.iter().map(|check| check.passed).sum::<u64>(),
        60,
        "two of its own, and the status"
    );
    let failed: u64 = step("third").checks.iter().map(|check| check.failed).sum();
    assert_eq!(failed, 20, "{:?}", step("third").checks);
    assert_eq!(step("third").requests.errors.len(), 1);
    assert_eq!(step("never").requests.started, 0, "a failed check ends the session");
    assert_eq!((result.sessions[0].completed, result.sessions[0].failed), (0, 20));
}

#[test]
fn users_that_are_not_begun_put_the_figures_in_doubt() {
    let stub = Stub::start(Manner::Hangs);
    let scenario = get(&stub, SHORT, "").replace("grace = \"5s\"", "grace = \"1s\"\nusers_max = 10");
    let result = run(&scenario);
    assert_eq!(result.generator.not_begun, 40);
    assert!(result.generator.doubts.iter().any(|doubt| doubt.refuse && doubt.text.contains("not begun")));
}
