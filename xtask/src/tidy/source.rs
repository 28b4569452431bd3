//! Rust source with comments, literals and test code blanked out, so that a rule sees only code.
//!
//! Every blanked byte becomes a space and line ends stay, so line numbers hold. This is a lexer, not a
//! parser: it knows strings, raw strings, characters, nested comments, and the item after a
//! `#[cfg(test)]`. That is all the rules need, and it can't fail on code that is being edited.

use std::ops::RangeInclusive;

/// Code only: what is left of a file when comments, literals and `#[cfg(test)]` items are blank.
pub(crate) struct Source {
    code: String,
    /// The lines of each `#[cfg(test)]` item, from 1.
    tests: Vec<RangeInclusive<usize>>,
}

impl Source {
    /// Blanks what is not production code.
    pub(crate) fn new(text: &str) -> Self {
        let mut code = blank_literals(text);
        let tests = blank_tests(&mut code);
        let code =
            String::from_utf8(code).expect("blanking replaces whole bytes by spaces or keeps characters");
        Self { code, tests }
    }

    /// Lines of code, each with its number from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// How many lines the file has outside `#[cfg(test)]` items.
    pub(crate) fn lines_outside_tests(&self) -> usize {
        let of_tests: usize = self.tests.iter().map(|lines| lines.end() - lines.start() + 1).sum();
        self.code.lines().count().saturating_sub(of_tests)
    }

    /// Whether the line, from 1, is in a `#[cfg(test)]` item.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.tests.iter().any(|lines| lines.contains(&line))
    }

    /// Numbers of the lines where `word` stands as a whole path segment sequence (`std::net`).
    pub(crate) fn lines_with_word<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.lines().filter(move |(_, line)| has_word(line, word)).map(|(number, _)| number)
    }

    /// The members of every `use` group after `prefix`, with its line: `use std::{fs, net::TcpStream}`.
    pub(crate) fn group_members(&self, prefix: &str) -> Vec<(usize, String)> {
        let mut members = Vec::new();
        let opening = format!("{prefix}::{{");
        for (start, _) in self.code.match_indices(&opening) {
            let inside = start + opening.len();
            let mut depth = 1_usize;
            let mut member_start = inside;
            for (offset, character) in self.code[inside..].char_indices() {
                let at = inside + offset;
                match character {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                if (character == ',' && depth == 1) || depth == 0 {
                    let member = self.code[member_start..at].trim();
                    if !member.is_empty() {
                        let line = self.code[..member_start].matches('\n').count() + 1;
                        members.push((line, member.to_string()));
                    }
                    member_start = at + 1;
                }
                if depth == 0 {
                    break;
                }
            }
        }
        members
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether `word` stands in `line` with no identifier character on either side.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let bytes = line.as_bytes();
        let end = start + word.len();
        let free_before = start == 0 || !is_word_byte(bytes[start - 1]);
        let free_after = end >= bytes.len() || !is_word_byte(bytes[end]);
        free_before && free_after
    })
}

/// Replaces comments, strings and characters by spaces; line ends stay.
fn blank_literals(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => end_of_line(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'*') => end_of_comment(bytes, at),
            b'"' => end_of_string(bytes, at),
            b'r' | b'b' | b'c' if at == 0 || !is_word_byte(bytes[at - 1]) => match end_of_prefixed(bytes, at)
            {
                Some(end) => end,
                None => {
                    at += 1;
                    continue;
                }
            },
            b'\'' => match end_of_character(text, at) {
                Some(end) => end,
                None => {
                    at += 1;
                    continue;
                }
            },
            _ => {
                at += 1;
                continue;
            }
        };
        blank(&mut code[at..end]);
        at = end;
    }
    code
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

fn end_of_line(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |offset| at + offset)
}

fn end_of_comment(bytes: &[u8], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut index = at;
    while index + 1 < bytes.len() {
        match &bytes[index..index + 2] {
            b"/*" => (depth, index) = (depth + 1, index + 2),
            b"*/" => (depth, index) = (depth - 1, index + 2),
            _ => index += 1,
        }
        if depth == 0 {
            return index;
        }
    }
    bytes.len()
}

fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let mut index = at + 1;
    while index < bytes.len() {
        match bytes[index] {
            b'\\' => index += 2,
            b'"' => return index + 1,
            _ => index += 1,
        }
    }
    bytes.len()
}

