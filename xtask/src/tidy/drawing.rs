//! The drawing of the crates in docs/architecture.md, made from the table of [`super::arrows`].
//!
//! Crates stand in layers: each one above everything that it depends on. A line names a crate and
//! its dependencies, without those that another dependency of it already brings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::Finding;
use super::arrows::ARROWS;

/// The page with the drawing.
const PAGE: &str = "docs/architecture.md";
/// The lines around it.
const BEGIN: &str = "<!-- generated from xtask/src/tidy/arrows.rs by `cargo xtask fix` -->";
const END: &str = "<!-- end of the drawing -->";

type Arrows<'a> = BTreeMap<&'a str, &'a [&'a str]>;

/// Whether the page has the drawing as it is now, and names each crate in its table.
pub(super) fn check(page: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    match parts(page) {
        Ok((_, kept, _)) if kept == drawing(&table()) => {}
        Ok(_) => findings.push(Finding::new(PAGE, 0, "the drawing is stale: run `cargo xtask fix`")),
        Err(error) => findings.push(Finding::new(PAGE, 0, error.to_string())),
    }
    for (name, _) in ARROWS {
        let short = short(name).replace("example-", "examples/");
        let is_in_table = page
            .lines()
            .any(|line| line.strip_prefix("| `").is_some_and(|row| row.contains(&format!("{short}` |"))));
        if !is_in_table {
            findings.push(Finding::new(PAGE, 0, format!("the table of crates has no row for `{short}`")));
        }
    }
    findings
}

/// Draws it anew into the page.
pub(crate) fn write(root: &Path) -> Result<()> {
    let path = root.join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    let (before, _, after) = parts(&page)?;
    let page = format!("{before}{}{after}", drawing(&table()));
    fs::write(&path, page).with_context(|| format!("cannot write {PAGE}"))
}

/// The page before the drawing, the drawing, and the page behind it.
fn parts(page: &str) -> Result<(&str, &str, &str)> {
    let begin = page.find(BEGIN).map(|at| at + BEGIN.len() + 1);
    let (Some(begin), Some(end)) = (begin, page.find(END)) else {
        bail!("the drawing stands between the lines {BEGIN} and {END}");
    };
    if begin > end {
        bail!("the line {END} stands before the drawing");
    }
    Ok((&page[..begin], &page[begin..end], &page[end..]))
}

fn table() -> Arrows<'static> {
    ARROWS.iter().copied().collect()
}

fn drawing(arrows: &Arrows<'_>) -> String {
    let mut layers: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for name in arrows.keys() {
        layers.entry(layer(arrows, name)).or_default().push(name);
    }
    let width = arrows.keys().map(|name| short(name).len()).max().unwrap_or_default();
    let mut text = String::from("```\n");
    for (at, (layer, names)) in layers.iter().rev().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        for (row, name) in names.iter().enumerate() {
            let label = if row == 0 { format!("{layer}") } else { String::new() };
            let uses: Vec<&str> = reduced(arrows, name).into_iter().map(short).collect();
            let arrow = if uses.is_empty() { "" } else { " ──▶ " };
            let line = format!("{label:>2}  {:width$}{arrow}{}", short(name), uses.join("  "));
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    text + "```\n"
}

/// One more than the highest layer below it.
fn layer(arrows: &Arrows<'_>, name: &str) -> usize {
    let below = arrows.get(name).copied().unwrap_or_default();
    below.iter().map(|name| layer(arrows, name) + 1).max().unwrap_or_default()
}

/// The dependencies of a crate that no other dependency of it has too.
fn reduced<'a>(arrows: &Arrows<'a>, name: &str) -> Vec<&'a str> {
    let direct = arrows.get(name).copied().unwrap_or_default();
    let brought: BTreeSet<&str> = direct.iter().flat_map(|name| below(arrows, name)).collect();
    direct.iter().copied().filter(|name| !brought.contains(name)).collect()
}

/// Everything below a crate.
fn below<'a>(arrows: &Arrows<'a>, name: &str) -> BTreeSet<&'a str> {
    let direct = arrows.get(name).copied().unwrap_or_default();
    direct.iter().flat_map(|name| below(arrows, name).into_iter().chain([*name])).collect()
}

fn short(name: &str) -> &str {
    name.strip_prefix("stadium-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_stand_above_their_dependencies_and_arrows_are_drawn_once() {
        let arrows: Arrows<'_> = [
            ("stadium-a", &["stadium-b", "stadium-c"][..]),
            ("stadium-b", &["stadium-c"]),
            ("stadium-c", &[]),
            ("stadium-d", &[]),
        ]
        .into();
        let expected = "```\n 2  a ──▶ b\n\n 1  b ──▶ c\n\n 0  c\n    d\n```\n";
        assert_eq!(drawing(&arrows), expected);
    }

    #[test]
    fn a_stale_drawing_and_a_missing_row_are_found() {
        let rows: String = ARROWS
            .iter()
            .map(|(name, _)| format!("| `{}` | what it is |\n", short(name).replace("example-", "examples/")))
            .collect();
        let page = format!("# Page\n{BEGIN}\n{}{END}\n{rows}", drawing(&table()));
        assert_eq!(check(&page), []);
        assert_eq!(check(&page.replacen("──▶", "-->", 1)).len(), 1);
        assert_eq!(check(&page.replace("| `edge` |", "| edge |")).len(), 1);
        assert_eq!(check("# Page").len(), ARROWS.len() + 1);
    }
}
