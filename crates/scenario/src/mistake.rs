//! What is wrong with a piece of text of a scenario: an expression, a template, a path into JSON, a duration.
//!
//! It knows only its piece; the document that the piece is in makes a [`crate::Problem`] with line and column of it.

use std::ops::Range;

/// What is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Bytes of the text that are wrong.
    pub range: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What may have been meant.
    pub hint: Option<String>,
}

impl Mistake {
    /// One without a hint.
    pub fn new(range: Range<usize>, message: impl Into<String>) -> Mistake {
        Mistake { range, message: message.into(), hint: None }
    }

    /// With what may have been meant.
    pub fn hint(mut self, hint: impl Into<String>) -> Mistake {
        self.hint = Some(hint.into());
        self
    }

    /// With "did you mean", where one of the known words is near.
    pub(crate) fn nearest<'w>(self, word: &str, known: impl IntoIterator<Item = &'w str>) -> Mistake {
        match nearest(word, known) {
            Some(near) => self.hint(format!("did you mean `{near}`?")),
            None => self,
        }
    }

    /// The same in a text that this one begins in at `offset`.
    pub(crate) fn moved(mut self, offset: usize) -> Mistake {
        self.range = self.range.start + offset..self.range.end + offset;
        self
    }
}

impl std::fmt::Display for Mistake {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(out, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Mistake {}

/// The known word that is nearest to this one, where one is near enough to be meant.
pub(crate) fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    /// Jaro-Winkler similarity from which a word may be meant.
    const NEAR: f64 = 0.8;
    let lower = word.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(similarity, _)| *similarity >= NEAR)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_word_is_suggested_and_nothing_far() {
        let known = ["duration", "timeout", "users"];
        assert_eq!(nearest("duraton", known), Some("duration"));
        assert_eq!(nearest("time_out", known), Some("timeout"));
        assert_eq!(nearest("zebra", known), None);
    }
}
