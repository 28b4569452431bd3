//! Programs of scenario files, and the problems that wrong files report.
//!
//! `tests/scenarios/everything.toml` uses all of the language; the small texts here are about one thing each.

use super::parse;
use crate::problem::Problem;
use crate::program::*;
use crate::testing::with_scope;

const EVERYTHING: &str = include_str!("../../tests/scenarios/everything.toml");

fn files(path: &str) -> Result<Vec<u8>, String> {
    match path {
        "voters.csv" => Ok(b"name,age,club\nAda,41,x\nBob,\"4,2\",y\n".to_vec()),
        "ragged.csv" => Ok(b"a,b\n1,2\n3\n".to_vec()),
        "vote.bin" => Ok(vec![8, 1]),
        _ => Err("no such file".to_owned()),
    }
}

fn read(text: &str) -> Program {
    parse(text, &mut files).unwrap_or_else(|problems| {
        let rendered: Vec<String> =
            problems.iter().map(|problem| problem.render("test.toml", text)).collect();
        panic!("{}", rendered.join("\n"))
    })
}

fn problems(text: &str) -> Vec<Problem> {
    parse(text, &mut files).expect_err(text)
}

/// A scenario with these steps, on an HTTP target, after what stands first.
fn with_steps(first: &str, steps: &str) -> String {
    format!(
        "{first}\n[targets.api]\nurl = \"http://a\"\n[[phases]]\nduration = \"1s\"\nrate = 1\n[[sessions]]\nname = \"s\"\nsteps = [\n{steps}\n]\n"
    )
}

fn written(template: &crate::template::Template, program: &Program) -> String {
    let mut variables = program.initial.clone();
    let mut out = Vec::new();
    with_scope(&mut variables, |scope| template.write(scope, &mut out));
    String::from_utf8(out).unwrap()
}

#[test]
fn everything_is_read() {
    let program = read(EVERYTHING);
    assert_eq!((program.name.as_str(), program.seed, program.users_max), ("everything", 7, 5_000));
    assert_eq!(program.grace_ns, 5_000_000_000);
    assert_eq!(program.thresholds, [("response.p99 < 50ms".to_owned(), 8), ("errors < 0.1%".to_owned(), 8)]);
    let api = program.targets.iter().find(|target| target.name == "api").unwrap();
    assert_eq!(
        (api.scheme, api.port, api.path.as_str(), api.version),
        (Scheme::Https, 7880, "/api", Version::Http2)
    );
    assert_eq!(api.connections, Connections::Shared(16));
    assert_eq!(api.tls.identity, Some(("me.pem".to_owned(), "me.key".to_owned())));
    assert_eq!(api.headers.len(), 2);
    assert_eq!(program.phases.len(), 4);
    assert_eq!(
        program.phases[1].arrivals,
        Arrivals::Open { from: 10.0, to: 500.0, spacing: Spacing::Poisson }
    );
    assert_eq!(program.phases[1].mix, [7.0, 3.0]);
    assert!(!program.phases[0].measured && program.phases[2].measured);
    assert_eq!(program.phases[3].arrivals, Arrivals::None);
    assert_eq!(program.sessions.len(), 2);
    let fleet = &program.fleets[0];
    assert_eq!((fleet.devices, fleet.keep_alive_s, fleet.storm_ns), (1_000, 240, Some(30_000_000_000)));
    assert_eq!(fleet.id_prefix, "phones-");
    assert_eq!(fleet.broadcast.as_ref().unwrap().bytes, 200);
}

#[test]
fn tables_whose_columns_are_used_are_drawn_from() {
    let program = read(EVERYTHING);
    let drawn = |session: usize| -> Vec<&str> {
        let ops = &program.sessions[session].ops;
        ops.iter()
            .map_while(|op| match op {
                Op::Draw { table } => Some(program.tables[*table].name.as_str()),
                _ => None,
            })
            .collect()
    };
    // `codes` has a draw step of its own; `voters` is used by the steps and by a header of the target.
    assert_eq!(drawn(0), ["voters"]);
    assert_eq!(drawn(1), [] as [&str; 0]);
    let voters = program.tables.iter().find(|table| table.name == "voters").unwrap();
    let mut variables = program.initial.clone();
    voters.take_row(1, &mut variables);
    assert_eq!(variables[usize::from(voters.columns[1].0)], "4,2".into());
}

