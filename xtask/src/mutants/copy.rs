//! A copy of the workspace in which mutants are tried, so that nobody's edits and mutants meet.
//!
//! It stays at one place, and a file whose content is the same is not written: so cargo finds most of it built. A mutant
//! that a cut run left in the copy differs from the original, and is put right with a new time of change.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// Makes `tree` the same as the files under `root` that git does not ignore.
pub(super) fn bring_up_to_date(root: &Path, tree: &Path) -> Result<()> {
    let mut wanted = HashSet::new();
    for name in crate::tidy::paths(root)? {
        let (original, copy) = (root.join(&name), tree.join(&name));
        let content = fs::read(&original).with_context(|| format!("cannot read {}", original.display()))?;
        if fs::read(&copy).ok().as_ref() != Some(&content) {
            let folder = copy.parent().context("a file is in a folder")?;
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            let write = || fs::write(&copy, &content).and_then(|()| fs::metadata(&original));
            let written = write().and_then(|original| fs::set_permissions(&copy, original.permissions()));
            written.with_context(|| format!("cannot write {}", copy.display()))?;
        }
        wanted.insert(copy);
    }
    remove_others(tree, &wanted)
}

/// Removes files that are no longer wanted: cargo would take those in tests/ for tests.
fn remove_others(folder: &Path, wanted: &HashSet<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, wanted)?;
        } else if !wanted.contains(&path) {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}
