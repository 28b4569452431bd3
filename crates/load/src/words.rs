//! Names of the specification as people write them: `NotAuthorized` is `not authorized`.
//!
//! Reasons are counted and reported by these words, by swarms and by sessions alike.

/// The name of a value, as `Debug` writes it, as words.
pub(crate) fn spoken(value: impl std::fmt::Debug) -> String {
    let name = format!("{value:?}");
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
    use stadium_mqtt::reason::ReasonCode;

    use super::spoken;

    #[test]
    fn a_name_becomes_words() {
        assert_eq!(spoken(ReasonCode::NotAuthorized), "not authorized");
        assert_eq!(spoken(ReasonCode::Success), "success");
    }
}