#[test]
fn steps_carry_their_requests() {
    let program = read(EVERYTHING);
    let step = &program.steps[0];
    assert_eq!(step.name, "log in");
    assert!(step.ends_session_on_failure);
    let Action::Http(http) = &step.action else { panic!("log in is an HTTP step") };
    assert_eq!(written(&http.path, &program), "/login?show=final");
    assert_eq!(
        written(http.body.as_ref().unwrap(), &program),
        r#"{"user":null,"age":null,"tags":["a",1,2.5,true],"nested":{"deep":"x1"}}"#
    );
    assert_eq!(http.headers[0].0, "content-type");
    let checks: Vec<&str> = step.checks.iter().map(|check| check.text.as_str()).collect();
    assert_eq!(
        checks,
        [
            "status is 200 or 201",
            "$.ok is true",
            "$.n is at least limit",
            "$.n is below 10",
            "header etag exists",
            "body contains \"ok\"",
            "body has at least 2 bytes",
            "took below 500ms",
        ]
    );
    let extractions: Vec<&str> = step.extract.iter().map(|extract| extract.text()).collect();
    assert_eq!(
        extractions,
        ["token from $.token", "id from /id=(\\d+)/", "tag from header etag", "code from status"]
    );
    let form = program.steps.iter().find(|step| step.name == "PATCH /n").unwrap();
    let Action::Http(http) = &form.action else { panic!("a form is sent over HTTP") };
    assert_eq!(written(http.body.as_ref().unwrap(), &program), "n=&show=final&fixed=1");
    assert_eq!(form.checks[0].text, "status below 400");
    let names: Vec<&str> =
        program.steps.iter().filter(|step| step.session == 1).map(|step| step.name.as_str()).collect();
    assert_eq!(names[..4], ["websocket /feed", "websocket send", "websocket receive", "websocket close"]);
    assert_eq!(names[names.len() - 2..], ["tcp send (2)", "mqtt receive (2)"]);
}

/// Runs a session without an engine: the steps that are reached, in their order.
fn walk(program: &Program) -> Vec<String> {
    let mut variables = program.initial.clone();
    let mut reached = Vec::new();
    let ops = &program.sessions[0].ops;
    let mut at = 0;
    for _ in 0..1_000 {
        let Some(op) = ops.get(at) else {
            return reached;
        };
        at += 1;
        match op {
            Op::Step(number) => reached.push(program.steps[*number as usize].name.clone()),
            Op::Think(_) => reached.push("think".to_owned()),
            Op::Draw { table } => program.tables[*table].take_row(0, &mut variables),
            Op::Pace(_) => reached.push("pace".to_owned()),
            Op::Jump(to) | Op::Again(to) => at = *to as usize,
            Op::JumpUnless { condition, to } => {
                if !with_scope(&mut variables, |scope| condition.truth(scope)) {
                    at = *to as usize;
                }
            }
            Op::Set { slot, value } => {
                let value = with_scope(&mut variables, |scope| value.value(scope));
                variables[usize::from(slot.0)] = value;
            }
            Op::Choose(branches) => at = branches[branches.len() - 1].1 as usize,
            Op::End { .. } => {
                reached.push("end".to_owned());
                return reached;
            }
        }
    }
    panic!("the session does not end");
}

