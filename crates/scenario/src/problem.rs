//! What is wrong with a scenario, and where: with a picture of the line, as compilers draw it.
//!
//! Lines and columns count from 1; columns count characters.

use std::fmt::Write as _;
use std::ops::Range;

use crate::secret::Secrets;

/// Something wrong in a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its line, from 1.
    pub line: u32,
    /// Its first character in the line, from 1.
    pub column: u32,
    /// How many characters of the line are meant; at least one.
    pub width: u32,
    /// What is wrong.
    pub message: String,
    /// What may have been meant, or what to do.
    pub hint: Option<String>,
}

impl Problem {
    /// One of these bytes of a text.
    pub(crate) fn at(text: &str, range: Range<usize>, message: String, hint: Option<String>) -> Problem {
        let boundary =
            |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let (start, end) = (boundary(range.start), boundary(range.end));
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let count = |part: &str| u32::try_from(part.chars().count()).unwrap_or(u32::MAX);
        Problem {
            line: count_lines(&text[..start]) + 1,
            column: count(&text[line_start..start]).saturating_add(1),
            width: count(text.get(start..end.min(line_end)).unwrap_or("").trim_end()).max(1),
            message,
            hint,
        }
    }

    /// The problem with its line and a caret below it; without colours, with a line feed at the
    /// end. Secrets in the line are hidden.
    pub fn render(&self, file_name: &str, text: &str) -> String {
        let whole = text.lines().nth(self.line.saturating_sub(1) as usize).unwrap_or("");
        let secrets = Secrets::default();
        let line = secrets.text(whole);
        let before: String = whole.chars().take(self.column.saturating_sub(1) as usize).collect();
        let before = if line == whole { before } else { secrets.text(&before) };
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        // Tabs stay tabs, so that the caret stands below its character.
        let indent: String = before.chars().map(|at| if at == '\t' { '\t' } else { ' ' }).collect();
        let carets = "^".repeat(self.width as usize);
        let mut out = String::new();
        // Writing into a string does not fail.
        let _ = write!(
            out,
            "error: {}\n{margin}--> {file_name}:{}:{}\n{margin} |\n{number} | {line}\n{margin} | {indent}{carets}\n",
            secrets.text(&self.message),
            self.line,
            self.column
        );
        if let Some(hint) = &self.hint {
            let _ = writeln!(out, "{margin} = {hint}");
        }
        out
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "line {}, column {}: {}", self.line, self.column, self.message)?;
        match &self.hint {
            Some(hint) => write!(out, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}

/// How many line feeds a text has.
pub(crate) fn count_lines(text: &str) -> u32 {
    u32::try_from(memchr::memchr_iter(b'\n', text.as_bytes()).count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::Problem;

    #[test]
    fn a_problem_shows_its_line() {
        let text = "a = 1\n\té = tru # x\n";
        let start = text.find("tru").unwrap();
        let problem =
            Problem::at(text, start..start + 3, "no such value".into(), Some("did you mean `true`?".into()));
        assert_eq!((problem.line, problem.column, problem.width), (2, 6, 3));
        assert_eq!(
            problem.render("x.toml", text),
            "error: no such value\n --> x.toml:2:6\n  |\n2 | \té = tru # x\n  | \t    ^^^\n  = did you mean `true`?\n"
        );
    }

    #[test]
    fn a_problem_does_not_show_the_secret_of_its_line() {
        let text = "connect = { password = \"hunter2-and-more\", cleen = true }";
        let start = text.find("cleen").unwrap();
        let problem = Problem::at(text, start..start + 5, "unknown key `cleen`".into(), None);
        assert_eq!(
            problem.render("x.toml", text),
            "error: unknown key `cleen`\n --> x.toml:1:44\n  |\n\
             1 | connect = { password = \"<secret>\", cleen = true }\n  |                                    ^^^^^\n"
        );
    }

    #[test]
    fn a_range_over_lines_is_shown_to_the_end_of_its_first() {
        let text = "ab\ncd";
        assert_eq!(Problem::at(text, 1..5, String::new(), None).width, 1);
        assert_eq!(Problem::at(text, 9..12, String::new(), None).line, 2);
    }
}
