//! The navigation of the documentation: the tables of docs/README.md.
//!
//! `##` begins a section of the site, `###` a group in it, and a row of a table names a page and when to
//! read it. Where a row names the README.md of a folder of docs/, the pages that it links to in its
//! folder follow it as a group. The same file is the table of contents on the forge.

use std::collections::BTreeMap;

use crate::tidy::Finding;
use crate::tidy::links::{links, prose, resolve};

/// The file that it is read from.
pub(crate) const SOURCE: &str = "docs/README.md";

/// An entry of the navigation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Page(Page),
    Group { title: String, entries: Vec<Entry> },
}

/// A page, by its path from the workspace root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) path: String,
}

/// Texts of Markdown files by their path from the workspace root.
pub(crate) type Texts = BTreeMap<String, String>;

/// Reads the navigation; its sections are groups.
pub(crate) fn read(texts: &Texts) -> Vec<Entry> {
    let mut sections: Vec<Entry> = Vec::new();
    let mut in_group = false;
    for (_, line) in prose(texts.get(SOURCE).map_or("", String::as_str)) {
        if let Some(title) = line.strip_prefix("## ") {
            sections.push(group(title));
            in_group = false;
        } else if let Some(title) = line.strip_prefix("### ") {
            if let Some(Entry::Group { entries, .. }) = sections.last_mut() {
                entries.push(group(title));
                in_group = true;
            }
        } else if let Some(cell) = line.strip_prefix('|').and_then(|row| row.split('|').next()) {
            let Some(Entry::Group { entries, .. }) = sections.last_mut() else { continue };
            let entries = match entries.last_mut() {
                Some(Entry::Group { entries, .. }) if in_group => entries,
                _ => entries,
            };
            entries.extend(named(cell).into_iter().map(|page| with_folder(page, texts)));
        }
    }
    sections
}

fn group(title: &str) -> Entry {
    Entry::Group { title: title.trim().to_owned(), entries: Vec::new() }
}

/// The pages that a cell of docs/README.md links to.
fn named(cell: &str) -> Vec<Page> {
    let titles = cell.match_indices('[').filter_map(|(start, _)| {
        let (title, rest) = cell[start + 1..].split_once("](")?;
        Some(Page { title: title.to_owned(), path: resolve(SOURCE, rest.split_once(')')?.0) })
    });
    titles.collect()
}

/// The page, with the pages of its folder where it is the README.md of one.
fn with_folder(page: Page, texts: &Texts) -> Entry {
    let folder = page.path.strip_suffix("README.md").filter(|folder| folder.starts_with("docs/"));
    let (Some(folder), Some(text)) = (folder, texts.get(&page.path)) else { return Entry::Page(page) };
    let mut pages: Vec<Page> = Vec::new();
    for link in links(text) {
        let path = resolve(&page.path, link.target.split('#').next().unwrap_or_default());
        let is_new = path.starts_with(folder) && pages.iter().all(|known| known.path != path);
        if is_new
            && path != page.path
            && let Some(text) = texts.get(&path)
        {
            pages.push(Page { title: heading(text), path });
        }
    }
    let title = page.title.clone();
    Entry::Group { title, entries: [page].into_iter().chain(pages).map(Entry::Page).collect() }
}

/// The text of a page's first heading, without Markdown.
pub(crate) fn heading(text: &str) -> String {
    let first = prose(text).find_map(|(_, line)| line.strip_prefix("# ").map(str::to_owned));
    first.unwrap_or_default().replace('`', "")
}

/// All pages, in their order.
pub(crate) fn pages(entries: &[Entry]) -> Vec<&Page> {
    let mut all = Vec::new();
    for entry in entries {
        match entry {
            Entry::Page(page) => all.push(page),
            Entry::Group { entries, .. } => all.extend(pages(entries)),
        }
    }
    all
}

/// Pages of docs/ that are not in the navigation, and pages that it names twice.
pub(crate) fn check(texts: &Texts) -> Vec<Finding> {
    let navigation = read(texts);
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for page in pages(&navigation) {
        *named.entry(&page.path).or_default() += 1;
    }
    let twice = named.iter().filter(|(_, times)| **times > 1);
    let twice = twice.map(|(path, _)| Finding::new(SOURCE, 0, format!("the tables name {path} twice")));
    let mut findings: Vec<Finding> = twice.collect();
    for path in texts.keys().filter(|path| path.starts_with("docs/") && *path != SOURCE) {
        if !named.contains_key(path.as_str()) {
            findings.push(Finding::new(
                path,
                0,
                format!("not in the tables of {SOURCE}: the site's navigation"),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(files: &[(&str, &str)]) -> Texts {
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    fn page(title: &str, path: &str) -> Entry {
        Entry::Page(Page { title: title.into(), path: path.into() })
    }

    const README: &str = "# Docs\n## Start\n| page | when |\n|---|---|\n| [A](a.md), [B](../sdk/README.md) | [x](no.md) |\n\
                          ## More\n| [C](c.md) | |\n### Deep\n| [F](f/README.md) | |\n";

    #[test]
    fn sections_groups_and_folders_are_read() {
        let texts = texts(&[
            (SOURCE, README),
            ("docs/f/README.md", "# F\n[one](one.md) and [a](../a.md), [one](one.md#x)"),
            ("docs/f/one.md", "# One `x`\n"),
            ("docs/a.md", "# A"),
        ]);
        let group = |title: &str, entries| Entry::Group { title: title.into(), entries };
        let folder = group("F", vec![page("F", "docs/f/README.md"), page("One x", "docs/f/one.md")]);
        let expected = vec![
            group("Start", vec![page("A", "docs/a.md"), page("B", "sdk/README.md")]),
            group("More", vec![page("C", "docs/c.md"), group("Deep", vec![folder])]),
        ];
        assert_eq!(read(&texts), expected);
    }

    #[test]
    fn a_page_that_is_missing_or_there_twice_is_found() {
        let readme = "## S\n| [A](a.md) | |\n| [A](a.md) | |\n";
        let texts =
            texts(&[(SOURCE, readme), ("docs/a.md", "# A"), ("docs/b.md", "# B"), ("SECURITY.md", "")]);
        let findings: Vec<String> = check(&texts).iter().map(ToString::to_string).collect();
        let expected = [
            "docs/README.md: the tables name docs/a.md twice",
            "docs/b.md: not in the tables of docs/README.md: the site's navigation",
        ];
        assert_eq!(findings, expected);
    }
}
