//! The rules over topics: one list, which is replaced as a whole.
//!
//! Their order counts, so each rule is compared with the one in its place. A rule that leaves a
//! field out is another rule than one that has it.

use serde_json::{Map, Value, json};

use super::diff::Field;
use super::resource::{Action, Kind, Planned};

/// Where the API has them.
pub(super) const PATH: &str = "/api/rules";

/// The fields of a rule that are lists. The order within a list means nothing.
const LISTS: [&str; 6] = ["allow", "deny", "topics", "users", "groups", "via"];

/// The declared rules, beside those that the server has.
pub(super) fn plan(declared: &[Value], present: &Value, rewrite: bool) -> Planned {
    let there = present.get("rules").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let longest = declared.len().max(there.len());
    let fields: Vec<Field> =
        (0..longest).filter_map(|at| differs(at, declared.get(at), there.get(at))).collect();
    let is_same = fields.is_empty() && !rewrite;
    Planned {
        kind: Kind::Rules,
        name: format!("over topics ({})", declared.len()),
        path: PATH.to_owned(),
        body: json!({"rules": declared}),
        action: if is_same { Action::Keep } else { Action::Change },
        fields,
    }
}

fn differs(at: usize, declared: Option<&Value>, present: Option<&Value>) -> Option<Field> {
    let (one, other) = (declared.map(whole), present.map(whole));
    (one != other).then(|| Field {
        path: format!("rule {}", at + 1),
        from: present.cloned(),
        to: declared.cloned().unwrap_or_default(),
    })
}

/// A rule with all of its fields.
fn whole(rule: &Value) -> Value {
    let mut fields: Map<String, Value> = rule.as_object().cloned().unwrap_or_default();
    for name in LISTS {
        let list = fields.entry(name).or_insert_with(|| json!([]));
        if let Value::Array(items) = list {
            items.sort_by_key(ToString::to_string);
        }
    }
    fields.entry("retain").or_insert(Value::Null);
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_compared_in_their_places_and_whole() {
        let a = json!({"allow": ["publish", "subscribe"], "topics": ["a/#"]});
        let b = json!({"deny": ["subscribe"], "topics": ["b"], "groups": ["staff"]});
        let turned = json!({"allow": ["subscribe", "publish"], "topics": ["a/#"], "users": []});
        let wider = json!({"deny": ["subscribe"], "topics": ["b"]});
        for (declared, present, places) in [
            (vec![&a, &b], vec![&turned, &b], &[][..]),
            (vec![&a, &wider], vec![&a, &b], &["rule 2"]),
            (vec![&b, &a], vec![&a, &b], &["rule 1", "rule 2"]),
            (vec![&a], vec![&a, &b], &["rule 2"]),
            (vec![], vec![&a], &["rule 1"]),
        ] {
            let declared: Vec<Value> = declared.into_iter().cloned().collect();
            let planned = plan(&declared, &json!({"rules": present}), false);
            let paths: Vec<&str> = planned.fields.iter().map(|field| field.path.as_str()).collect();
            assert_eq!(paths, places);
            assert_eq!(planned.action == Action::Keep, places.is_empty());
        }
    }
}
