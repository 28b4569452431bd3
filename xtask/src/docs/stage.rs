//! The pages as the generator reads them: copies in target/docs/pages, with the links of the site.
//!
//! On the forge a page links to files where they lie. Here each link to a page leads to its place in the
//! site, and each link to code leads to a page that shows the code. No page is written for the site
//! alone. Only files that changed are written, so that a running generator rebuilds only those.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::navigation::{self, Entry, Page, Texts};
use super::{api, source};
use crate::tidy::links::{CodeSpans, resolve};

/// The description of the HTTP API, which the site shows as pages.
const OPENAPI: &str = "docs/reference/openapi.json";

/// The files that the generator reads, by their path in its folder.
pub(crate) struct Stage {
    files: BTreeMap<String, Vec<u8>>,
    /// The entries of the navigation: pages by their path in the folder.
    pub(crate) navigation: Vec<Entry>,
}

/// The place of a file in the site, by its path from the workspace root.
fn place(path: &str) -> String {
    match path {
        OPENAPI => "reference/api/index.md".into(),
        "README.md" => "stadium.md".into(),
        _ => {
            let path = path.strip_prefix("docs/").unwrap_or(path);
            match path.strip_suffix("README.md") {
                Some(folder) => format!("{folder}index.md"),
                None if path.contains('/') => path.to_owned(),
                None => path.to_lowercase(),
            }
        }
    }
}

impl Stage {
    /// Reads the pages of the navigation, and all that they link to.
    pub(crate) fn read(root: &Path, texts: &Texts) -> Result<Self> {
        let entries = navigation::read(texts);
        let mut waiting: Vec<String> =
            navigation::pages(&entries).iter().map(|page| page.path.clone()).collect();
        waiting.push(navigation::SOURCE.into());
        let api = api::pages(&fs::read_to_string(root.join(OPENAPI))?)?;
        let mut stage = Self { files: BTreeMap::new(), navigation: placed(entries, &api) };
        for (path, page) in api {
            stage.files.insert(path, page.text.into_bytes());
        }
        let mut seen: BTreeSet<String> = BTreeSet::new();
        while let Some(path) = waiting.pop() {
            if path == OPENAPI || !seen.insert(path.clone()) {
                continue;
            }
            let Some(text) = texts.get(&path) else {
                bail!("the navigation names {path}, which is not a page")
            };
            let is_page = |path: &str| texts.contains_key(path) || path == OPENAPI;
            let place_of = |path: &str| match path {
                path if is_page(path) || is_image(path) => place(path),
                path => source::place(path, root.join(path).is_dir()),
            };
            let mut linked = Vec::new();
            let text = with_links(text, &path, &place_of, &mut linked);
            stage.files.insert(place(&path), for_generator(&text).into_bytes());
            for target in linked {
                match is_page(&target) {
                    true => waiting.push(target),
                    false => stage.add(root, &target)?,
                }
            }
        }
        Ok(stage)
    }

    /// Adds a file that a page links to: an image as it is, text as a page.
    fn add(&mut self, root: &Path, path: &str) -> Result<()> {
        let full = root.join(path);
        if is_image(path) {
            let bytes = fs::read(&full).with_context(|| format!("cannot read {path}"))?;
            self.files.insert(place(path), bytes);
            return Ok(());
        }
        for (path, text) in source::pages(root, path)? {
            self.files.insert(path, text.into_bytes());
        }
        Ok(())
    }

    /// Writes the files into the folder, and removes those that are no longer wanted.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        for (path, bytes) in &self.files {
            let file = folder.join(path);
            if fs::read(&file).is_ok_and(|known| known == *bytes) {
                continue;
            }
            fs::create_dir_all(file.parent().expect("a file lies in a folder"))?;
            fs::write(&file, bytes).with_context(|| format!("cannot write {}", file.display()))?;
        }
        let mut folders = vec![PathBuf::new()];
        while let Some(at) = folders.pop() {
            for entry in fs::read_dir(folder.join(&at))? {
                let entry = entry?;
                let path = at.join(entry.file_name());
                if entry.file_type()?.is_dir() {
                    folders.push(path);
                } else if !self.files.contains_key(path.to_string_lossy().as_ref()) {
                    fs::remove_file(entry.path())?;
                }
            }
        }
        Ok(())
    }

    /// Adds a file of the site's own.
    pub(crate) fn insert(&mut self, path: &str, bytes: &[u8]) {
        self.files.insert(path.to_owned(), bytes.to_vec());
    }
}

/// The navigation with the places of its pages. The description of the API becomes a group of pages.
fn placed(entries: Vec<Entry>, api: &BTreeMap<String, api::ApiPage>) -> Vec<Entry> {
    let each = |entry| match entry {
        Entry::Page(page) if page.path == OPENAPI => {
            let mut pages: Vec<_> = api.iter().collect();
            pages.sort_by_key(|(_, page)| page.order);
            let entry = |(path, page): (&String, &api::ApiPage)| {
                Entry::Page(Page { title: page.title.clone(), path: path.clone() })
            };
            Entry::Group { title: page.title, entries: pages.into_iter().map(entry).collect() }
        }
        Entry::Page(page) => Entry::Page(Page { path: place(&page.path), title: page.title }),
        Entry::Group { title, entries } => Entry::Group { title, entries: placed(entries, api) },
    };
    entries.into_iter().map(each).collect()
}

fn is_image(path: &str) -> bool {
    [".png", ".svg"].iter().any(|end| path.ends_with(end))
}

