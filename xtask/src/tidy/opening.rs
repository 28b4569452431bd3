//! Every Rust file opens with `//!`: what it is, what holds, what is elsewhere, in two to ten lines.
//!
//! A short file may say it in one: a second sentence there would only be filler.
//!
//! The line bound for a file lives here too. It is a note and not a finding, because a table may be
//! long and only a reader can tell a table from a sprawl.

use super::Finding;

/// Fewest `//!` lines that can say what a longer file is and what holds in it.
const LINES_MIN: usize = 2;
/// Files up to this long may open with a single line.
const SHORT_FILE_LINES: usize = 150;
/// More than this is documentation that belongs on the items or in docs/.
const LINES_MAX: usize = 10;
/// Files longer than this, not counting tests, are noted.
pub(crate) const LINES_NOTED: usize = 600;

/// Checks the opening of one file.
pub(crate) fn check(path: &str, text: &str) -> Option<Finding> {
    let lines = text.lines().take_while(|line| line.starts_with("//!")).count();
    let what = match lines {
        0 => "opens without `//!` docs: say what the file is, what holds, what is elsewhere".to_string(),
        lines if lines < LINES_MIN && text.lines().count() > SHORT_FILE_LINES => {
            format!("opens with {lines} line of `//!`; two to ten are asked for")
        }
        lines if lines > LINES_MAX => format!("opens with {lines} lines of `//!`; two to ten are asked for"),
        _ => return None,
    };
    Some(Finding::new(path, 1, what))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn an_opening_has_two_to_ten_lines() {
        assert_eq!(check("a.rs", "//! What.\n//!\n//! Holds.\nuse b;\n"), None);
        assert_eq!(check("a.rs", "use b;\n//! Late.\n").map(|finding| finding.line), Some(1));
        assert_eq!(check("a.rs", "//! A short file.\nuse b;\n"), None);
        assert!(check("a.rs", &format!("//! A long file.\n{}", "use b;\n".repeat(200))).is_some());
        assert!(check("a.rs", &"//! Too long.\n".repeat(11)).is_some());
    }
}
