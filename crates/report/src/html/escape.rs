//! What comes from outside (names, errors, scenarios) becomes text in a page, and nothing else.

/// For text and for attributes in double quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            _ if character.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// A JSON string that may stand in a script element: nothing in it can end the element.
pub(crate) fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Commas between digits become narrow spaces that do not break, and so does a space between a figure and its unit.
pub(crate) fn thin(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let digit = |index: Option<usize>| {
        index.and_then(|index| characters.get(index)).is_some_and(char::is_ascii_digit)
    };
    let mut thin = String::with_capacity(text.len());
    for (index, character) in characters.iter().enumerate() {
        let after_digit = digit(index.checked_sub(1));
        match character {
            ',' if after_digit && digit(Some(index + 1)) => thin.push('\u{202f}'),
            ' ' if after_digit && unit_follows(&characters[index + 1..]) => thin.push('\u{202f}'),
            _ => thin.push(*character),
        }
    }
    thin
}

fn unit_follows(rest: &[char]) -> bool {
    let word: String = rest.iter().take_while(|c| c.is_alphabetic()).take(4).collect();
    matches!(
        word.as_str(),
        "ns" | "µs" | "ms" | "s" | "min" | "h" | "B" | "kB" | "MB" | "GB" | "TB" | "k" | "M" | "G"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_name_is_markup() {
        let name = "<script>alert('1')</script>\"&\u{0}";
        assert_eq!(escape(name), "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;\u{fffd}");
        let quoted = json(name);
        assert!(!quoted.contains('<') && !quoted.contains('&'), "{quoted}");
        assert_eq!(serde_json::from_str::<String>(&quoted).expect("it is JSON"), name);
    }

    #[test]
    fn figures_get_narrow_spaces_and_sentences_keep_theirs() {
        assert_eq!(thin("1,234,567 B of 2, 3 users"), "1\u{202f}234\u{202f}567\u{202f}B of 2, 3 users");
        assert_eq!(thin("61.2 ms"), "61.2\u{202f}ms");
    }
}
