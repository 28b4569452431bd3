//! Licences of everything that `stadium` is built from: each must be on a short list.
//!
//! Our code is Apache-2.0 and ships as one static binary, so a dependency must allow that without
//! further duties than a notice. A licence enters the list by a commit that says why.

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{MetadataCommand, Package};
use spdx::{Expression, LicenseItem};

/// SPDX ids that a dependency may offer us. Permissive ones only; MPL-2.0 binds its own files alone.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "OpenSSL",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Fails with one line for each package whose licence is missing, unreadable or not on the list.
pub(crate) fn check() -> Result<()> {
    let metadata = MetadataCommand::new().exec().context("cannot read `cargo metadata`")?;
    let mut refused: Vec<String> = Vec::new();
    for package in &metadata.packages {
        if let Err(reason) = judge(package.license.as_deref(), package.license_file.is_some()) {
            refused.push(format!("{}: {reason}", named(package)));
        }
    }
    if !refused.is_empty() {
        bail!(
            "{} of {} packages\n      {}",
            refused.len(),
            metadata.packages.len(),
            refused.join("\n      ")
        );
    }
    Ok(())
}

fn named(package: &Package) -> String {
    format!("{} {}", package.name, package.version)
}

/// Judges one package by its SPDX expression.
fn judge(expression: Option<&str>, has_file: bool) -> Result<(), String> {
    let Some(expression) = expression else {
        return Err(match has_file {
            true => "names a licence file but no SPDX expression: read it, then decide".into(),
            false => "names no licence".into(),
        });
    };
    // Old packages write `MIT/Apache-2.0`, which means OR.
    let expression = expression.replace('/', " OR ");
    let parsed = Expression::parse(&expression).map_err(|error| format!("`{expression}`: {error}"))?;
    let allowed = |item: &LicenseItem| match item {
        LicenseItem::Spdx { id, .. } => ALLOWED.contains(&id.name),
        LicenseItem::Other { .. } => false,
    };
    match parsed.evaluate(|requirement| allowed(&requirement.license)) {
        true => Ok(()),
        false => Err(format!("`{expression}` is not on the list in xtask/src/licences.rs")),
    }
}

#[cfg(test)]
mod tests {
    use super::judge;

    #[test]
    fn a_choice_with_one_allowed_licence_is_allowed() {
        for good in ["MIT", "MIT/Apache-2.0", "GPL-3.0-only OR MIT", "Apache-2.0 AND ISC"] {
            assert_eq!(judge(Some(good), false), Ok(()), "{good}");
        }
    }

    #[test]
    fn a_copyleft_missing_or_unreadable_licence_is_refused() {
        for bad in ["GPL-3.0-only", "MIT AND AGPL-3.0-only", "LicenseRef-Secret", "not a licence"] {
            assert!(judge(Some(bad), false).is_err(), "{bad}");
        }
        assert!(judge(None, false).is_err());
        assert!(judge(None, true).is_err());
    }
}
