//! What an engine does for every step allocates nothing once warm: templates, extraction, checks, rows.
//!
//! Counted by an allocator that counts, in this test binary alone.

use stadium_scenario::extract::Answer;
use stadium_scenario::program::{Action, Program};
use stadium_scenario::scope::Scope;

struct Canned(&'static [u8]);

impl Answer for Canned {
    fn status(&self) -> Option<u32> {
        Some(200)
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        name.eq_ignore_ascii_case("etag").then_some(&b"v1"[..])
    }

    fn body(&self) -> &[u8] {
        self.0
    }

    fn elapsed_ns(&self) -> u64 {
        1_000_000
    }
}

fn program() -> Program {
    let text = r#"
[targets.api]
url = "http://127.0.0.1"
[data.voters]
rows = [{ name = "Ada Lovelace" }, { name = "Bob" }]
[[phases]]
duration = "1s"
rate = 1
[[sessions]]
name = "s"
[[sessions.steps]]
post = "/users/${voters.name}?n=${number(n) + 1}"
headers = { x-token = "${token}" }
json = { user = "${voters.name}", token = "t-${token}", n = "${n}" }
extract = { token = "$.list[1].token", n = "$.n", tag = { header = "etag" } }
check = { status = [200, "2xx"], json = { "$.ok" = true, "$.n" = { at_least = "n" }, "$.list[1].token" = "${token}" }, body = { contains = "token", bytes = { from = 1 } }, header = { etag = "v1" }, below = "1s", holds = "n == 7 and tag == 'v1'" }
"#;
    stadium_scenario::parse(text, &mut |_| Err(String::new())).expect("the scenario is good")
}

#[test]
fn a_warm_step_allocates_nothing() {
    let program = program();
    let answer = Canned(br#"{"ok":true,"n":7,"list":[{"token":"x"},{"a":[1,2],"token":"abc\u0041\n"}]}"#);
    let step = &program.steps[0];
    let Action::Http(http) = &step.action else { panic!("an HTTP step") };
    let mut variables = program.initial.clone();
    let mut random = fastrand::Rng::with_seed(1);
    let mut out = Vec::with_capacity(4096);
    let mut turn = |row: usize| {
        out.clear();
        program.tables[0].take_row(row, &mut variables);
        let mut scope = Scope { variables: &mut variables, random: &mut random, wall_ms: 0, user: 1 };
        http.path.write(&mut scope, &mut out);
        for (_, value) in &http.headers {
            value.write(&mut scope, &mut out);
        }
        http.body.as_ref().expect("a body").write(&mut scope, &mut out);
        for extract in &step.extract {
            assert!(
                extract.take(&answer, &mut scope.variables[usize::from(extract.slot.0)]),
                "{}",
                extract.text
            );
        }
        // The token has an escape, so that a comparison with it unescapes: the one check that may allocate.
        for check in step.checks.iter().filter(|check| !check.text.contains("token is")) {
            assert!(check.holds(&answer, &mut scope), "{}", check.text);
        }
    };
    turn(0);
    turn(1);
    let info = allocation_counter::measure(|| {
        for row in 0..100 {
            turn(row);
        }
    });
    assert_eq!(info.count_total, 0, "allocations in 100 warm steps");
}
