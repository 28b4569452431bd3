//! The table of what each SDK has: docs/reference/sdk-features.md, of sdk/features.json.
//!
//! Each cell of the file names what shows the feature: `case NAME` of the conformance runner, or `test
//! FILE NAME`. A case or a test that does not exist is an error, so that the table cannot say too much.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

/// The file that people edit.
const SOURCE: &str = "sdk/features.json";

/// Where the runner lists its cases.
const CASES: &str = "testing/sdk/src/cases";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Features {
    features: Vec<Feature>,
}

/// A feature, and what shows it in each SDK; nothing where the SDK does not have it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Feature {
    group: String,
    feature: String,
    rust: Option<String>,
    jvm: Option<String>,
    python: Option<String>,
    cpp: Option<String>,
    js: Option<String>,
}

impl Feature {
    fn cells(&self) -> [Option<&str>; 5] {
        [&self.rust, &self.jvm, &self.python, &self.cpp, &self.js].map(Option::as_deref)
    }
}

/// The page as it is to be.
pub(crate) fn page(root: &Path) -> Result<String> {
    let source = fs::read_to_string(root.join(SOURCE)).with_context(|| format!("cannot read {SOURCE}"))?;
    let Features { features } =
        serde_json::from_str(&source).with_context(|| format!("{SOURCE} cannot be read"))?;
    let cases = cases(root)?;
    for feature in &features {
        for cell in feature.cells().into_iter().flatten() {
            exists(root, &cases, cell).with_context(|| format!("{SOURCE}: {}", feature.feature))?;
        }
    }
    let mut page = String::from(
        "# What each SDK has\n\nGenerated from [sdk/features.json](../../sdk/features.json) by `cargo xtask fix`; do not\nedit. \
         A case crosses the SDK's clients with the servers of the others:\n[conformance](../../testing/sdk/README.md). \
         A test is one of the SDK's own.\n",
    );
    let mut group = None;
    for feature in &features {
        if group != Some(&feature.group) {
            group = Some(&feature.group);
            let name = &feature.group;
            write!(
                page,
                "\n## {name}\n\n| | Rust | JVM | Python | C++ | TypeScript |\n|---|---|---|---|---|---|\n"
            )?;
        }
        write!(page, "| {} |", feature.feature)?;
        for cell in feature.cells() {
            write!(page, " {} |", shown(cell)?)?;
        }
        page.push('\n');
    }
    Ok(page)
}

/// A cell of the page.
fn shown(cell: Option<&str>) -> Result<String> {
    Ok(match cell.map(|cell| cell.split_once(' ')) {
        None => "-".to_owned(),
        Some(Some(("case", name))) => format!("`{name}`"),
        Some(Some(("test", rest))) => {
            let (file, _) = rest.split_once(' ').context("a test is `test FILE NAME`")?;
            format!("[test](../../{file})")
        }
        Some(_) => bail!("a cell is `case NAME` or `test FILE NAME`, not {cell:?}"),
    })
}

/// The names in the runner's source, between quotation marks.
fn cases(root: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(root.join(CASES))? {
        let text = fs::read_to_string(entry?.path())?;
        let is_declared = |line: &&str| {
            line.contains("unary(\"") || line.contains("complete(\"") || line.starts_with("pub const ")
        };
        let quoted = text.lines().filter(is_declared).filter_map(|line| line.split('"').nth(1));
        names.extend(quoted.map(str::to_owned));
    }
    Ok(names)
}

fn exists(root: &Path, cases: &BTreeSet<String>, cell: &str) -> Result<()> {
    if let Some(name) = cell.strip_prefix("case ") {
        ensure!(cases.contains(name), "the runner has no case {name}");
    } else if let Some((file, name)) = cell.strip_prefix("test ").and_then(|rest| rest.split_once(' ')) {
        let text = fs::read_to_string(root.join(file)).with_context(|| format!("there is no {file}"))?;
        ensure!(text.contains(name), "{file} has no test {name:?}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_cell_names_a_case_a_test_or_nothing() {
        assert_eq!(shown(None).unwrap(), "-");
        assert_eq!(shown(Some("case unary")).unwrap(), "`unary`");
        assert_eq!(shown(Some("test a/b.rs it_holds")).unwrap(), "[test](../../a/b.rs)");
        assert!(shown(Some("yes")).is_err());
        assert!(shown(Some("test a/b.rs")).is_err());
    }
}
