//! Holds a page of a specification's statements and the behaviours of a crate's
//! tests/integration/spec together.
//!
//! A row of the page names the behaviours of a statement: ``| [STATEMENT] | words | `test`,
//! `path/to/file.rs: test` |``, where a test with a path stands elsewhere. The doc comment of a
//! test in tests/integration/spec names its statements in brackets. Both must agree, and
//! every test shows something; index.rs, which asks for that, is none.
//!
//! The specification suites of crates/mqtt and crates/rsocket include this file by its path.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Behaviours = BTreeSet<String>;

/// A page that lists statements.
pub struct Page {
    /// Where it is, from the root of the repository.
    pub path: &'static str,
    /// Whether what stands in brackets names a statement.
    pub is_statement: fn(&str) -> bool,
    /// How many statements it lists at least: a page that cannot be read lists none.
    pub statements_min: usize,
}

impl Page {
    /// Asserts that a row and the doc comments of its behaviours agree, for each statement.
    pub fn agrees_with_behaviours(&self) {
        let (listed, shown) = (self.listed(), self.shown());
        for (statement, behaviours) in &listed {
            let own: Behaviours = behaviours.iter().filter(|test| !test.contains(": ")).cloned().collect();
            let shown = shown.get(statement).cloned().unwrap_or_default();
            assert_eq!(own, shown, "[{statement}]: {} (left) and the behaviours (right)", self.path);
        }
        for (statement, behaviours) in &shown {
            let is_listed = listed.contains_key(statement);
            assert!(is_listed, "{} does not list [{statement}], shown by {behaviours:?}", self.path);
        }
        assert!(listed.len() >= self.statements_min, "{} statements", listed.len());
    }

    /// Asserts that the behaviours exist that a row names in other files.
    pub fn behaviours_elsewhere_exist(&self) {
        for (statement, behaviours) in self.listed() {
            for (file, name) in behaviours.iter().filter_map(|test| test.split_once(": ")) {
                let text = fs::read_to_string(root().join(file));
                let text = text.unwrap_or_else(|_| panic!("[{statement}]: no {file}"));
                assert!(text.contains(&format!("fn {name}(")), "[{statement}]: {file} has no {name}");
            }
        }
    }

    /// The statements of the page, with the behaviours of their rows.
    fn listed(&self) -> BTreeMap<String, Behaviours> {
        let text = fs::read_to_string(root().join(self.path)).unwrap_or_else(|_| panic!("no {}", self.path));
        let mut listed = BTreeMap::new();
        for line in text.lines().filter(|line| line.starts_with("| [")) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [_, statement, words, behaviours, _] = cells[..] else { panic!("four bars: {line}") };
            let statement = self.tags(statement).next().unwrap_or_else(|| panic!("a statement: {line}"));
            assert!(!words.is_empty(), "{line}");
            let behaviours: Behaviours =
                behaviours.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            assert!(!behaviours.is_empty(), "nothing shows {statement}");
            assert!(listed.insert(statement.clone(), behaviours).is_none(), "{statement} stands twice");
        }
        listed
    }

    /// The statements that behaviours in tests/integration/spec name, with those behaviours.
    fn shown(&self) -> BTreeMap<String, Behaviours> {
        let mut shown: BTreeMap<String, Behaviours> = BTreeMap::new();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/spec");
        for entry in fs::read_dir(folder).expect("the suite's folder") {
            let path = entry.expect("an entry").path();
            if path.ends_with("index.rs") {
                continue;
            }
            let text = fs::read_to_string(path).expect("a source file");
            let mut statements = BTreeSet::new();
            let mut is_test = false;
            for line in text.lines() {
                if let Some(comment) = line.strip_prefix("/// ") {
                    statements.extend(self.tags(comment));
                } else if line == "#[test]" {
                    is_test = true;
                } else if let Some(name) = line.strip_prefix("fn ").and_then(|rest| rest.split('(').next()) {
                    let statements = std::mem::take(&mut statements);
                    if std::mem::take(&mut is_test) {
                        assert!(!statements.is_empty(), "{name} shows nothing");
                        for statement in statements {
                            shown.entry(statement).or_default().insert(name.to_owned());
                        }
                    }
                }
            }
        }
        shown
    }

    /// What stands in brackets and names a statement.
    fn tags(&self, text: &str) -> impl Iterator<Item = String> {
        text.split('[')
            .skip(1)
            .filter_map(|rest| rest.split_once(']'))
            .map(|(tag, _)| tag)
            .filter(|tag| (self.is_statement)(tag))
            .map(str::to_owned)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
