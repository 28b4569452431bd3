//! Holds docs/rsocket.md and the stories together.
//!
//! A row of the document names the stories of a statement; a story's doc comment names its statements. Both
//! must say the same. A story elsewhere is named with its file: `crates/rsocket/tests/pipe.rs: story`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Stories = BTreeSet<String>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What stands in brackets and is a statement: `[SETUP-2]`.
fn tags(text: &str) -> impl Iterator<Item = String> {
    text.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(tag, _)| tag.to_owned()).filter(
        |tag| {
            tag.split_once('-').is_some_and(|(section, number)| {
                section.bytes().all(|byte| byte.is_ascii_uppercase()) && number.parse::<u32>().is_ok()
            })
        },
    )
}

/// Statements, and the stories here that say they show them.
fn told() -> BTreeMap<String, Stories> {
    let mut told: BTreeMap<String, Stories> = BTreeMap::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spec");
    for entry in fs::read_dir(folder).expect("this folder") {
        let text = fs::read_to_string(entry.expect("an entry").path()).expect("a source file");
        let mut statements = BTreeSet::new();
        let mut is_test = false;
        for line in text.lines() {
            if let Some(comment) = line.strip_prefix("/// ") {
                statements.extend(tags(comment));
            } else if line == "#[test]" {
                is_test = true;
            } else if let Some(name) = line.strip_prefix("fn ").and_then(|rest| rest.split('(').next()) {
                if is_test {
                    assert!(
                        name == "document_and_stories_say_the_same"
                            || name == "stories_elsewhere_exist"
                            || !statements.is_empty(),
                        "{name} shows nothing"
                    );
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

/// The rows of docs/rsocket.md that list stories: statement and stories.
fn listed() -> BTreeMap<String, Stories> {
    let text = fs::read_to_string(root().join("docs/rsocket.md")).expect("docs/rsocket.md");
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
    for (statement, stories) in &listed {
        let own: Stories = stories.iter().filter(|story| !story.contains(": ")).cloned().collect();
        let told = told.get(statement).cloned().unwrap_or_default();
        assert_eq!(own, told, "[{statement}]: docs/rsocket.md (left) and the stories (right)");
    }
    for (statement, stories) in &told {
        assert!(listed.contains_key(statement), "docs/rsocket.md does not list [{statement}] of {stories:?}");
    }
    assert!(listed.len() > 90, "{} statements", listed.len());
}

#[test]
fn stories_elsewhere_exist() {
    for (statement, stories) in listed() {
        for story in stories {
            let Some((file, name)) = story.split_once(": ") else { continue };
            let text =
                fs::read_to_string(root().join(file)).unwrap_or_else(|_| panic!("[{statement}]: no {file}"));
            assert!(text.contains(&format!("fn {name}(")), "[{statement}]: {file} has no {name}");
        }
    }
}
