//! The operations that answers belong to, quiet stores and hostile servers among them.

use stadium_memcache::protocol::{
    Answer, Expect, Limits, Outcome, Pipeline, ProtocolError, Refusal, Sink, Verb,
};

const LIMITS: Limits = Limits { value_bytes_max: 1 << 20 };

/// The results as text, in their order.
#[derive(Default)]
struct Log(Vec<String>);

impl Sink for Log {
    fn key(&self, operation: u32) -> &[u8] {
        [&b"a"[..], b"b", b"c", b"d"][operation as usize]
    }

    fn done(&mut self, operation: u32, answer: Result<Answer, Refusal<'_>>, value: &[u8]) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.0.push(match answer {
            Ok(Answer { outcome: Outcome::Done, number: 0, .. }) => {
                format!("{operation} done {}", text(value))
            }
            Ok(Answer { outcome: Outcome::Done, number, .. }) => format!("{operation} number {number}"),
            Ok(Answer { outcome, .. }) => format!("{operation} {outcome:?}"),
            Err(Refusal::Uncertain(why)) => format!("{operation} uncertain {}", text(why)),
            Err(Refusal::Client(why) | Refusal::Server(why) | Refusal::Unknown(why)) => {
                format!("{operation} failed {}", text(why))
            }
        });
    }

    fn statistic(&mut self, operation: u32, name: &[u8], value: &[u8]) {
        self.0.push(format!(
            "{operation} {}={}",
            String::from_utf8_lossy(name),
            String::from_utf8_lossy(value)
        ));
    }
}

fn received(expects: &[Expect], answers: &str) -> (Vec<String>, Result<usize, ProtocolError>) {
    let (mut pipeline, mut log) = (Pipeline::default(), Log::default());
    expects.iter().for_each(|expect| pipeline.push(*expect));
    let taken = pipeline.receive(answers.as_bytes(), LIMITS, &mut log);
    (log.0, taken)
}

fn get(operation: u32, is_last: bool) -> Expect {
    Expect::Get { operation, is_last }
}

fn quiet(operation: u32) -> Expect {
    Expect::Quiet { operation }
}

fn meta(operation: u32, opaque: u32, verb: Verb) -> Expect {
    Expect::Meta { operation, opaque, verb }
}

#[test]
fn values_of_a_line_go_to_their_keys_and_the_others_are_misses() {
    let line = [get(0, false), get(1, false), get(2, false), get(3, true)];
    let (results, taken) = received(&line, "VALUE b 0 2\r\nhi\r\nVALUE d 0 1\r\nx\r\nEND\r\n");
    assert_eq!(results, ["0 NotFound", "1 done hi", "2 NotFound", "3 done x"]);
    assert_eq!(taken, Ok(38));
    let (results, _) = received(&line, "VALUE a 0 1\r\nx\r\nEND\r\n");
    assert_eq!(results, ["0 done x", "1 NotFound", "2 NotFound", "3 NotFound"]);
    let (results, _) = received(&line, "SERVER_ERROR no\r\n");
    assert_eq!(results, ["0 failed no", "1 failed no", "2 failed no", "3 failed no"]);
}

#[test]
fn quiet_stores_are_done_when_something_behind_them_is_answered() {
    let (results, _) = received(&[quiet(0), quiet(1), Expect::Noop, quiet(2)], "MN\r\n");
    assert_eq!(results, ["0 done ", "1 done "]);
    let (results, _) = received(&[quiet(0), get(1, true)], "END\r\n");
    assert_eq!(results, ["0 done ", "1 NotFound"]);
}

#[test]
fn an_error_among_quiet_stores_is_of_all_or_of_nobody_knows_which() {
    let (results, _) =
        received(&[quiet(0), quiet(1), Expect::Noop], "SERVER_ERROR x\r\nCLIENT_ERROR y\r\nMN\r\n");
    assert_eq!(results, ["0 failed x", "1 failed y"]);
    let (results, _) = received(&[quiet(0), quiet(1), Expect::Noop], "SERVER_ERROR x\r\nMN\r\n");
    assert_eq!(results, ["0 uncertain x", "1 uncertain x"]);
}

#[test]
fn meta_answers_go_to_the_command_with_their_opaque_token() {
    let expects = [meta(0, 7, Verb::Read), meta(1, 8, Verb::Arithmetic), meta(2, 9, Verb::Store)];
    let (results, _) = received(&expects, "VA 1 O7\r\nx\r\nVA 2 O8\r\n12\r\nEX O9\r\n");
    assert_eq!(results, ["0 done x", "1 number 12", "2 Exists"]);
}

#[test]
fn statistics_are_lines_until_their_end() {
    let (results, _) = received(&[Expect::Statistics { operation: 0 }], "STAT a 1\r\nSTAT b c d\r\nEND\r\n");
    assert_eq!(results, ["0 a=1", "0 b=c d", "0 done "]);
}

#[test]
fn answers_that_belong_to_nothing_are_errors() {
    use ProtocolError as E;
    let read = meta(0, 1, Verb::Read);
    let classic = Expect::Classic { operation: 0, verb: Verb::Store };
    let cases: &[(&[Expect], &str, E)] = &[
        (&[], "END\r\n", E::UnsolicitedAnswer),
        (&[], "SERVER_ERROR too many open connections\r\n", E::UnsolicitedAnswer),
        (&[read], "VA 1 O2\r\nx\r\n", E::OpaqueMismatch),
        (&[read], "VA 1\r\nx\r\n", E::OpaqueMismatch),
        (&[read], "VA 1 Ox\r\nx\r\n", E::OpaqueMismatch),
        (&[read], "HD O1\r\n", E::UnexpectedAnswer),
        (&[read], "END\r\n", E::UnexpectedAnswer),
        (&[meta(0, 1, Verb::Arithmetic)], "VA 1 O1\r\nx\r\n", E::BadField),
        (&[classic], "DELETED\r\n", E::UnexpectedAnswer),
        (&[get(0, true)], "VALUE z 0 1\r\nx\r\n", E::KeyMismatch),
        (&[get(0, true)], "VALUE a 0 1\r\nx\r\nVALUE a 0 1\r\nx\r\n", E::KeyMismatch),
        (&[get(0, true)], "MN\r\n", E::UnexpectedAnswer),
        (&[quiet(0)], "MN\r\n", E::UnsolicitedAnswer),
        (&[quiet(0)], "ERROR\r\nERROR\r\n", E::TooManyErrors),
        (&[Expect::Noop], "ERROR\r\n", E::UnexpectedAnswer),
    ];
    for (expects, answers, error) in cases {
        assert_eq!(received(expects, answers).1, Err(*error), "{answers}");
    }
}
