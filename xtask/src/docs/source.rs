//! Files of the repository that pages link to, as pages of the site: the text in a block, a folder
//! as a list.
//!
//! They are in no navigation and in no search. A link to code so works wherever the site is: on a disk,
//! on a server without a forge, and for the version that the page describes.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::stage::relative;
use crate::step::output;

/// Longer files are shown up to here: a page of a megabyte helps nobody.
const BYTES_MAX: usize = 128 * 1024;

/// The place of a file's page, or of a folder's.
pub(super) fn place(path: &str, is_folder: bool) -> String {
    if is_folder { format!("source/{path}/index.md") } else { format!("source/{path}.md") }
}

/// The page of a file; for a folder its list and the pages of its files.
pub(super) fn pages(root: &Path, path: &str) -> Result<Vec<(String, String)>> {
    if !root.join(path).is_dir() {
        return Ok(vec![(place(path, false), file(root, path)?)]);
    }
    let mut list = Command::new("git");
    list.current_dir(root).args(["ls-files", "--cached", "--others", "--exclude-standard", "--", path]);
    let listed = output(&mut list)?;
    let own = place(path, true);
    let mut text = head(path);
    let mut pages = Vec::new();
    for file_path in listed.lines().filter(|path| root.join(path).is_file()) {
        let page = place(file_path, false);
        text.push_str(&format!("- [{file_path}]({})\n", relative(&own, &page)));
        pages.push((page, file(root, file_path)?));
    }
    pages.push((own, text));
    Ok(pages)
}

fn file(root: &Path, path: &str) -> Result<String> {
    let bytes = fs::read(root.join(path)).with_context(|| format!("cannot read {path}"))?;
    let text = String::from_utf8_lossy(&bytes);
    let mut shown = text.as_ref();
    let mut page = head(path);
    if text.len() > BYTES_MAX {
        shown = &text[..text.floor_char_boundary(BYTES_MAX)];
        page.push_str(&format!("The first {} KiB of the file.\n\n", BYTES_MAX / 1024));
    }
    // Longer than any fence in the text.
    let fence = "`".repeat(8);
    page.push_str(&format!("{fence}{}\n{}\n{fence}\n", language(path), shown.trim_end()));
    Ok(page)
}

fn head(path: &str) -> String {
    format!("---\ntitle: {path}\nsearch:\n  exclude: true\n---\n\n# `{path}`\n\n")
}

/// The name by which the generator colours the text.
fn language(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "rs" => "rust",
        "py" => "python",
        "toml" => "toml",
        "json" => "json",
        "yml" | "yaml" => "yaml",
        "proto" => "protobuf",
        "h" => "c",
        "cpp" | "hpp" => "cpp",
        "ts" => "typescript",
        "js" => "javascript",
        "java" => "java",
        "sh" => "sh",
        "md" => "markdown",
        "service" | "container" => "ini",
        _ => "text",
    }
}