#[test]
fn loops_and_conditions_jump_where_they_should() {
    for (steps, expected) in [
        ("{ repeat = 3, steps = [{ get = \"/a\" }] }, { get = \"/b\" }", "GET /a,GET /a,GET /a,GET /b"),
        ("{ repeat = 0, steps = [{ get = \"/a\" }] }, { get = \"/b\" }", "GET /b"),
        (
            "{ repeat = 2, steps = [{ repeat = 2, steps = [{ get = \"/a\" }] }, { get = \"/b\" }] }",
            "GET /a,GET /a,GET /b,GET /a,GET /a,GET /b",
        ),
        (
            "{ repeat = \"n + 1\", steps = [{ set = { n = \"n + 1\" } }, { get = \"/a\" }] }",
            "GET /a,GET /a,GET /a",
        ),
        (
            "{ if = \"n == 2\", then = [{ get = \"/a\" }], else = [{ get = \"/b\" }] }, { think = \"1s\" }",
            "GET /a,think",
        ),
        (
            "{ if = \"n == 3\", then = [{ get = \"/a\" }], else = [{ get = \"/b\" }] }, { think = \"1s\" }",
            "GET /b,think",
        ),
        ("{ if = \"n == 3\", then = [{ get = \"/a\" }] }, { think = \"1s\" }", "think"),
        (
            "{ while = \"n > 0\", steps = [{ set = { n = \"n - 1\" } }, { get = \"/a\" }] }, { end = \"ok\" }, { get = \"/b\" }",
            "GET /a,GET /a,end",
        ),
        (
            "{ choose = [{ steps = [{ get = \"/a\" }] }, { weight = 2, steps = [{ get = \"/b\" }] }] }, { get = \"/c\" }",
            "GET /b,GET /c",
        ),
        (
            "{ repeat = \"forever\", index = \"i\", steps = [{ get = \"/a\" }, { pace = \"1s\" }, { if = \"i == 1\", then = [{ end = \"ok\" }] }] }",
            "GET /a,pace,GET /a,pace,end",
        ),
        ("{ get = \"/${t.x}\" }, { repeat = 2, steps = [{ think = \"1s\" }] }", "GET /${t.x},think,think"),
    ] {
        let program = read(&with_steps("variables = { n = 2 }\ndata.t.rows = [{ x = 1 }]", steps));
        assert_eq!(walk(&program).join(","), expected, "{steps}");
    }
}

