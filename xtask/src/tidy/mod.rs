//! Tidy: the rules of docs/architecture.md that no compiler holds, checked on every file git knows.
//!
//! Each rule is a function from text to findings, so that its tests need no files. A finding names
//! the file, the line and what to do. Rules with judgement in them (a long file) only print a note.

mod arrows;
mod circles;
mod codes;
pub(crate) mod drawing;
mod figures;
pub(crate) mod links;
mod machines;
mod names;
mod opening;
mod profiles;
mod purity;
mod source;

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::docs::navigation;
use crate::step::output;
use source::Source;

/// One breach of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Path from the workspace root, with `/`.
    pub(crate) path: String,
    /// Line, from 1; 0 when the whole file is meant.
    pub(crate) line: usize,
    /// What is wrong and what to do.
    pub(crate) what: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.into(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(out, "{}: {}", self.path, self.what),
            line => write!(out, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// A text file of the repository.
pub(crate) struct File {
    /// Path from the workspace root, with `/`.
    pub(crate) path: String,
    /// Its whole text.
    pub(crate) text: String,
}

/// Runs every rule; fails with one line for each finding.
pub(crate) fn check(root: &Path) -> Result<()> {
    let paths = paths(root)?;
    let mut findings = Vec::new();
    findings.extend(paths.iter().filter_map(|path| names::path(path)));

    let mut circles = circles::Circles::default();
    let mut codes = codes::Codes::default();
    for path in paths.iter().filter(|path| path.ends_with(".rs")) {
        let file = read(root, path)?;
        let source = Source::new(&file.text);
        circles.add(path, &source);
        codes.add_source(path, &file.text, &source);
        findings.extend(opening::check(path, &file.text));
        findings.extend(names::functions(path, &source));
        findings.extend(machines::unnamed(path, &source));
        findings.extend(purity::no_io(path, &source));
        findings.extend(purity::unsafe_code(path, &source));
        let lines = source.lines_outside_tests();
        if lines > opening::LINES_NOTED {
            eprintln!("    note: {path}: {lines} lines besides tests; is it still one idea?");
        }
    }

    findings.extend(circles.check());
    findings.extend(arrows::check()?);
    findings.extend(drawing::check(&read(root, "docs/architecture.md")?.text));
    findings.extend(profiles::check(&read(root, "Cargo.toml")?.text));

    let is_page = |path: &&String| path.ends_with(".md");
    let pages: Vec<File> =
        paths.iter().filter(is_page).map(|path| read(root, path)).collect::<Result<_>>()?;
    findings.extend(links::check(&pages, &|path| root.join(path).exists()));
    pages.iter().for_each(|page| codes.add_page(page));
    findings.extend(codes.check());
    let texts = pages.into_iter().map(|page| (page.path, page.text)).collect();
    findings.extend(navigation::check(&texts));

    let is_result = |path: &&String| path.starts_with("bench/results/");
    let results: Vec<File> =
        paths.iter().filter(is_result).map(|path| read(root, path)).collect::<Result<_>>()?;
    findings.extend(figures::check(&results));

    if findings.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = findings.iter().map(ToString::to_string).collect();
    bail!("{} findings\n      {}", findings.len(), shown.join("\n      "))
}

/// Every file that git tracks or would track: what is ignored is nobody's source.
pub(crate) fn paths(root: &Path) -> Result<Vec<String>> {
    let mut list = Command::new("git");
    list.current_dir(root).args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
    let all = output(&mut list)?;
    let mut paths: Vec<String> = all
        .split('\0')
        .filter(|path| !path.is_empty() && root.join(path).is_file())
        .map(Into::into)
        .collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

fn read(root: &Path, path: &str) -> Result<File> {
    let text = std::fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))?;
    Ok(File { path: path.into(), text })
}
