//! Transfers' ids as text: a UUID, with or without hyphens.

/// A transfer's id as a UUID.
pub(crate) fn show(id: u128) -> String {
    let hex = format!("{id:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Reads an id, and writes it as [`show`] does.
pub(crate) fn parse(text: &str) -> Result<String, String> {
    number(text).map(show)
}

/// Reads an id.
pub(crate) fn number(text: &str) -> Result<u128, String> {
    let wrong = || {
        format!("{text:?} is no transfer's id: 32 hexadecimal digits, with or without the hyphens of a UUID")
    };
    let is_uuid = text.len() == 36 && [8, 13, 18, 23].iter().all(|&at| text.as_bytes()[at] == b'-');
    let digits = if is_uuid { text.replace('-', "") } else { text.to_owned() };
    if digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    u128::from_str_radix(&digits, 16).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_id_is_read_in_either_form() {
        let uuid = "01234567-89ab-cdef-0123-456789abcdef";
        assert_eq!(super::parse(uuid).as_deref(), Ok(uuid));
        assert_eq!(super::parse("0123456789ABCDEF0123456789abcdef").as_deref(), Ok(uuid));
        for text in ["", "12", "01234567-89ab-cdef-0123-456789abcde", "0123456789abcdef0123456789abcdeg"] {
            assert!(super::parse(text).is_err(), "{text}");
        }
    }
}
