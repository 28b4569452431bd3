//! Files of `proto/vectors` that a crate writes from its own decisions, for implementations in
//! other languages.
//!
//! A [`VectorFile`] has scripts without expectations, and a function that plays a script against
//! the crate. [`check`] fails when the file in the repository differs from what the function
//! answers now; with `STADIUM_WRITE_VECTORS=1` it writes the file. [`Step`] reads the fields of a
//! step, [`text`] lays a file out.

mod step;
mod text;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

pub use step::{Step, bytes_of, hex_of};

/// Plays the steps of a case with its settings. Returns the expectation of each step, null where it
/// has none.
pub type Play = fn(Step<'_>, &[Step<'_>]) -> Vec<Value>;

/// A file of vectors, as its crate defines it.
pub struct VectorFile {
    /// The name below `proto/vectors`.
    pub name: &'static str,
    /// How the entries are read, one paragraph a line.
    pub about: &'static [&'static str],
    /// The settings of each case, unless its `config` has others.
    pub defaults: Value,
    /// The scripts.
    pub cases: Vec<Case>,
    /// Answers for the crate.
    pub play: Play,
    /// The command that runs the test which writes this file.
    pub command: &'static str,
}

/// One script: settings, and steps without expectations.
pub struct Case {
    name: &'static str,
    config: Value,
    steps: Vec<Value>,
    now_us: u64,
}

impl Case {
    /// A script without steps whose clock stands at 1 s.
    pub fn new(name: &'static str) -> Self {
        Self { name, config: json!({}), steps: Vec::new(), now_us: 1_000_000 }
    }

    /// Sets the settings that differ from the defaults.
    pub fn config(mut self, config: Value) -> Self {
        self.config = config;
        self
    }

    /// Moves the clock on.
    pub fn wait_us(mut self, us: u64) -> Self {
        self.now_us += us;
        self
    }

    /// Adds an event at the time of the clock.
    pub fn at(mut self, event: &str, fields: Value) -> Self {
        let mut step = json!({"at_us": self.now_us, "do": event});
        extend(&mut step, &fields);
        self.steps.push(step);
        self
    }

    /// Adds an entry that has no time.
    pub fn entry(mut self, event: &str, fields: Value) -> Self {
        let mut step = json!({"do": event});
        extend(&mut step, &fields);
        self.steps.push(step);
        self
    }

    /// Adds what `add` adds, once for each of `items`.
    pub fn each<T>(self, items: impl IntoIterator<Item = T>, add: impl FnMut(Self, T) -> Self) -> Self {
        items.into_iter().fold(self, add)
    }
}

/// Fails when the file of the repository is stale, or when its crate answers otherwise than it
/// states.
pub fn check(file: &VectorFile) {
    let fresh = text::layout(&document(file));
    let path = path_of(file);
    if std::env::var_os("STADIUM_WRITE_VECTORS").is_some() {
        fs::write(&path, &fresh).expect("the repository can be written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let same = kept.lines().zip(fresh.lines()).take_while(|(kept, fresh)| kept == fresh).count();
    assert!(
        kept == fresh,
        "proto/vectors/{}:{} is stale; write it by STADIUM_WRITE_VECTORS=1 {}",
        file.name,
        same + 1,
        file.command
    );
    let read = serde_json::from_str(&kept).expect("it is JSON");
    assert_eq!(differences(file.play, &read), [""; 0], "{}", file.name);
}

/// Fails when an expectation of the file can be altered without a difference, in any of its cases.
pub fn check_that_alterations_are_found(file: &VectorFile) {
    let document = document(file);
    for case in document["cases"].as_array().expect("a list") {
        let mut altered = case.clone();
        let steps = altered["steps"].as_array_mut().expect("a list");
        let expecting: Vec<usize> =
            (0..steps.len()).filter(|&at| steps[at].get("expect").is_some()).collect();
        let place = *expecting.get(expecting.len() / 2).expect("a case expects something");
        alter(&mut steps[place]["expect"]);
        let altered = json!({"defaults": document["defaults"], "cases": [altered]});
        assert_eq!(differences(file.play, &altered).len(), 1, "{}: {}", file.name, case["name"]);
    }
}

/// Fails when a number among the defaults can be altered without a difference in any case: the
/// scripts do not reach what it bounds.
pub fn check_that_defaults_matter(file: &VectorFile) {
    let document = document(file);
    for (setting, value) in document["defaults"].as_object().expect("an object") {
        let altered = match value {
            Value::Number(number) if number.is_u64() => json!(value.as_u64().unwrap_or(0) * 3 + 1),
            Value::Number(_) => json!(value.as_f64().unwrap_or(0.0) * 0.5 + 0.01),
            _ => continue,
        };
        let mut document = document.clone();
        document["defaults"][setting] = altered;
        assert!(!differences(file.play, &document).is_empty(), "{}: `{setting}` does not matter", file.name);
    }
}

/// The file with the expectations that its crate answers now.
fn document(file: &VectorFile) -> Value {
    let cases = file.cases.iter().map(|case| {
        let mut steps = case.steps.clone();
        for (step, expect) in steps.iter_mut().zip(play(file.play, &file.defaults, &case.config, &case.steps))
        {
            if !expect.is_null() {
                step["expect"] = expect;
            }
        }
        json!({"name": case.name, "config": case.config, "steps": steps})
    });
    let cases: Vec<Value> = cases.collect();
    json!({"about": file.about, "defaults": file.defaults, "cases": cases})
}

/// The steps whose expectation is not what the crate answers, with both.
fn differences(player: Play, document: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    for case in document["cases"].as_array().expect("a list") {
        let steps = case["steps"].as_array().expect("a list");
        let answers = play(player, &document["defaults"], &case["config"], steps);
        for (step, answer) in steps.iter().zip(answers) {
            if *step.get("expect").unwrap_or(&Value::Null) != answer {
                differences.push(format!("{}: {step} is answered {answer}", case["name"]));
            }
        }
    }
    differences
}

fn play(player: Play, defaults: &Value, config: &Value, steps: &[Value]) -> Vec<Value> {
    let mut settings = defaults.clone();
    extend(&mut settings, config);
    let steps: Vec<Step<'_>> = steps.iter().map(Step).collect();
    let answers = player(Step(&settings), &steps);
    assert_eq!(answers.len(), steps.len(), "each step has an answer");
    answers
}

fn extend(object: &mut Value, fields: &Value) {
    let fields = fields.as_object().expect("an object");
    let object = object.as_object_mut().expect("an object");
    object.extend(fields.iter().map(|(key, value)| (key.clone(), value.clone())));
}

/// Changes the first constant in `value`.
fn alter(value: &mut Value) {
    *value = match value {
        Value::Null => json!(0),
        Value::Bool(is) => json!(!*is),
        Value::Number(number) => json!(number.as_f64().unwrap_or(0.0) + 1.0),
        Value::String(text) => json!(format!("{text}x")),
        Value::Array(list) if list.is_empty() => json!([0]),
        Value::Object(object) if object.is_empty() => json!({"altered": true}),
        Value::Array(list) => return alter(&mut list[0]),
        Value::Object(object) => return alter(first(object)),
    };
}

fn first(object: &mut Map<String, Value>) -> &mut Value {
    object.values_mut().next().expect("it is not empty")
}

fn path_of(file: &VectorFile) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../proto/vectors").join(file.name)
}
