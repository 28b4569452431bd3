//! Files of the repository that the program itself prints: compared by `verify`, rewritten by `fix`.
//!
//! The source of truth is the code (settings, HTTP handlers); a stale copy fails the build.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::step::{build_programs, output, program};

/// A generated file and the arguments of `stadium` that print it.
struct Generated {
    path: &'static str,
    arguments: &'static [&'static str],
}

/// Every generated file of the repository.
const GENERATED: &[Generated] = &[
    Generated { path: "docs/reference/configuration.md", arguments: &["config", "reference"] },
    Generated { path: "docs/reference/openapi.json", arguments: &["openapi"] },
    Generated { path: "docs/reference/rights.md", arguments: &["key", "rights"] },
];

/// Fails when a file differs from what the program prints now, naming the first line that differs.
pub(crate) fn check(root: &Path) -> Result<()> {
    build_programs()?;
    let mut stale = Vec::new();
    for generated in GENERATED {
        let fresh = print(root, generated)?;
        let kept = fs::read_to_string(root.join(generated.path)).unwrap_or_default();
        if let Some(line) = first_difference(&kept, &fresh) {
            stale.push(format!("{}:{line}", generated.path));
        }
    }
    if !stale.is_empty() {
        bail!("stale: {} (run `cargo xtask fix`)", stale.join(", "));
    }
    Ok(())
}

/// Rewrites every generated file.
pub(crate) fn write(root: &Path) -> Result<()> {
    build_programs()?;
    for generated in GENERATED {
        let path = root.join(generated.path);
        let folder = path.parent().expect("a generated file lies in a folder");
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        fs::write(&path, print(root, generated)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// What the program, which was built, prints now.
fn print(root: &Path, generated: &Generated) -> Result<String> {
    let mut stadium = Command::new(program(root));
    let text = output(stadium.args(generated.arguments))?;
    if text.trim().is_empty() {
        bail!("`stadium {}` printed nothing", generated.arguments.join(" "));
    }
    Ok(text)
}

/// The number of the first line, from 1, that differs; `None` when the texts are equal.
fn first_difference(kept: &str, fresh: &str) -> Option<usize> {
    if kept == fresh {
        return None;
    }
    let same = kept.lines().zip(fresh.lines()).take_while(|(left, right)| left == right).count();
    Some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn a_stale_copy_is_reported_by_its_first_differing_line() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(first_difference("", "a\n"), Some(1));
        assert_eq!(first_difference("a\n", "a\nb\n"), Some(2));
    }
}
