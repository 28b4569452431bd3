//! Holds docs/mqtt.md and the stories together.
//!
//! A row of the document names the stories of a statement; a story's doc comment names its statements.
//! Both must say the same. A story of another crate is named with its file: `crates/edge/tests/x.rs: story`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Stories = BTreeSet<String>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Statements (`MQTT-…` of 5.0, `3.1.1 MQTT-…`) and the stories that say they show them.
fn told() -> BTreeMap<String, Stories> {
    let mut told: BTreeMap<String, Stories> = BTreeMap::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spec");
    for entry in fs::read_dir(folder).expect("this folder") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a source file");
        let mut statements = BTreeSet::new();
        let mut is_test = false;
        for line in text.lines() {
            if let Some(comment) = line.strip_prefix("/// ") {
                statements.extend(tags(comment));
            } else if line == "#[test]" {
                is_test = true;
            } else if let Some(name) = line.strip_prefix("fn ").and_then(|rest| rest.split('(').next()) {
                if is_test {
                    for statement in &statements {
                        told.entry(statement.clone()).or_default().insert(name.to_owned());
                    }
                }
                statements.clear();
                is_test = false;
            }
        }
    }
    told
}

/// What stands in brackets and is a statement.
fn tags(text: &str) -> impl Iterator<Item = String> {
    text.split('[')
        .skip(1)
        .filter_map(|rest| rest.split(']').next())
        .filter(|tag| tag.contains("MQTT-"))
        .map(str::to_owned)
}

/// The rows of docs/mqtt.md that list stories: statement and stories.
fn listed() -> BTreeMap<String, Stories> {
    let text = fs::read_to_string(root().join("docs/mqtt.md")).expect("docs/mqtt.md");
    let mut listed = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| [")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, statement, words, stories, _] = cells[..] else { panic!("four bars: {line}") };
        let statement = tags(statement).next().unwrap_or_else(|| panic!("a statement: {line}"));
        assert!(!words.is_empty(), "{line}");
        let stories: Stories = stories.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        assert!(!stories.is_empty(), "nothing shows {statement}");
        assert!(listed.insert(statement.clone(), stories).is_none(), "{statement} stands twice");
    }
    listed
}

#[test]
fn document_and_stories_say_the_same() {
    let (listed, told) = (listed(), told());
    let own =
        |stories: &Stories| -> Stories { stories.iter().filter(|s| !s.contains(": ")).cloned().collect() };
    for (statement, stories) in &listed {
        let told = told.get(statement).cloned().unwrap_or_default();
        assert_eq!(own(stories), told, "[{statement}]: docs/mqtt.md (left) and the stories (right)");
    }
    for (statement, stories) in &told {
        assert!(
            listed.contains_key(statement),
            "docs/mqtt.md does not list [{statement}], shown by {stories:?}"
        );
    }
    assert!(listed.len() > 300, "{} statements", listed.len());
}

#[test]
fn stories_of_other_crates_exist() {
    for (statement, stories) in listed() {
        for story in stories {
            let Some((file, name)) = story.split_once(": ") else { continue };
            let text =
                fs::read_to_string(root().join(file)).unwrap_or_else(|_| panic!("[{statement}]: no {file}"));
            assert!(text.contains(&format!("fn {name}(")), "[{statement}]: {file} has no {name}");
        }
    }
}
