//! Values of expressions, as tables of text and value.
//!
//! The variables of these tests: `n` is 3, `name` is "Ada", `voters.age` is the text "41", `nothing` is null.

use super::*;

fn names() -> Vec<String> {
    ["n", "name", "voters.age", "nothing", "voters.first name"].map(str::to_owned).to_vec()
}

fn evaluate(text: &str) -> Value {
    let expression =
        Expression::parse(text, &mut names()).unwrap_or_else(|mistake| panic!("{text}: {mistake}"));
    let mut variables = vec![Value::Number(3.0), "Ada".into(), "41".into(), Value::Null, "Augusta".into()];
    let mut random = fastrand::Rng::with_seed(7);
    expression.value(&mut Scope {
        variables: &mut variables,
        random: &mut random,
        wall_ms: 1_700_000_000_000,
        user: 9,
    })
}

fn mistake(text: &str) -> (String, String) {
    let mistake = Expression::parse(text, &mut names()).expect_err(text);
    let wrong = text.get(mistake.range.clone()).expect("a mistake lies within its text").to_owned();
    (wrong, mistake.to_string())
}

#[test]
fn expressions_compute_their_values() {
    let number = Value::Number;
    let yes = || Value::Bool(true);
    for (text, value) in [
        ("1 + 2 * 3", number(7.0)),
        ("(1 + 2) * 3", number(9.0)),
        ("-n + 10 % 4", number(-1.0)),
        ("2 - -1", number(3.0)),
        ("1_000 / 8", number(125.0)),
        ("1 / 0", Value::Null),
        ("nothing + 1", Value::Null),
        ("'a' + n", "a3".into()),
        ("voters.age + 1", number(42.0)),
        ("voters.age == 41 and n < 4", yes()),
        ("voters['first name']", "Augusta".into()),
        ("not n == 4", yes()),
        ("!(n == 4) && name != 'Bob' || false", yes()),
        ("nothing == null", yes()),
        ("nothing < 1", Value::Bool(false)),
        ("'10' < '9'", Value::Bool(false)),
        ("'b' > 'a'", yes()),
        ("'\\'' + \"\\\"\\n\"", "'\"\n".into()),
        ("len('héé')", number(3.0)),
        ("upper(name) + lower(name) + trim('  x ')", "ADAadax".into()),
        ("base64('ab') + hex('ab')", "YWI=6162".into()),
        ("starts_with(sha256(''), 'e3b0c44298fc1c14')", yes()),
        ("contains(name, 'da') and ends_with(name, 'a')", yes()),
        ("matches(name, '^[A-Z]\\w+$')", yes()),
        ("number('2.5') + number(true)", number(3.5)),
        ("number('inf')", Value::Null),
        ("join(1, 2, 'x')", "12x".into()),
        ("min(3, '2', n) + max(1, n)", number(5.0)),
        ("round(2.345, 2) + floor(1.9)", number(3.35)),
        ("json_escape('a\"b')", "a\\\"b".into()),
        ("url_encode('a b&')", "a%20b%26".into()),
        ("default(nothing, 'x') + default(n, 0)", "x3".into()),
        ("now()", number(1_700_000_000_000.0)),
        ("user() + text(1)", number(10.0)),
        ("random(5, 5)", number(5.0)),
        ("random(5, 4)", Value::Null),
        ("choice('only')", "only".into()),
        ("uniform(2, 3) >= 2 and uniform() < 1", yes()),
    ] {
        assert_eq!(evaluate(text), value, "{text}");
    }
}

#[test]
fn a_uuid_has_version_and_variant() {
    let Value::Text(text) = evaluate("uuid()") else { panic!("a uuid is a text") };
    assert!(
        regex::Regex::new("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
            .unwrap()
            .is_match(&text),
        "{text}"
    );
}

#[test]
fn mistakes_name_what_is_wrong() {
    for (text, wrong, says) in [
        ("", "", "an expression is missing"),
        ("n +", "", "expected a value, found the end"),
        ("n = 3", "=", "compared with `==`"),
        ("nane == 3", "nane", "did you mean `name`?"),
        ("voters.ago", "voters.ago", "did you mean `voters.age`?"),
        ("lenn(name)", "lenn", "did you mean `len`?"),
        ("len()", "len()", "takes 1 argument, not 0"),
        ("matches(name, n)", "n", "a text in quotes"),
        ("matches(name, '[')", "'['", "not a regular expression"),
        ("'open", "'open", "not closed"),
        ("1 2", "2", "expected an operator or the end, found `2`"),
        ("1 < n < 4", "<", "do not chain"),
        ("1x", "1x", "not a number"),
        ("(n", "", "expected `)`"),
        ("${n}", "$", "without `${`"),
    ] {
        let (found, message) = mistake(text);
        assert_eq!(found, wrong, "{text}: {message}");
        assert!(message.contains(says), "{text}: {message}");
    }
}

#[test]
fn depth_and_length_are_bounded() {
    let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(mistake(&deep).1.contains("deep"));
    assert!(mistake(&format!("{}1", "- ".repeat(5000))).1.contains("operators"));
    assert!(mistake(&format!("1{}", "+1".repeat(5000))).1.contains("operators"));
}
