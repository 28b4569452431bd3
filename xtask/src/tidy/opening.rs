//! Every Rust file opens with two to ten lines of `//!`: what it is, what holds, what is elsewhere.
//!
//! The line bound for a file lives here too. It is a note and not a finding, because a table may be
//! long and only a reader can tell a table from a sprawl.

use super::Finding;

/// Fewest `//!` lines that can say what a file is and what holds in it.
const LINES_MIN: usize = 2;
/// More than this is documentation that belongs on the items or in docs/.
const LINES_MAX: usize = 10;
/// Files longer than this, not counting tests, are noted.
pub(crate) const LINES_NOTED: usize = 600;

/// Checks the opening of one file.
pub(crate) fn check(path: &str, text: &str) -> Option<Finding> {
    let lines = text.lines().take_while(|line| line.starts_with("//!")).count();
    let what = match lines {
        0 => "opens without `//!` docs: say what the file is, what holds, what is elsewhere".to_string(),
        lines if lines < LINES_MIN => format!("opens with {lines} line of `//!`; two to ten are asked for"),
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
        assert!(check("a.rs", "//! Only one.\nuse b;\n").is_some());
        assert!(check("a.rs", &"//! Too long.\n".repeat(11)).is_some());
    }
}
