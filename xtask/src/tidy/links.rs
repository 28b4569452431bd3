//! Markdown: every link resolves, and every page of docs/ can be reached from README.md.
//!
//! Links to the web are not followed: a check must give the same answer on a plane. Links and
//! headings inside code fences don't count.

use std::collections::{HashMap, HashSet};

use super::{File, Finding};

/// A link in a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    line: usize,
    pub(crate) target: String,
}

/// Checks all pages together; `exists` answers for targets that are not pages.
pub(crate) fn check(pages: &[File], exists: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let anchors: HashMap<&str, HashSet<String>> =
        pages.iter().map(|page| (page.path.as_str(), headings(&page.text))).collect();
    let mut findings = Vec::new();
    let mut reached: HashMap<&str, Vec<String>> = HashMap::new();
    for page in pages {
        for link in links(&page.text) {
            if link.target.contains("://") || link.target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.target.split_once('#').unwrap_or((&link.target, ""));
            let target = if file.is_empty() { page.path.clone() } else { resolve(&page.path, file) };
            let refuse = |what: String| Finding::new(&page.path, link.line, what);
            match anchors.get(target.as_str()) {
                Some(known) if !anchor.is_empty() && !known.contains(anchor) => {
                    findings.push(refuse(format!("`{}`: no such heading", link.target)));
                }
                Some(_) => {}
                None if exists(&target) => {}
                None => findings.push(refuse(format!("`{}`: no such file", link.target))),
            }
            reached.entry(page.path.as_str()).or_default().push(target);
        }
    }
    findings.extend(unreached(pages, &reached));
    findings
}

/// Pages of docs/ that no chain of links from README.md leads to.
fn unreached(pages: &[File], links: &HashMap<&str, Vec<String>>) -> Vec<Finding> {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut waiting = vec!["README.md"];
    while let Some(page) = waiting.pop() {
        if seen.insert(page) {
            waiting.extend(links.get(page).into_iter().flatten().map(String::as_str));
        }
    }
    pages
        .iter()
        .filter(|page| page.path.starts_with("docs/") && !seen.contains(page.path.as_str()))
        .map(|page| Finding::new(&page.path, 0, "no chain of links from README.md leads here"))
        .collect()
}

/// `target` as written in `page`, as a path from the workspace root.
pub(crate) fn resolve(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Lines outside code fences, numbered from 1.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((index + 1, line))
    })
}

pub(crate) fn links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut spans = CodeSpans::default();
    for (number, line) in prose(text) {
        let line: String =
            spans.parts(line).map(|(part, is_code)| if is_code { "`" } else { part }).collect();
        for (start, _) in line.match_indices("](") {
            let rest = &line[start + 2..];
            let Some(end) = rest.find(')') else { continue };
            let target = rest[..end].split(' ').next().unwrap_or_default();
            if !target.is_empty() {
                links.push(Link { line: number, target: target.into() });
            }
        }
        // A reference definition: `[name]: target`.
        if let Some((_, target)) = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "))
        {
            links.push(Link { line: number, target: target.trim().into() });
        }
    }
    links
}

/// Which parts of a text's lines are in `code spans`. A span may go on in the next line of its
/// paragraph.
#[derive(Default)]
pub(crate) struct CodeSpans {
    is_open: bool,
}

impl CodeSpans {
    /// The parts of the next line between its backticks, each with whether it is code.
    pub(crate) fn parts<'l>(&mut self, line: &'l str) -> impl Iterator<Item = (&'l str, bool)> + use<'l> {
        // Cells and paragraphs end what was left open.
        let was_open = self.is_open && !line.trim().is_empty() && !line.starts_with('|');
        self.is_open = was_open ^ (line.matches('`').count() % 2 == 1);
        line.split('`').enumerate().map(move |(index, part)| (part, (index % 2 == 1) ^ was_open))
    }
}

/// The anchors that a renderer makes of a page's headings.
fn headings(text: &str) -> HashSet<String> {
    let mut anchors = HashSet::new();
    for (_, line) in prose(text) {
        if !line.starts_with('#') {
            continue;
        }
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let slug: String = title
            .chars()
            .filter(|character| character.is_alphanumeric() || matches!(character, ' ' | '-' | '_'))
            .map(|character| if character == ' ' { '-' } else { character })
            .collect();
        let mut name = slug.clone();
        let mut copy = 0;
        while !anchors.insert(name.clone()) {
            copy += 1;
            name = format!("{slug}-{copy}");
        }
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::{File, check};

    fn found(pages: &[(&str, &str)]) -> Vec<String> {
        let pages: Vec<File> =
            pages.iter().map(|(path, text)| File { path: (*path).into(), text: (*text).into() }).collect();
        check(&pages, &|path| path == "LICENSE").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn good_links_pass() {
        let readme = "[a](docs/a.md#two-words) [l](LICENSE) [w](https://example.org/x) `[no](nowhere)`\n\
                      ```\n[no](nowhere)\n```\n[top](#title)\n# Title\n";
        assert_eq!(
            found(&[("README.md", readme), ("docs/a.md", "## Two words\n[up](../README.md)")]),
            [""; 0]
        );
    }

    #[test]
    fn a_dangling_link_and_a_missing_heading_are_found() {
        let readme = "[a](docs/a.md#nothing)\n[b](docs/b.md)\n";
        assert_eq!(
            found(&[("README.md", readme), ("docs/a.md", "# A\n")]),
            ["README.md:1: `docs/a.md#nothing`: no such heading", "README.md:2: `docs/b.md`: no such file"]
        );
    }

    #[test]
    fn a_page_that_nothing_leads_to_is_found() {
        let pages = [
            ("README.md", "[a](docs/a.md)"),
            ("docs/a.md", "[b](sub/b.md)"),
            ("docs/sub/b.md", ""),
            ("docs/c.md", ""),
        ];
        assert_eq!(found(&pages), ["docs/c.md: no chain of links from README.md leads here"]);
    }
}
