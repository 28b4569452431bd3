//! The version: that of the workspace, of the tag, and of the section in CHANGELOG.md have to agree.
//!
//! `cargo xtask release check` is what the release workflow runs first; `tidy` holds the part that
//! needs no tag: the sections' order, and that none is newer than the workspace. `cargo xtask
//! release notes` prints a section.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::semver::Version;
use clap::Subcommand;

/// The heading of what no release has yet.
const UNRELEASED: &str = "Unreleased";

/// The commands for a release.
#[derive(Subcommand)]
pub(crate) enum Task {
    /// Fail unless the workspace's version, the tag and a section of CHANGELOG.md are the same
    Check {
        /// The tag, as `v1.2.3`
        tag: String,
    },
    /// Print the section of CHANGELOG.md of the workspace's version, for the page of the release
    Notes,
}

/// Does it.
pub(crate) fn run(root: &Path, task: &Task) -> Result<ExitCode> {
    let version = of_workspace(root)?;
    let changes = fs::read_to_string(root.join("CHANGELOG.md")).context("cannot read CHANGELOG.md")?;
    match task {
        Task::Check { tag } => {
            agree(&version, tag, &changes)?;
            println!("{tag} is the version of the workspace and of CHANGELOG.md");
        }
        Task::Notes => print!("{}", notes(&version, &changes)?),
    }
    Ok(ExitCode::SUCCESS)
}

/// The workspace's version.
pub(crate) fn of_workspace(root: &Path) -> Result<String> {
    let text = fs::read_to_string(root.join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let (_, package) =
        text.split_once("[workspace.package]").context("Cargo.toml has no [workspace.package]")?;
    let version = package.lines().find_map(|line| line.strip_prefix("version = "));
    Ok(version.context("[workspace.package] has no version")?.trim_matches('"').to_owned())
}

/// Each section: its heading, as `Unreleased` or `1.2.3 (2026-11-27)`, and its text.
fn sections(changes: &str) -> impl Iterator<Item = (&str, &str)> {
    changes.split("\n## ").skip(1).map(|section| section.split_once('\n').unwrap_or((section, "")))
}

/// The version in a heading.
fn version_of(heading: &str) -> Result<Version> {
    let word = heading.split_whitespace().next().unwrap_or_default();
    Version::parse(word).with_context(|| format!("CHANGELOG.md: `## {heading}` begins with no version"))
}

fn agree(version: &str, tag: &str, changes: &str) -> Result<()> {
    if tag != format!("v{version}") {
        bail!("the tag is {tag}, the workspace is {version}: tag v{version}, or change Cargo.toml");
    }
    in_order(version, changes)?;
    if notes(version, changes)?.trim().is_empty() {
        bail!("CHANGELOG.md: the section {version} is empty");
    }
    Ok(())
}

/// Fails unless the sections are sorted, newest first, and none is newer than the workspace.
pub(crate) fn in_order(version: &str, changes: &str) -> Result<()> {
    let mut above = Version::parse(version).context("the workspace's version is not a semantic one")?;
    let mut is_first_release = true;
    for (at, (heading, _)) in sections(changes).enumerate() {
        if heading == UNRELEASED {
            if at > 0 {
                bail!("CHANGELOG.md: `## {UNRELEASED}` is not the first section");
            }
            continue;
        }
        let here = version_of(heading)?;
        if here > above || (here == above && !is_first_release) {
            bail!("CHANGELOG.md: {here} stands below {above}, or is newer than the workspace");
        }
        (above, is_first_release) = (here, false);
    }
    Ok(())
}

fn notes(version: &str, changes: &str) -> Result<String> {
    for (heading, text) in sections(changes).filter(|(heading, _)| *heading != UNRELEASED) {
        if version_of(heading)?.to_string() == version {
            return Ok(text.trim().to_owned() + "\n");
        }
    }
    bail!("CHANGELOG.md has no section {version}: give `## {UNRELEASED}` the heading `## {version} (DATE)`")
}

#[cfg(test)]
mod tests {
    use super::{agree, in_order, notes};

    const CHANGES: &str =
        "# Changes\n\n## Unreleased\n\n- c\n\n## 0.2.0 (2026-11-27)\n\n- b\n\n## 0.1.0\n\n- a\n";

    #[test]
    fn a_tag_that_is_the_version_of_all_agrees() {
        agree("0.2.0", "v0.2.0", CHANGES).expect("all say 0.2.0");
        assert_eq!(notes("0.2.0", CHANGES).expect("it is there"), "- b\n");
        assert_eq!(notes("0.1.0", CHANGES).expect("it is there"), "- a\n");
    }

    #[test]
    fn what_disagrees_is_refused_with_its_reason() {
        let cases = [
            ("0.2.0", "0.2.0", CHANGES, "the tag is 0.2.0"),
            ("0.2.0", "v0.3.0", CHANGES, "the tag is v0.3.0"),
            ("0.3.0", "v0.3.0", CHANGES, "no section 0.3.0"),
            ("0.1.0", "v0.1.0", CHANGES, "0.2.0 stands below 0.1.0"),
            ("0.1.0", "v0.1.0", "\n## 0.1.0\n\n", "the section 0.1.0 is empty"),
            ("0.1.0", "v0.1.0", "\n## 0.1.0\n\n- a\n## 0.1.0\n", "0.1.0 stands below 0.1.0"),
            ("0.2.0", "v0.2.0", "\n## 0.1.0\n- a\n## 0.2.0\n- b\n", "0.2.0 stands below 0.1.0"),
            ("0.1.0", "v0.1.0", "\n## 0.1.0\n- a\n## Unreleased\n", "is not the first section"),
            ("0.1.0", "v0.1.0", "\n## Soon\n- a\n", "begins with no version"),
        ];
        for (version, tag, changes, reason) in cases {
            let refused = agree(version, tag, changes).expect_err(reason);
            assert!(format!("{refused:#}").contains(reason), "{refused:#} is not {reason}");
        }
    }

    #[test]
    fn a_workspace_ahead_of_its_releases_is_in_order() {
        in_order("0.3.0", CHANGES).expect("0.3.0 is being made");
    }
}