/// The text with each link to a file of the repository changed to its place in the site. The paths
/// that it links to are added to `linked`.
fn with_links(text: &str, page: &str, place_of: &dyn Fn(&str) -> String, linked: &mut Vec<String>) -> String {
    let mut fenced = false;
    let from = place(page);
    let mut target = |written: &str| -> String {
        // The title of a link, if there is one, stays.
        let (file, anchor) = written.split_at(written.find(['#', ' ']).unwrap_or(written.len()));
        if written.contains("://") || written.starts_with("mailto:") || file.is_empty() {
            return written.to_owned();
        }
        let path = resolve(page, file);
        let to = relative(&from, &place_of(&path));
        linked.push(path);
        format!("{to}{anchor}")
    };
    let mut lines = Vec::new();
    let mut spans = CodeSpans::default();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        if fenced || is_fence {
            lines.push(line.to_owned());
            continue;
        }
        let parts = spans.parts(line).map(|(part, is_code)| match is_code {
            false => changed(part, &mut target),
            true => part.to_owned(),
        });
        lines.push(parts.collect::<Vec<_>>().join("`"));
    }
    lines.join("\n") + "\n"
}

/// The part of a line with the targets of its links changed.
fn changed(part: &str, target: &mut dyn FnMut(&str) -> String) -> String {
    if let Some((name, written)) = part.split_once("]: ")
        && name.trim_start().starts_with('[')
    {
        return format!("{name}]: {}", target(written.trim()));
    }
    let mut out = String::new();
    let mut rest = part;
    while let Some((before, after)) = rest.split_once("](") {
        let Some((written, tail)) = after.split_once(')') else { break };
        out.extend([before, "](", &target(written), ")"]);
        rest = tail;
    }
    out + rest
}

/// The way from one page to another, both by their place.
pub(super) fn relative(from: &str, to: &str) -> String {
    let mut from: Vec<&str> = from.split('/').collect();
    from.pop();
    let to: Vec<&str> = to.split('/').collect();
    let same = from.iter().zip(&to[..to.len() - 1]).take_while(|(from, to)| from == to).count();
    let up = std::iter::repeat_n("..", from.len() - same);
    up.chain(to[same..].iter().copied()).collect::<Vec<_>>().join("/")
}

/// The text as the generator wants it: without the marks of our own tools, and with an anchor for each code
/// of an error, `#QUE-001`, beside that of its whole heading.
fn for_generator(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fenced = false;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        if !fenced && line.starts_with("<!-- ") && line.ends_with(" -->") {
            continue;
        }
        if let Some(code) = error_code(line).filter(|_| !fenced) {
            out.push_str(&format!("<span id=\"{code}\"></span>\n\n"));
        }
        // The generator takes `rust,no_run` for no language, and the fence for text.
        let known = if is_fence && fenced { line.split(',').next().unwrap_or(line) } else { line };
        out.push_str(known);
        out.push('\n');
    }
    out
}

/// The code of an error whose section the line begins: `## QUE-001 Title`, or in a longer page `### SET-001`.
pub(crate) fn error_code(line: &str) -> Option<&str> {
    let code = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?.split(' ').next()?;
    let (letters, rest) = code.split_once('-')?;
    let is_code = (3..=6).contains(&letters.len())
        && letters.chars().all(|letter| letter.is_ascii_uppercase())
        && rest.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '-');
    is_code.then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(page: &str, text: &str) -> String {
        let place_of = |path: &str| match path {
            path if path.ends_with(".md") || path.ends_with(".png") => place(path),
            path => source::place(path, path == "examples/load"),
        };
        with_links(text, page, &place_of, &mut Vec::new())
    }

    #[test]
    fn links_lead_to_their_places_in_the_site() {
        let table = [
            ("docs/a.md", "[b](f/b.md#c)", "[b](f/b.md#c)"),
            ("docs/a.md", "[sdk](../sdk/x/README.md)", "[sdk](sdk/x/index.md)"),
            ("sdk/x/README.md", "[a](../../docs/a.md)", "[a](../../a.md)"),
            ("docs/f/b.md", "![i](../images/i.png)", "![i](../images/i.png)"),
            ("README.md", "![i](docs/images/i.png)", "![i](images/i.png)"),
            ("docs/a.md", "[code](../crates/x.rs)", "[code](source/crates/x.rs.md)"),
            ("docs/a.md", "[all](../examples/load)", "[all](source/examples/load/index.md)"),
            (
                "docs/a.md",
                "[w](https://example.org/a.md) [t](#top)",
                "[w](https://example.org/a.md) [t](#top)",
            ),
            (
                "docs/a.md",
                "`[b](f/b.md)` and [`b`](../sdk/x/README.md)",
                "`[b](f/b.md)` and [`b`](sdk/x/index.md)",
            ),
            ("docs/a.md", "`code\nspan` ([b](../sdk/x/README.md))", "`code\nspan` ([b](sdk/x/index.md))"),
            ("docs/a.md", "[r]: ../sdk/x/README.md", "[r]: sdk/x/index.md"),
        ];
        for (page, written, expected) in table {
            assert_eq!(rewritten(page, written), format!("{expected}\n"), "{page}");
        }
        assert_eq!(
            rewritten("docs/a.md", "```\n[s](../sdk/x/README.md)\n```"),
            "```\n[s](../sdk/x/README.md)\n```\n"
        );
    }

    #[test]
    fn sections_of_errors_get_the_anchor_of_their_code() {
        let text = "<!-- not run: it takes minutes -->\n## QUE-001 Many\n```rust,no_run\n## QUE-002 no\n```\n## Words\n";
        let expected =
            "<span id=\"QUE-001\"></span>\n\n## QUE-001 Many\n```rust\n## QUE-002 no\n```\n## Words\n";
        assert_eq!(for_generator(text), expected);
        assert_eq!(error_code("## RPC-NOT-AUTHORISED Devices"), Some("RPC-NOT-AUTHORISED"));
        assert_eq!(error_code("## Two-phase commit"), None);
    }
}