/// `r"..."`, `r#"..."#`, `b"..."`, `br#"..."#`, `c"..."`, `b'x'`; `None` when `at` starts an identifier.
fn end_of_prefixed(bytes: &[u8], at: usize) -> Option<usize> {
    let mut index = at;
    let mut raw = false;
    while let Some(b'r' | b'b' | b'c') = bytes.get(index) {
        raw |= bytes[index] == b'r';
        index += 1;
        if index - at > 2 {
            return None;
        }
    }
    if !raw {
        return match bytes.get(index) {
            Some(b'"') => Some(end_of_string(bytes, index)),
            Some(b'\'') if bytes[at] == b'b' => {
                let close = if bytes.get(index + 1) == Some(&b'\\') { index + 3 } else { index + 2 };
                bytes[close.min(bytes.len())..]
                    .iter()
                    .position(|byte| *byte == b'\'')
                    .map(|more| close + more + 1)
            }
            _ => None,
        };
    }
    let hashes = bytes[index..].iter().take_while(|byte| **byte == b'#').count();
    index += hashes;
    if bytes.get(index) != Some(&b'"') {
        return None;
    }
    index += 1;
    while index < bytes.len() {
        let closes = bytes[index] == b'"'
            && bytes[index + 1..].iter().take(hashes).filter(|b| **b == b'#').count() == hashes;
        index += 1;
        if closes {
            return Some(index + hashes);
        }
    }
    Some(bytes.len())
}

/// The end of a character literal; `None` for a lifetime.
fn end_of_character(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at + 1..];
    let mut characters = rest.char_indices();
    let (_, first) = characters.next()?;
    if first == '\\' {
        // An escape: skip the escaped character, then find the quote.
        let (escaped_at, escaped) = characters.next()?;
        let from = escaped_at + escaped.len_utf8();
        return rest[from..].find('\'').map(|offset| at + 1 + from + offset + 1);
    }
    let (next_at, next) = characters.next()?;
    (next == '\'').then_some(at + 1 + next_at + 1)
}

/// Blanks each item behind `#[cfg(test)]` and returns its lines.
fn blank_tests(code: &mut [u8]) -> Vec<RangeInclusive<usize>> {
    const MARK: &[u8] = b"#[cfg(test)]";
    let line_of = |code: &[u8], at: usize| code[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
    let mut items = Vec::new();
    let mut at = 0;
    while let Some(offset) = code[at..].windows(MARK.len()).position(|window| window == MARK) {
        let start = at + offset;
        let end = end_of_item(code, start + MARK.len());
        items.push(line_of(code, start)..=line_of(code, end));
        blank(&mut code[start..end]);
        at = end;
    }
    items
}

/// The end of the item that starts at `at`: its `;`, or the brace that closes its body.
fn end_of_item(code: &[u8], at: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in code[at..].iter().enumerate() {
        match byte {
            b';' if depth == 0 => return at + offset + 1,
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && *byte == b'}' {
                    return at + offset + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::Source;

    fn lines_with(text: &str, word: &str) -> Vec<usize> {
        Source::new(text).lines_with_word(word).collect()
    }

    #[test]
    fn comments_and_literals_hide_words() {
        let text = "// unsafe\n/* a /* unsafe */ unsafe */\nlet a = \"unsafe \\\" unsafe\";\nlet b = r#\"unsafe\"#;\n\
                    let c = b\"unsafe\"; let d = '\"'; let e = b'\"';\nfn f<'a>() { unsafe {} }\n";
        assert_eq!(lines_with(text, "unsafe"), [6]);
    }

    #[test]
    fn a_word_must_stand_alone() {
        assert_eq!(lines_with("unsafely(); not_unsafe();\nunsafe fn x() {}", "unsafe"), [2]);
        assert_eq!(lines_with("std::network();\nstd::net::TcpStream", "std::net"), [2]);
    }

    #[test]
    fn test_items_are_not_code() {
        let text = "use a;\n#[cfg(test)]\nuse std::fs;\n#[cfg(test)]\nmod tests {\n  fn x() { std::fs::f(); }\n}\nstd::fs::g();\n";
        assert_eq!(lines_with(text, "std::fs"), [8]);
        assert_eq!(Source::new(text).lines_outside_tests(), 2);
    }

    #[test]
    fn members_of_a_use_group_are_found_across_lines() {
        let source = Source::new("use std::{\n    fs,\n    net::{TcpStream, UdpSocket},\n};\n");
        let members: Vec<String> =
            source.group_members("std").into_iter().map(|(_, member)| member).collect();
        assert_eq!(members, ["fs", "net::{TcpStream, UdpSocket}"]);
    }
}
