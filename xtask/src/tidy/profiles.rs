//! Build profiles: what `release` optimises less for a soon build, `dist` optimises as all the
//! rest.
//!
//! `dist` ships, and every published figure is taken with it, but it inherits from `release`: a
//! package that is named there alone would be slow in both.

use super::Finding;

const QUICK: &str = "[profile.release.package]";
const SHIPPED: &str = "[profile.dist.package]";

/// Checks the workspace's Cargo.toml.
pub(crate) fn check(text: &str) -> Vec<Finding> {
    let shipped: Vec<_> = levels(text, SHIPPED).collect();
    let is_restored = |package: &str| shipped.iter().any(|&(_, name, level)| name == package && level == "3");
    levels(text, QUICK)
        .filter(|(_, package, _)| !is_restored(package))
        .map(|(line, package, _)| {
            let what =
                format!("`{package}` is optimised less in `release`: {SHIPPED} must give it opt-level 3");
            Finding::new("Cargo.toml", line, what)
        })
        .collect()
}

/// Line, package and level of each line of a section.
fn levels<'t>(text: &'t str, section: &str) -> impl Iterator<Item = (usize, &'t str, &'t str)> {
    let lines = text.lines().enumerate().skip_while(move |(_, line)| *line != section).skip(1);
    lines.take_while(|(_, line)| !line.starts_with('[')).filter_map(|(at, line)| {
        let (package, level) = line.split_once(".opt-level = ")?;
        Some((at + 1, package, level))
    })
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_package_that_is_slow_in_what_ships_is_found() {
        let text = |dist: &str| {
            format!("[profile.release.package]\na.opt-level = 1\n\n[profile.dist.package]\n{dist}\n[other]\n")
        };
        assert_eq!(check(&text("a.opt-level = 3")), []);
        for dist in ["", "b.opt-level = 3", "a.opt-level = 2"] {
            let findings = check(&text(dist));
            assert_eq!((findings.len(), findings[0].line), (1, 2), "{findings:?}");
        }
    }
}
