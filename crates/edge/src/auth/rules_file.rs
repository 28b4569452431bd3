//! The rules as text: read with the line of a mistake, written whole.
//!
//! A file is replaced by renaming, so that a crash leaves the old or the new one. The text that was
//! read is remembered by its hash: a file that somebody edited since is not overwritten.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use ring::digest;
use serde::{Deserialize, Serialize};
use stadium_grants::topics::{TopicRule, TopicRules};
use toml::Spanned;

/// Opens a file that the server writes.
const HEAD: &str = "\
# The rules of topics (docs/reference/rules-file.md), as they were set over the HTTP API, which
# replaces this file whole: comments do not stay.

";

/// Rules that were read and compiled.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) written: Vec<TopicRule>,
    pub(super) compiled: TopicRules,
}

/// A mistake in rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleMistake {
    /// The rule, from 1; none where the text is no TOML, or no list of rules.
    pub rule: Option<usize>,
    /// Its line in the text, from 1; none where there is no text.
    pub line: Option<usize>,
    /// The mistake, in words.
    pub problem: String,
}

impl std::fmt::Display for RuleMistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.rule, self.line) {
            (Some(rule), Some(line)) => write!(f, "rule {rule} (line {line}): {}", self.problem),
            (Some(rule), None) => write!(f, "rule {rule}: {}", self.problem),
            (None, Some(line)) => write!(f, "line {line}: {}", self.problem),
            (None, None) => f.write_str(&self.problem),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesText {
    #[serde(default)]
    rule: Vec<Spanned<TopicRule>>,
}

#[derive(Serialize)]
struct Written<'a> {
    rule: &'a [TopicRule],
}

/// Reads rules.
pub(super) fn parse(text: &str) -> Result<Read, RuleMistake> {
    let line =
        |at: usize| text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
    let read: RulesText = toml::from_str(text).map_err(|error| RuleMistake {
        rule: None,
        line: error.span().map(|span| line(span.start)),
        problem: error.message().to_owned(),
    })?;
    let lines: Vec<usize> = read.rule.iter().map(|rule| line(rule.span().start)).collect();
    let written: Vec<TopicRule> = read.rule.into_iter().map(Spanned::into_inner).collect();
    compile(written).map_err(|mistake| {
        let line = mistake.rule.and_then(|rule| lines.get(rule - 1).copied());
        RuleMistake { line, ..mistake }
    })
}

/// Compiles rules; the first that is wrong is named.
pub(super) fn compile(written: Vec<TopicRule>) -> Result<Read, RuleMistake> {
    match TopicRules::new(&written) {
        Ok(compiled) => Ok(Read { written, compiled }),
        Err(_) => Err(first_mistake(&written)),
    }
}

/// The rule that does not compile by itself.
fn first_mistake(rules: &[TopicRule]) -> RuleMistake {
    let wrong = rules.iter().enumerate().find_map(|(at, rule)| {
        let text = TopicRules::new(std::slice::from_ref(rule)).err()?;
        let problem = text.strip_prefix("rule 1: ").unwrap_or(&text).to_owned();
        Some(RuleMistake { rule: Some(at + 1), line: None, problem })
    });
    // Rules that compile alone compile together.
    wrong.unwrap_or(RuleMistake { rule: None, line: None, problem: "the rules do not compile".to_owned() })
}

/// The text of a rules file.
pub(super) fn text(rules: &[TopicRule]) -> String {
    // Texts, lists and truth values are TOML.
    let tables = toml::to_string(&Written { rule: rules }).unwrap_or_default();
    // An empty list would be written as `rule = []`, which is read in the same way.
    format!("{HEAD}{tables}")
}

/// Names a state of the rules: 16 hexadecimal digits.
pub(super) fn fingerprint(text: &str) -> String {
    let hash = digest::digest(&digest::SHA256, text.as_bytes());
    hash.as_ref()[..8].iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Replaces a file; it is on disk when this returns. Its permissions stay.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let permissions = match fs::metadata(path) {
        Ok(metadata) => Some(metadata.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&fresh)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| {
        permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions))?;
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(&fresh, path)) {
        let _ = fs::remove_file(&fresh);
        return Err(error);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_names_the_rule_and_its_line() {
        let good = "# rules\n[[rule]]\nallow = [\"publish\"]\ntopics = [\"a/#\"]\n\n";
        for (more, rule, line, why) in [
            (
                "[[rule]]\nallow = [\"publish\"]\ntopics = [\"a/#/b\"]\n",
                Some(2),
                6,
                "# stands only in the last level",
            ),
            ("[[rule]]\ntopics = [\"a\"]\n", Some(2), 6, "says neither allow nor deny"),
            ("[[rule]]\nallow = [\"publish\"]\ntopic = \"a\"\n", None, 8, "unknown field"),
            ("[[rule]]\nallow = [\n", None, 7, ""),
        ] {
            let mistake = parse(&format!("{good}{more}")).expect_err(more);
            assert_eq!(
                (mistake.rule, mistake.line.map(|at| at.clamp(line, line + 1))),
                (rule, mistake.line),
                "{mistake}"
            );
            assert!(mistake.problem.contains(why), "{mistake}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let rules = "[[rule]]\ndeny = [\"publish\"]\ntopics = [\"a\\\"b/%u\", \"c/#\"]\nretain = true\n\
                     users = [\"anna\"]\ngroups = [\"g\"]\nvia = [\"token\"]\n[[rule]]\nallow = [\"subscribe\"]\ntopics = [\"#\"]\n";
        let read = parse(rules).expect("rules");
        let written = text(&read.written);
        assert_eq!(parse(&written).expect("rules").written, read.written);
        assert_eq!(parse(&text(&[])).expect("rules").written, []);
        assert_ne!(fingerprint(&written), fingerprint(&text(&[])));
    }

    #[test]
    fn a_file_is_replaced_with_its_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rules.toml");
        replace(&path, "one").expect("written");
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("changed");
        replace(&path, "two").expect("written");
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o644);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "two");
        assert!(replace(&folder.path().join("none/rules.toml"), "x").is_err());
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing is left beside");
    }
}
