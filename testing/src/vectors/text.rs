//! The text of a file of vectors: one step a line, and the same order of fields whatever the map's
//! order is.

use std::fmt::Write as _;

use serde_json::Value;

/// Fields that stand before the others, in this order.
const FIRST: &[&str] = &["name", "at_us", "at_ms", "do"];
/// Fields that stand behind the others.
const LAST: &str = "expect";

/// The text of a file that has `about`, `defaults` and `cases`.
pub(super) fn layout(document: &Value) -> String {
    let mut out = String::from("{\n  \"about\": [\n");
    lines(&mut out, 4, &document["about"]);
    let _ = write!(out, "  ],\n  \"defaults\": {},\n  \"cases\": [\n", line(&document["defaults"]));
    let cases = document["cases"].as_array().expect("a list");
    for (nth, case) in cases.iter().enumerate() {
        let _ = writeln!(out, "    {{\n      \"name\": {},", case["name"]);
        let _ = write!(out, "      \"config\": {},\n      \"steps\": [\n", line(&case["config"]));
        lines(&mut out, 8, &case["steps"]);
        let _ = writeln!(out, "      ]\n    }}{}", comma(nth, cases.len()));
    }
    out.push_str("  ]\n}\n");
    out
}

fn lines(out: &mut String, indent: usize, list: &Value) {
    let list = list.as_array().expect("a list");
    for (nth, item) in list.iter().enumerate() {
        let _ = writeln!(out, "{:indent$}{}{}", "", line(item), comma(nth, list.len()));
    }
}

fn comma(nth: usize, of: usize) -> &'static str {
    if nth + 1 < of { "," } else { "" }
}

/// A value on one line.
fn line(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(line).collect::<Vec<_>>().join(", ")),
        Value::Object(object) => {
            let mut fields: Vec<_> = object.iter().collect();
            fields.sort_by_key(|(key, _)| (rank(key), *key));
            let fields = fields.into_iter().map(|(key, value)| format!("\"{key}\": {}", line(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn rank(key: &str) -> usize {
    match FIRST.iter().position(|first| *first == key) {
        Some(place) => place,
        None => FIRST.len() + usize::from(key == LAST),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_step_has_a_line_and_its_expectation_stands_last() {
        let steps = json!([{"instance": "a:1", "expect": {"is": 1}, "do": "choose", "at_us": 5}]);
        let document =
            json!({"about": ["x"], "defaults": {}, "cases": [{"name": "n", "config": {}, "steps": steps}]});
        let text = layout(&document);
        let step = r#"        {"at_us": 5, "do": "choose", "instance": "a:1", "expect": {"is": 1}}"#;
        assert!(text.lines().any(|line| line == step), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), document);
    }
}
