//! Files of the repository that are made from the code: compared by `verify`, rewritten by `fix`.
//!
//! The source of truth is the code (settings, HTTP handlers, the C ABI); a stale copy fails the
//! build. The program prints most of them; the C header comes from cbindgen.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::step::{build_programs, output, program};
use crate::{features, quotes};

/// A generated file.
struct Generated {
    path: &'static str,
    origin: Origin,
}

/// The source of a generated file.
enum Origin {
    /// `stadium` prints it, with these arguments.
    Printed(&'static [&'static str]),
    /// cbindgen makes it of the crate in this folder, which has the settings.
    Header(&'static str),
    /// The table of the SDKs' features.
    Features,
    /// The file itself, with the figures that it quotes.
    Quotes,
}

/// Every generated file of the repository.
const GENERATED: &[Generated] = &[
    Generated { path: "docs/reference/configuration.md", origin: Origin::Printed(&["config", "reference"]) },
    Generated { path: "docs/reference/apply.schema.json", origin: Origin::Printed(&["apply", "--schema"]) },
    Generated { path: "docs/reference/openapi.json", origin: Origin::Printed(&["openapi"]) },
    Generated { path: "docs/reference/rights.md", origin: Origin::Printed(&["key", "rights"]) },
    Generated { path: "docs/reference/metrics.md", origin: Origin::Printed(&["metrics", "reference"]) },
    Generated { path: "docs/reference/alerts.md", origin: Origin::Printed(&["metrics", "runbooks"]) },
    Generated { path: "deploy/prometheus/alerts.yml", origin: Origin::Printed(&["metrics", "alerts"]) },
    Generated {
        path: "deploy/prometheus/alerts_test.yml",
        origin: Origin::Printed(&["metrics", "alert-tests"]),
    },
    Generated {
        path: "deploy/prometheus/prometheus.yml",
        origin: Origin::Printed(&["metrics", "prometheus"]),
    },
    Generated {
        path: "deploy/grafana/overview.json",
        origin: Origin::Printed(&["metrics", "dashboard", "overview"]),
    },
    Generated {
        path: "deploy/grafana/devices.json",
        origin: Origin::Printed(&["metrics", "dashboard", "devices"]),
    },
    Generated {
        path: "deploy/grafana/pushes.json",
        origin: Origin::Printed(&["metrics", "dashboard", "pushes"]),
    },
    Generated {
        path: "deploy/grafana/queues-and-wallets.json",
        origin: Origin::Printed(&["metrics", "dashboard", "queues-and-wallets"]),
    },
    Generated { path: "deploy/grafana/rpc.json", origin: Origin::Printed(&["metrics", "dashboard", "rpc"]) },
    Generated {
        path: "deploy/grafana/shards-and-journal.json",
        origin: Origin::Printed(&["metrics", "dashboard", "shards-and-journal"]),
    },
    Generated {
        path: "deploy/grafana/cluster.json",
        origin: Origin::Printed(&["metrics", "dashboard", "cluster"]),
    },
    Generated { path: "docs/reference/sdk-features.md", origin: Origin::Features },
    Generated { path: quotes::README, origin: Origin::Quotes },
    Generated { path: quotes::SIZING, origin: Origin::Quotes },
    Generated { path: quotes::AVAILABILITY, origin: Origin::Quotes },
    Generated { path: "sdk/c/include/stadium.h", origin: Origin::Header("crates/ffi") },
];

/// Fails when a file differs from what the program prints now, naming the first line that differs.
pub(crate) fn check(root: &Path) -> Result<()> {
    build_programs()?;
    let mut stale = Vec::new();
    for generated in GENERATED {
        let fresh = generated.text(root)?;
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
        fs::write(&path, generated.text(root)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

impl Generated {
    /// The file as it should be now. The program was built.
    fn text(&self, root: &Path) -> Result<String> {
        match self.origin {
            Origin::Printed(arguments) => print(root, arguments),
            Origin::Header(folder) => header(&root.join(folder)),
            Origin::Features => features::page(root),
            Origin::Quotes => quotes::text(root, self.path),
        }
    }
}

fn print(root: &Path, arguments: &[&str]) -> Result<String> {
    let mut stadium = Command::new(program(root));
    let text = output(stadium.args(arguments))?;
    if text.trim().is_empty() {
        bail!("`stadium {}` printed nothing", arguments.join(" "));
    }
    Ok(text)
}

/// The header of a crate, by its cbindgen.toml.
fn header(folder: &Path) -> Result<String> {
    let bindings = cbindgen::generate(folder)
        .with_context(|| format!("cannot make a header of {}", folder.display()))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    // The heading that Rust's documentation has for a caller's promises.
    Ok(String::from_utf8(text)?.replace("// # Safety\n// ", "// Requires: "))
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
