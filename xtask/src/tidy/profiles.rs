//! Build profiles: `dist`, which ships and with which every published figure is taken, has a level for
//! each package that it would otherwise optimise by chance.
//!
//! It inherits from `release`, so a package that is optimised less there alone would be slow in both. Its
//! own default is size, so a crate that messages pass through would be slow if nobody had thought of it.

use super::Finding;

const QUICK: &str = "[profile.release.package]";
const SHIPPED: &str = "[profile.dist.package]";
const LEVELS: [&str; 2] = ["3", "\"s\""];

/// Checks the workspace's Cargo.toml.
pub(crate) fn check(text: &str) -> Vec<Finding> {
    let shipped: Vec<_> = levels(text, SHIPPED).collect();
    let has_level =
        |wanted: &str| shipped.iter().any(|&(_, name, level)| name == wanted && LEVELS.contains(&level));
    let quick =
        levels(text, QUICK).map(|(line, package, _)| (line, package, "is optimised less in `release`"));
    quick
        .chain(crates(text).map(|(line, package)| (line, package, "is a crate of ours")))
        .filter(|(_, package, _)| !has_level(package))
        .map(|(line, package, why)| {
            let what = format!(
                "`{package}` {why}: {SHIPPED} must give it opt-level 3, or \"s\" where no message passes"
            );
            Finding::new("Cargo.toml", line, what)
        })
        .collect()
}

/// Line and name of each crate of the workspace that others depend on.
fn crates(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(at, line)| {
        let (name, rest) = line.split_once(" = { ")?;
        let ours = name.starts_with("stadium-") && rest.starts_with("path = \"crates/");
        ours.then_some((at + 1, name))
    })
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
        assert_eq!(check(&text("a.opt-level = \"s\"")), []);
        for dist in ["", "b.opt-level = 3", "a.opt-level = 2"] {
            let findings = check(&text(dist));
            assert_eq!((findings.len(), findings[0].line), (1, 2), "{findings:?}");
        }
    }

    #[test]
    fn a_crate_without_a_level_in_what_ships_is_found() {
        let text = |dist: &str| {
            format!(
                "[workspace.dependencies]\nstadium-edge = {{ path = \"crates/edge\" }}\nbytes = \"1\"\n\n\
                 [profile.dist.package]\n{dist}\n"
            )
        };
        assert_eq!(check(&text("stadium-edge.opt-level = 3")), []);
        let findings = check(&text("bytes.opt-level = 3"));
        assert_eq!((findings.len(), findings[0].line), (1, 2), "{findings:?}");
    }
}
