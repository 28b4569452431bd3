//! Checks the built site: each link inside it leads to a file and an anchor that exist, and no page
//! loads anything from elsewhere.
//!
//! It reads the HTML, so it also finds what the generator itself gets wrong, such as a heading whose
//! anchor differs from the one on the forge.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::tidy::links::resolve;

/// An element of a page that refers to something.
#[derive(Debug, PartialEq, Eq)]
struct Reference {
    target: String,
    /// A script, a style sheet, an image: the browser fetches it with the page.
    is_part: bool,
}

/// The contents of a page.
#[derive(Default)]
struct Contents {
    ids: HashSet<String>,
    references: Vec<Reference>,
}

/// Checks the site in the folder. Returns the number of its pages.
pub(crate) fn check(site: &Path) -> Result<usize> {
    let mut pages = HashMap::new();
    let mut files = HashSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(site.join(&folder)).context("no site was built")? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.to_string_lossy().into_owned();
            if name.ends_with(".html") {
                pages.insert(name.clone(), read(&fs::read_to_string(entry.path())?));
            }
            files.insert(name);
        }
    }
    let mut wrong = wrong(&pages, &files);
    wrong.sort();
    match wrong.len() {
        0 => Ok(pages.len()),
        count => bail!("{count} links of the site are wrong\n      {}", wrong.join("\n      ")),
    }
}

fn wrong(pages: &HashMap<String, Contents>, files: &HashSet<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    // The page for unknown addresses has absolute links, by the address that the site will have.
    for (page, contents) in pages.iter().filter(|(page, _)| *page != "404.html") {
        for Reference { target, is_part } in &contents.references {
            let elsewhere = target.contains("://") || target.starts_with("//");
            if elsewhere && *is_part {
                wrong.push(format!("{page}: loads {target} from elsewhere"));
            }
            if elsewhere
                || ["mailto:", "data:", "javascript:"].iter().any(|scheme| target.starts_with(scheme))
            {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = file.split('?').next().unwrap_or_default();
            let mut path = if file.is_empty() { page.clone() } else { resolve(page, file) };
            if !files.contains(&path) {
                path = format!("{path}/index.html").trim_start_matches('/').to_owned();
            }
            if !files.contains(&path) {
                wrong.push(format!("{page}: {target}: no such file"));
            } else if !anchor.is_empty()
                && pages.get(&path).is_some_and(|linked| !linked.ids.contains(anchor))
                // Anchors that the theme's scripts make.
                && !anchor.starts_with("__")
            {
                wrong.push(format!("{page}: {target}: no such anchor"));
            }
        }
    }
    wrong
}

/// The ids and references of a page.
fn read(html: &str) -> Contents {
    let mut contents = Contents::default();
    for tag in html.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag) {
        let name = tag.split(|letter: char| letter.is_whitespace()).next().unwrap_or_default();
        if let Some(id) = attribute(tag, "id") {
            contents.ids.insert(id.to_owned());
        }
        let is_style = tag.contains("stylesheet") || tag.contains("icon") || tag.contains("preload");
        let (attribute_name, is_part) = match name {
            "a" => ("href", false),
            "link" if is_style => ("href", true),
            "script" | "img" | "iframe" | "source" => ("src", true),
            _ => continue,
        };
        if let Some(target) = attribute(tag, attribute_name) {
            contents.references.push(Reference { target: target.replace("&amp;", "&"), is_part });
        }
    }
    contents
}

/// The value of an attribute of a tag, with or without quotes.
fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let at = tag.match_indices(name).find(|(at, _)| {
        tag[..*at].ends_with(|letter: char| letter.is_whitespace()) && tag[at + name.len()..].starts_with('=')
    })?;
    let value = &tag[at.0 + name.len() + 1..];
    match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next(),
        _ => value.split(|letter: char| letter.is_whitespace()).next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pages: &[(&str, &str)]) -> Vec<String> {
        let files: HashSet<String> =
            pages.iter().map(|(path, _)| (*path).to_owned()).chain(["s/a.css".into()]).collect();
        let pages = pages.iter().map(|(path, html)| ((*path).to_owned(), read(html))).collect();
        let mut wrong = wrong(&pages, &files);
        wrong.sort();
        wrong
    }

    #[test]
    fn a_good_site_passes() {
        let index = "<link rel=\"stylesheet\" href=\"s/a.css\"><a class=x href=\"a/#two\">a</a><a href=https://x.org>w</a>";
        let a = "<h2 id=\"two\">Two</h2><a href=\"..\">up</a><a href=\"#two\">here</a><a href='../index.html'>up</a>";
        assert_eq!(found(&[("index.html", index), ("a/index.html", a)]), [""; 0]);
    }

    #[test]
    fn dangling_links_anchors_and_parts_from_elsewhere_are_found() {
        let index = "<a href=\"b/\">b</a><a href=\"a/#three\">a</a><script src=\"https://cdn.example/x.js\"></script>";
        let expected = [
            "index.html: a/#three: no such anchor",
            "index.html: b/: no such file",
            "index.html: loads https://cdn.example/x.js from elsewhere",
        ];
        assert_eq!(found(&[("index.html", index), ("a/index.html", "<h2 id=two>Two</h2>")]), expected);
    }
}
