//! Prose of the descriptions and of the pages of errors, from Markdown to HTML.
//!
//! It knows paragraphs, `code`, *emphasis* and links. The server has none of the files that the
//! repository's pages link to, so a link shows the file's path behind its text.

use std::fmt::Write;

/// The folder of the pages of errors; their links are relative to it.
const FOLDER: [&str; 3] = ["docs", "reference", "errors"];

/// Paragraphs of text.
pub(crate) fn prose(text: &str) -> String {
    text.split("\n\n")
        .filter(|part| !part.trim().is_empty())
        .map(|part| format!("<p>{}</p>", inline(part)))
        .collect()
}

/// A piece of a paragraph.
pub(super) fn inline(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for (index, part) in escape(text).split('`').enumerate() {
        match index % 2 {
            0 => html.push_str(&with_emphasis(&with_paths(part))),
            _ => {
                let _ = write!(html, "<code>{part}</code>");
            }
        }
    }
    html
}

/// Text as it stands in HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// `[text](file.md#part)` as the text with the file's path.
fn with_paths(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[')
        && let Some((name, after)) = link.split_once("](")
        && let Some((target, after)) = after.split_once(')')
    {
        let file = target.split('#').next().unwrap_or_default();
        let _ = write!(html, "{before}{name} (<code>{}</code>)", path(file));
        rest = after;
    }
    html + rest
}

/// A link's file from the repository's root.
fn path(file: &str) -> String {
    let up = file.matches("../").count().min(FOLDER.len());
    let folder = FOLDER[..FOLDER.len() - up].join("/");
    format!("{folder}/{}", file.trim_start_matches("../"))
}

/// `*Busy*` as emphasis. An asterisk beside a blank stays one.
fn with_emphasis(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('*') {
        html.push_str(before);
        match after.split_once('*') {
            Some((words, behind)) if !words.is_empty() && words == words.trim() => {
                let _ = write!(html, "<em>{words}</em>");
                rest = behind;
            }
            _ => {
                html.push('*');
                rest = after;
            }
        }
    }
    html + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_becomes_html() {
        for (text, html) in [
            ("One.\n\nTwo <b>.", "<p>One.</p><p>Two &lt;b&gt;.</p>"),
            ("Set `a*b*` or *all of it*.", "<p>Set <code>a*b*</code> or <em>all of it</em>.</p>"),
            ("2 * 3 * 4", "<p>2 * 3 * 4</p>"),
            (
                "See [Kafka](../../kafka.md#rights) and\n[theirs](journal.md).",
                "<p>See Kafka (<code>docs/kafka.md</code>) and\n\
                 theirs (<code>docs/reference/errors/journal.md</code>).</p>",
            ),
            ("A list [1] of `x[0](y)`.", "<p>A list [1] of <code>x[0](y)</code>.</p>"),
        ] {
            assert_eq!(prose(text), html);
        }
    }
}
