//! Names of the specification as people write them: `NotAuthorized` is `not authorized`.
//!
//! Reasons are counted and reported by these words, by swarms and by sessions alike.

/// A name in capitals and small letters as words.
pub(crate) fn spoken(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for (at, letter) in name.chars().enumerate() {
        if at > 0 && letter.is_ascii_uppercase() {
            out.push(' ');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::spoken;

    #[test]
    fn a_name_becomes_words() {
        assert_eq!(spoken("NotAuthorized"), "not authorized");
        assert_eq!(spoken("Success"), "success");
    }
}
