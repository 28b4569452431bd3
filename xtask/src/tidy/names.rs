//! Names that say nothing: files called after a drawer, functions called `get_`.
//!
//! A file is one idea and its name is that idea; a getter is named after what it returns.

use super::Finding;
use super::source::Source;

/// File and folder names that are drawers, not ideas.
const DRAWERS: &[&str] = &["util", "utils", "utilities", "common", "misc", "helper", "helpers", "stuff"];

/// Methods of other people's traits, which an implementation cannot name: those of
/// `object_store::ObjectStore`, and the name of memcached's own command with the place of its value.
const FOREIGN: &[&str] = &["fn get_opts(", "fn get_ranges(", "fn get_into("];

/// Checks one path, file and folders.
pub(crate) fn path(path: &str) -> Option<Finding> {
    let is_source = [".rs", ".py", ".js", ".mjs"].iter().any(|ending| path.ends_with(ending));
    if !is_source {
        return None;
    }
    let drawer = path.split('/').find(|part| {
        let stem = part.split('.').next().unwrap_or(part);
        DRAWERS.contains(&stem)
    })?;
    Some(Finding::new(path, 0, format!("`{drawer}` is a drawer, not an idea: name what is in it")))
}

/// Checks the function names of one file.
pub(crate) fn functions(path: &str, source: &Source) -> Vec<Finding> {
    source
        .lines()
        .filter(|(_, line)| line.contains("fn get_") && !FOREIGN.iter().any(|name| line.contains(name)))
        .map(|(number, _)| Finding::new(path, number, "`get_` says nothing: name what it returns"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::{functions, path};

    #[test]
    fn drawers_are_refused_and_ideas_are_not() {
        for bad in ["crates/a/src/util.rs", "crates/a/tests/common/mod.rs", "testing/python/helpers.py"] {
            assert!(path(bad).is_some(), "{bad}");
        }
        for good in ["crates/a/src/segment.rs", "crates/a/src/utility_meter.rs", "docs/common.md"] {
            assert!(path(good).is_none(), "{good}");
        }
    }

    #[test]
    fn getters_are_named_after_what_they_return() {
        let found = |text: &str| functions("a.rs", &Source::new(text)).len();
        assert_eq!(found("pub fn get_name(&self) {}"), 1);
        assert_eq!(found("pub fn name(&self) {} // fn get_name"), 0);
        assert_eq!(found("async fn get_opts(&self) {}"), 0);
    }
}