#[test]
fn problems_are_reported_where_they_are() {
    for (text, wrong, says) in [
        (with_steps("nmae = \"x\"", "{ get = \"/\" }"), "nmae", "did you mean `name`?"),
        (with_steps("", "{ gett = \"/\" }"), "gett", "did you mean `get`?"),
        (with_steps("", "{ get = \"/\", timout = \"1s\" }"), "timout", "did you mean `timeout`?"),
        (with_steps("", "{ get = \"/\", timeout = 5 }"), "5", "a time is a text with its unit"),
        (with_steps("", "{ get = \"/\", timeout = \"5 sec\" }"), "sec", "not a unit of time"),
        (with_steps("", "{ get = \"/\", target = \"apy\" }"), "\"apy\"", "did you mean `api`?"),
        (with_steps("", "{ get = \"/${shw}\" }"), "shw", "there is no variable `shw`"),
        (with_steps("variables = { show = 1 }", "{ get = \"/${shw}\" }"), "shw", "did you mean `show`?"),
        (with_steps("", "{ get = \"/${uuuid()}\" }"), "uuuid", "did you mean `uuid`?"),
        (with_steps("", "{ get = \"/${\" }"), "${", "not closed"),
        (with_steps("", "{ get = \"items\" }"), "\"items\"", "a path begins with `/`"),
        (with_steps("", "{ get = \"/\", post = \"/\" }"), "post", "does not go with `get`"),
        (with_steps("", "{ get = \"/\", think = \"1s\" }"), "think", "does not go with `get`"),
        (with_steps("", "{ name = \"x\" }"), "{ name = \"x\" }", "with one of `get`"),
        (with_steps("", "{ get = \"/\", json = {}, body = \"\" }"), "\"\"", "one body"),
        (with_steps("", "{ get = \"/\", headers = { host = \"x\" } }"), "host", "set by the load lab itself"),
        (with_steps("", "{ get = \"/\", extract = { a = \"token\" } }"), "token", "`$.token`"),
        (with_steps("", "{ get = \"/\", extract = { a-b = \"$.t\" } }"), "a-b", "letters, digits and `_`"),
        (
            with_steps("", "{ get = \"/\", extract = { a = { regex = \"(\" } } }"),
            "\"(\"",
            "not a regular expression",
        ),
        (
            with_steps("", "{ get = \"/\", extract = { a = { regex = \"a\", group = 1 } } }"),
            "1",
            "has 0 groups",
        ),
        (with_steps("", "{ get = \"/\", check = { status = \"2x\" } }"), "\"2x\"", "a class is \"2xx\""),
        (with_steps("", "{ get = \"/\", check = { json = { ok = true } } }"), "ok", "`$.ok`"),
        (with_steps("", "{ get = \"/\", on_failure = \"stop\" }"), "\"stop\"", "known are `end`, `continue`"),
        (
            with_steps("", "{ repeat = \"forever\", steps = [{ set = { a = 1 } }] }"),
            "\"forever\"",
            "takes no time",
        ),
        (
            with_steps("", "{ think = { from = \"2s\", to = \"1s\" } }"),
            "{ from = \"2s\", to = \"1s\" }",
            "longer",
        ),
        (with_steps("", "{ if = \"a = 1\", then = [] }"), "=", "compared with `==`"),
        (with_steps("", "{ if = \"true\" }"), "{ if = \"true\" }", "`then` is missing"),
        (with_steps("", "{ mqtt = { connect = true } }"), "{ connect = true }", "no target speaks MQTT"),
        (with_steps("", "{ draw = \"voters\" }"), "\"voters\"", "there is no table"),
        (with_steps("data.v.file = \"missing.csv\"", "{ get = \"/\" }"), "\"missing.csv\"", "no such file"),
        (
            with_steps("data.v.file = \"ragged.csv\"", "{ get = \"/\" }"),
            "\"ragged.csv\"",
            "line 3: 1 fields, but 2 columns",
        ),
        (
            with_steps("", "{ get = \"/\", name = \"x\" }, { get = \"/\", name = \"x\" }"),
            "\"x\"",
            "two steps",
        ),
        (with_steps("seed = -1", "{ get = \"/\" }"), "-1", "not between"),
    ] {
        let problems = problems(&text);
        let found = problems.iter().any(|problem| {
            let line = text.lines().nth(problem.line as usize - 1).unwrap_or("");
            let part: String =
                line.chars().skip(problem.column as usize - 1).take(problem.width as usize).collect();
            part.starts_with(wrong) && problem.to_string().contains(says)
        });
        let rendered: Vec<String> = problems.iter().map(|problem| problem.render("t", &text)).collect();
        assert!(found, "wanted {wrong:?}, {says:?} in:\n{}", rendered.join("\n"));
        assert_eq!(problems.len(), 1, "one mistake is one problem:\n{}", rendered.join("\n"));
    }
}

#[test]
fn all_problems_are_found_at_once_and_in_order() {
    let text = "users_mx = 1\n[targets.api]\nurl = \"htp://a\"\n[[phases]]\nrate = 1\nusers = 2\nmix = { s = 1, t = 1 }\n[[sessions]]\nname = \"s\"\nsteps = [{ get = \"/${x}\" }, { think = 1 }]\n";
    let problems = problems(text);
    let lines: Vec<u32> = problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [1, 3, 4, 6, 7, 10, 10], "{problems:#?}");
}

#[test]
fn a_variable_of_another_session_is_reported_as_one() {
    let text = with_steps("", "{ get = \"/\", extract = { token = \"$.t\" } }")
        + "[[sessions]]\nname = \"other\"\nsteps = [{ get = \"/${token}\" }]\n";
    assert!(problems(&text)[0].to_string().contains("set in another session"));
}

#[test]
fn a_file_that_is_not_toml_is_reported() {
    let problems = problems("name = \n[x\n");
    assert!(problems.iter().all(|problem| problem.message.starts_with("not TOML")));
    assert_eq!(problems[0].line, 1);
}

#[test]
fn an_empty_scenario_lacks_everything() {
    assert!(problems("")[0].to_string().contains("does nothing"));
}
