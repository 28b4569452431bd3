//! THIRD-PARTY.md: the notices and licence texts of the crates that the program contains.
//!
//! The licences ask for their text beside each copy of the program. Crates that share a text word
//! for word share a section. A crate that ships no text is listed with its SPDX expression.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result};
use cargo_metadata::Package;

use super::sbom::Bill;

/// The beginnings of the names of files with such texts.
const NAMES: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];

/// The page.
pub(super) fn text(bill: &Bill) -> Result<String> {
    let mut sections: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut page = "# Licences of what Stadium contains\n\n".to_owned();
    for package in bill.dependencies() {
        let licence = package.license.as_deref().unwrap_or("see below");
        writeln!(page, "- {} {}: {licence}", package.name, package.version)?;
        for text in texts(package)? {
            sections.entry(text).or_default().push(format!("{} {}", package.name, package.version));
        }
    }
    let mut sections: Vec<_> = sections.into_iter().collect();
    sections.sort_by(|left, right| left.1.cmp(&right.1));
    for (text, packages) in sections {
        writeln!(page, "\n## {}\n\n{text}", packages.join(", "))?;
    }
    Ok(page)
}

/// The texts that a crate ships.
fn texts(package: &Package) -> Result<Vec<String>> {
    let folder = package.manifest_path.parent().context("a manifest lies in a folder")?;
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {folder}"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if entry.file_type()?.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            let text = String::from_utf8_lossy(&fs::read(entry.path())?).into_owned();
            // Line ends and indents of the same text differ between crates.
            let lines: Vec<_> = text.lines().map(str::trim).collect();
            texts.push(lines.join("\n").trim().to_owned());
        }
    }
    texts.sort();
    texts.dedup();
    Ok(texts)
}
