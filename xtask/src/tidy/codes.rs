//! Codes of errors: each that the crates emit has a section in the reference, and each section a code.
//!
//! A code is letters, a dash and three digits, or one of the words of `rpc`. It counts where it is in
//! code, not in a comment or a test. A reader who searches for a code finds its section, by the anchor
//! that the site makes of it.

use std::collections::BTreeMap;

use super::source::Source;
use super::{File, Finding};
use crate::docs::stage::error_code;

/// Texts that look like codes and are none of ours: names of algorithms, and codes of services in
/// examples.
const OTHERS: [&str; 6] = ["SHA", "AES", "GEO", "WORDS", "KIP", "ECMA"];

/// Codes that are words.
const WORDS: [&str; 3] = ["RPC-DEADLINE", "RPC-NO-SERVICE", "RPC-NOT-AUTHORISED"];

/// The pages that may explain a code.
const PAGES: [&str; 2] = ["docs/reference/errors/", "docs/reference/configuration.md"];

/// The codes of the sources and those of the pages.
#[derive(Default)]
pub(super) struct Codes {
    /// Each with the first place that has it.
    emitted: BTreeMap<String, (String, usize)>,
    explained: BTreeMap<String, (String, usize)>,
    /// Sections of a code that another one has as well.
    twice: Vec<Finding>,
}

impl Codes {
    /// Adds the codes of a file of the crates.
    pub(super) fn add_source(&mut self, path: &str, text: &str, source: &Source) {
        if !path.starts_with("crates/") || !path.contains("/src/") || path.contains("/tests") {
            return;
        }
        for (number, line) in (1..).zip(text.lines()) {
            if source.is_test(number) || line.trim_start().starts_with("//") {
                continue;
            }
            for code in codes(line) {
                self.emitted.entry(code.to_owned()).or_insert_with(|| (path.to_owned(), number));
            }
        }
    }

    /// Adds the sections of a page.
    pub(super) fn add_page(&mut self, page: &File) {
        if !PAGES.iter().any(|start| page.path.starts_with(start)) {
            return;
        }
        for (index, line) in page.text.lines().enumerate() {
            let Some(code) = error_code(line) else { continue };
            let place = (page.path.clone(), index + 1);
            if let Some((path, _)) = self.explained.insert(code.to_owned(), place) {
                self.twice.push(Finding::new(
                    &page.path,
                    index + 1,
                    format!("{code} has a section in {path} too"),
                ));
            }
        }
    }

    /// Codes without a section, sections without a code, codes with two sections.
    pub(super) fn check(self) -> Vec<Finding> {
        let unexplained = self.emitted.iter().filter(|(code, _)| !self.explained.contains_key(*code));
        let unexplained = unexplained.map(|(code, (path, line))| {
            Finding::new(path, *line, format!("{code} has no section in docs/reference/errors"))
        });
        let gone = self.explained.iter().filter(|(code, _)| !self.emitted.contains_key(*code));
        let gone = gone
            .map(|(code, (path, line))| Finding::new(path, *line, format!("no crate has the code {code}")));
        unexplained.chain(gone).chain(self.twice).collect()
    }
}

/// The codes in a line.
fn codes(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    line.split(move |letter: char| !is_part(letter)).filter(|word| is_code(word))
}

fn is_code(word: &str) -> bool {
    let Some((letters, digits)) = word.split_once('-') else { return false };
    let is_numbered = (3..=6).contains(&letters.len())
        && letters.chars().all(|letter| letter.is_ascii_uppercase())
        && digits.len() == 3
        && digits.chars().all(|digit| digit.is_ascii_digit());
    WORDS.contains(&word) || (is_numbered && !OTHERS.contains(&letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str, page: &str) -> Vec<String> {
        let mut codes = Codes::default();
        codes.add_source("crates/x/src/a.rs", source, &Source::new(source));
        codes.add_page(&File { path: "docs/reference/errors/x.md".into(), text: page.into() });
        codes.check().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn codes_and_sections_that_match_pass() {
        let source = "// QUE-008 in a comment\nconst A: &str = \"QUE-001\";\nlet b = (\n    \"QUE-002\",\n);\n\
                      const C: &str = \"SHA-256\";\n#[cfg(test)]\nmod tests {\n    const T: &str = \"QUE-999\";\n}\n";
        assert_eq!(found(source, "## QUE-001 One\n### QUE-002\n"), [""; 0]);
    }

    #[test]
    fn what_lacks_its_counterpart_is_found() {
        let source = "let text = \"refused (QUE-001)\";\nlet late = \"RPC-DEADLINE\";\n";
        let expected = [
            "crates/x/src/a.rs:1: QUE-001 has no section in docs/reference/errors",
            "docs/reference/errors/x.md:2: no crate has the code QUE-002",
            "docs/reference/errors/x.md:3: QUE-002 has a section in docs/reference/errors/x.md too",
        ];
        let found = found(source, "## RPC-DEADLINE Late\n## QUE-002 Two\n## QUE-002 Again\n");
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], expected[0]);
        assert_eq!(found[2], expected[2]);
    }
}
