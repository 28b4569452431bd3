//! `rpc-answers.json`: error frames to outcomes, refusals to error frames, and refusals of a
//! service that calls on.

use std::time::Duration;

use serde_json::{Value, json};
use stadium_rpc::balance::Outcome;
use stadium_rpc::{ApplicationCode, CallError, Refusal, wire};
use stadium_rsocket::frame::ErrorCode;
use stadium_testing::vectors::{Case, Step, VectorFile};

pub fn file() -> VectorFile {
    VectorFile {
        name: "rpc-answers.json",
        about: ABOUT,
        defaults: json!({}),
        cases: vec![busy(), application_errors(), other_codes(), refusals(), passed_on()],
        play,
        command: crate::COMMAND,
    }
}

const ABOUT: &[&str] = &[
    "read: an ERROR frame on a call's stream, by its error_code and the bytes of its data \
     (`text`, or data_hex), and the outcome for the caller: `answer` with its fields.",
    "`instance` is the outcome for the balancer: busy (with the wait in 32 bits), deadline, or \
     answered. An answered call is no failure of its instance.",
    "The rule is for an error frame that comes before any message of a stream. After one, a code \
     of 0x00000204 is `unknown` unless its text begins with RPC-.",
    "write: the refusal of a function, and the ERROR frame that carries it.",
    "pass_on: a function called another service, got this outcome, and returns it as its own \
     refusal. Only the code of an RPC-009 is given; its text is for people.",
];

fn play(_config: Step<'_>, steps: &[Step<'_>]) -> Vec<Value> {
    let answer = |step: &Step<'_>| match step.event() {
        "read" => outcome(&read(*step)),
        "write" => written(&refusal_of(*step)),
        "pass_on" => passed(read(*step)),
        event => panic!("no such event: {event}"),
    };
    steps.iter().map(answer).collect()
}

fn read(step: Step<'_>) -> CallError {
    let data = match step.text_if("text") {
        Some(text) => text.as_bytes().to_vec(),
        None => step.bytes("data_hex"),
    };
    wire::call_error(ErrorCode(step.small("error_code")), &data)
}

fn outcome(error: &CallError) -> Value {
    let mut outcome = match error {
        CallError::Busy { retry_after, reason } => {
            json!({"answer": "busy", "retry_after_ms": retry_after.as_millis() as u64, "reason": reason})
        }
        CallError::Rejected { code, reason } => json!({"answer": "rejected", "code": code, "reason": reason}),
        CallError::Unknown { code, reason } => json!({"answer": "unknown", "code": code, "reason": reason}),
        CallError::Application { code, text } => {
            json!({"answer": "application", "error_code": code, "text": text})
        }
        CallError::Deadline => json!({"answer": "deadline"}),
        CallError::Cancelled => json!({"answer": "cancelled"}),
        other => panic!("no error frame makes {other}"),
    };
    outcome["instance"] = match Outcome::of(error) {
        Outcome::Busy { retry_after_ms } => json!({"busy_ms": retry_after_ms}),
        Outcome::Deadline => json!("deadline"),
        _ => json!("answered"),
    };
    outcome
}

fn refusal_of(step: Step<'_>) -> Refusal {
    let text = |key: &str| step.text(key).to_owned();
    match step.text("refusal") {
        "busy" => Refusal::busy(Duration::from_micros(step.number("retry_after_us")), text("reason")),
        "rejected" => Refusal::rejected(text("code"), text("reason")),
        "unknown" => Refusal::unknown(text("code"), text("reason")),
        "application" => {
            let code = ApplicationCode::new(step.small("error_code")).expect("an application's code");
            Refusal::application(code, text("text"))
        }
        other => panic!("no such refusal: {other}"),
    }
}

fn written(refusal: &Refusal) -> Value {
    let (code, text) = wire::refusal(refusal);
    json!({"error_code": code.0, "text": text})
}

fn passed(error: CallError) -> Value {
    match Refusal::from(error) {
        Refusal::Unknown { code, .. } if code == "RPC-009" => json!({"error_code": 0x201, "code": "RPC-009"}),
        refusal => written(&refusal),
    }
}

fn reads(case: Case, error_code: u32, texts: &[&str]) -> Case {
    let add = |case: Case, text: &&str| case.entry("read", json!({"error_code": error_code, "text": text}));
    texts.iter().fold(case, add)
}

