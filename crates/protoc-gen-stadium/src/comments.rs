//! The comments of a contract, as lines that each language puts into its own kind of comment.

use stadium_rpc_build::prost_reflect::FileDescriptor;

/// The comment before the thing at `path` and the one behind it, and `last` in a paragraph of its own.
///
/// A path is that of `SourceCodeInfo.Location` in descriptor.proto. No line has an end of a line or another
/// control character in it, none ends in white space, and the first and the last are not empty.
pub(crate) fn with_last(file: &FileDescriptor, path: &[i32], last: String) -> Vec<String> {
    let mut lines = Vec::new();
    let locations = file.file_descriptor_proto().source_code_info.iter().flat_map(|info| &info.location);
    for location in locations.filter(|location| location.path == path) {
        for comment in [location.leading_comments(), location.trailing_comments()] {
            lines.extend(paragraph(comment));
            if lines.last().is_some_and(|line| !line.is_empty()) {
                lines.push(String::new());
            }
        }
    }
    lines.push(last);
    lines
}

/// The lines of one comment, from the first that is not empty to the last.
fn paragraph(comment: &str) -> impl Iterator<Item = String> {
    let lines: Vec<String> = comment.lines().map(clean).collect();
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(lines.len());
    let last = lines.iter().rposition(|line| !line.is_empty()).map_or(first, |at| at + 1);
    lines.into_iter().skip(first).take(last - first)
}

/// A line without the space behind the marks of the comment.
fn clean(line: &str) -> String {
    let line = line.strip_prefix(' ').unwrap_or(line);
    line.replace(|c: char| c.is_control() && c != '\t', " ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::paragraph;

    #[test]
    fn a_comment_becomes_lines() {
        let lines = |comment| paragraph(comment).collect::<Vec<_>>();
        assert_eq!(lines(" One.\n\n   Two.  \n"), ["One.", "", "  Two."]);
        assert_eq!(lines("\n \n a\u{0}b\rc\r\n\n"), ["a b c"]);
        assert!(lines(" \n").is_empty() && lines("").is_empty());
    }
}