fn busy() -> Case {
    let texts = [
        "BUSY retry_after_ms=120: queue is full",
        "BUSY retry_after_ms=0: ",
        "BUSY retry_after_ms=5000: a: b",
        "BUSY retry_after_ms=+5: a sign",
        "BUSY retry_after_ms=007: zeros",
        "BUSY retry_after_ms=4294967295: the longest for the balancer",
        "BUSY retry_after_ms=4294967296: longer",
        "BUSY retry_after_ms=9007199254740991: still a number",
        "BUSY retry_after_ms=18446744073709551616: no number of 64 bits",
        "BUSY retry_after_ms=: no number",
        "BUSY retry_after_ms=-1: negative",
        "BUSY retry_after_ms= 5: a space",
        "BUSY retry_after_ms=1.5: a fraction",
        "BUSY retry_after_ms=5s: a unit",
        "BUSY retry_after_ms=120",
        "BUSY retry_after_ms=120:no space",
        "busy retry_after_ms=120: small letters",
        " BUSY retry_after_ms=120: a space before",
        "BUSY: no delay",
        "no",
        "",
        "BUSY retry_after_ms=7: Überlast ☂",
    ];
    let case = Case::new("0x202 is always busy, with 100 ms where no delay can be read");
    reads(case, 0x202, &texts)
        .entry("read", json!({"error_code": 0x202, "data_hex": "4255535920ff"}))
        .entry("read", json!({"error_code": 0x202, "text": "x".repeat(2_000)}))
}

fn application_errors() -> Case {
    let longest = format!("{}: as long as a code may be", "A".repeat(40));
    let longer = format!("{}: one more", "A".repeat(41));
    let texts = [
        "GEO-001: latitude 95: not between -90 and 90",
        "GEO-001: ",
        "GEO-001:",
        "GEO-001:no space",
        "GEO-001",
        "GEO_001: an underscore",
        "geo-001: small letters",
        "GEO 001: a space",
        "-: a hyphen alone",
        "7: a digit alone",
        ": no code",
        "",
        "boom: it broke",
        "ÄÖ-1: no ASCII",
        &longest,
        &longer,
        "UNKNOWN RPC-007: the service failed on this request",
        "UNKNOWN GEO-007: disk: gone",
        "UNKNOWN geo-007: small letters",
        "UNKNOWN GEO-007",
        "UNKNOWN : no code",
        "UNKNOWN: this is a code",
        "UNKNOWN UNKNOWN GEO-1: twice",
        "unknown GEO-007: small letters",
        "BUSY retry_after_ms=1: not here",
    ];
    let case = Case::new(
        "0x201: a code and a colon reject, UNKNOWN before them is unknown, the rest is the service's",
    );
    reads(case, 0x201, &texts)
        .entry("read", json!({"error_code": 0x201, "data_hex": "47454f2d313a20ff61"}))
        .entry("read", json!({"error_code": 0x201, "data_hex": "47454fff2d313a2061"}))
}

fn other_codes() -> Case {
    let case =
        Case::new("0x203 is the deadline or a cancellation, 0x204 rejects, any other is the service's");
    let case =
        reads(case, 0x203, &["RPC-DEADLINE: too late", "RPC-DEADLINE", "RPC-DEADLINES", "", "deadline"]);
    let case =
        reads(case, 0x204, &["RPC-002: there is no route `x` here", "what is that?", "", "GEO-1: own"]);
    let codes = [0x001, 0x101, 0x102, 0x200, 0x300, 0x301, 0xFFFF_FFFE, 0xFFFF_FFFF];
    codes.into_iter().fold(case, |case, code| reads(case, code, &["GEO-001: mine"]))
}

fn refusals() -> Case {
    let busy = |us: u64, reason: &str| json!({"refusal": "busy", "retry_after_us": us, "reason": reason});
    let coded =
        |kind: &str, code: &str, reason: &str| json!({"refusal": kind, "code": code, "reason": reason});
    let own = |code: u32, text: &str| json!({"refusal": "application", "error_code": code, "text": text});
    let refusals = [
        busy(120_000, "queue is full"),
        busy(0, ""),
        busy(999, "below a millisecond"),
        busy(3_600_000_000, "an hour"),
        coded("rejected", "GEO-001", "latitude 95: not between -90 and 90"),
        coded("rejected", "GEO-001", ""),
        coded("unknown", "GEO-007", "disk: gone"),
        own(0x201, "no device there"),
        own(0x201, "GEO-001: read as a rejection"),
        own(0x301, "GEO-001: mine"),
        own(0xFFFF_FFFE, ""),
        own(0x400, "Größe ☂"),
    ];
    let case = Case::new("the error frames of a function's refusals");
    refusals.into_iter().fold(case, |case, refusal| case.entry("write", refusal))
}

fn passed_on() -> Case {
    let errors = [
        (0x202, "BUSY retry_after_ms=120: queue is full"),
        (0x202, "no"),
        (0x201, "GEO-001: latitude"),
        (0x204, "RPC-002: there is no route"),
        (0x201, "UNKNOWN GEO-007: disk"),
        (0x201, "boom"),
        (0x301, "mine"),
        (0x203, "RPC-DEADLINE: too late"),
        (0x203, "cancelled"),
    ];
    let case = Case::new("the outcome of another service as one's own refusal");
    let add = |case: Case, (error_code, text)| {
        case.entry("pass_on", json!({"error_code": error_code, "text": text}))
    };
    errors.into_iter().fold(case, add)
}
