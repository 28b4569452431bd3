//! The software bill of materials of the program: a CycloneDX 1.6 document of what cargo links into it.
//!
//! Only crates that the program contains are listed: dependencies of build scripts and of tests are
//! not, and neither are those of other targets. The licences are those that `verify licences` has
//! judged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Architecture, Release};

/// The package whose program ships.
const PROGRAM: &str = "stadium-cli";

/// The crates of a program and the dependencies between them.
pub(super) struct Bill {
    metadata: Metadata,
    program: PackageId,
    /// Each crate with those that it depends on.
    edges: BTreeMap<PackageId, BTreeSet<PackageId>>,
}

impl Bill {
    /// That of the program of an architecture.
    pub(super) fn of_program(root: &Path, architecture: Architecture) -> Result<Self> {
        let filter = ["--filter-platform".to_owned(), architecture.triple(), "--locked".to_owned()];
        let manifest = root.join("crates/cli/Cargo.toml");
        let metadata = MetadataCommand::new()
            .manifest_path(manifest)
            .other_options(filter)
            .exec()
            .context("cannot read `cargo metadata`")?;
        Self::of(metadata)
    }

    fn of(metadata: Metadata) -> Result<Self> {
        let named = metadata.packages.iter().find(|package| package.name.as_str() == PROGRAM);
        let program = named.with_context(|| format!("the workspace has no {PROGRAM}"))?.id.clone();
        let resolved = metadata.resolve.as_ref().context("`cargo metadata` resolved nothing")?;
        let nodes: BTreeMap<_, _> = resolved.nodes.iter().map(|node| (&node.id, node)).collect();
        let is_macro = |id: &PackageId| metadata[id].targets.iter().any(|target| target.is_proc_macro());
        let mut edges = BTreeMap::new();
        let mut open = vec![program.clone()];
        while let Some(id) = open.pop() {
            let node = nodes.get(&id).with_context(|| format!("{id} is not resolved"))?;
            let linked = node.deps.iter().filter(|dependency| {
                // A macro runs in the compiler; what it writes is ours.
                let normal = dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal);
                normal && !is_macro(&dependency.pkg)
            });
            let below: BTreeSet<_> = linked.map(|dependency| dependency.pkg.clone()).collect();
            edges.insert(id, below.clone());
            open.extend(below.into_iter().filter(|id| !edges.contains_key(id)));
        }
        Ok(Self { metadata, program, edges })
    }

    /// The crates of others, sorted by name and version.
    pub(super) fn dependencies(&self) -> Vec<&Package> {
        let mut packages: Vec<_> = self.edges.keys().map(|id| &self.metadata[id]).collect();
        packages.retain(|package| package.source.is_some());
        packages.sort_by_key(|package| (package.name.to_string(), package.version.clone()));
        packages
    }

    /// The document.
    pub(super) fn document(&self, release: &Release) -> Result<String> {
        let epoch = i64::try_from(release.epoch).context("the time is too late")?;
        let document = self.json(&release.version, &release.commit, Timestamp::from_second(epoch)?);
        Ok(serde_json::to_string_pretty(&document)? + "\n")
    }

    fn json(&self, version: &str, commit: &str, timestamp: Timestamp) -> Value {
        let packages: Vec<&Package> = self.edges.keys().map(|id| &self.metadata[id]).collect();
        let mut components: Vec<_> = packages
            .iter()
            .filter(|package| package.id != self.program)
            .map(|package| component(package))
            .collect();
        components.sort_by_key(|component| component["bom-ref"].to_string());
        let mut dependencies: Vec<_> = self
            .edges
            .iter()
            .map(|(id, below)| {
                let mut below: Vec<_> = below.iter().map(|id| purl(&self.metadata[id])).collect();
                below.sort();
                json!({"ref": purl(&self.metadata[id]), "dependsOn": below})
            })
            .collect();
        dependencies.sort_by_key(|dependency| dependency["ref"].to_string());
        let root = &self.metadata[&self.program];
        json!({
            "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": {
                "timestamp": timestamp.to_string(),
                "component": {
                    "type": "application",
                    "bom-ref": purl(root),
                    "name": "stadium",
                    "version": version,
                    "licenses": [{"expression": "Apache-2.0"}],
                    "properties": [{"name": "stadium:commit", "value": commit}],
                },
            },
            "components": components,
            "dependencies": dependencies,
        })
    }
}

fn component(package: &Package) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": package.name.as_str(),
        "version": package.version.to_string(),
        "purl": purl(package),
    });
    if let Some(licence) = &package.license {
        // Old packages write `MIT/Apache-2.0`, which means OR.
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    if let Some(description) = &package.description {
        component["description"] = json!(description.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    if let Some(repository) = &package.repository {
        component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    component
}

/// A package's address, as the purl specification has it for crates.
fn purl(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::Timestamp;

    use super::{Architecture, Bill};

    fn bill() -> Bill {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it lies in the workspace");
        Bill::of_program(root, Architecture::Arm).expect("the workspace is one")
    }

    #[test]
    fn the_bill_has_what_is_linked_and_nothing_else() {
        let bill = bill();
        let names: Vec<_> = bill.dependencies().iter().map(|package| package.name.to_string()).collect();
        for linked in ["rustls", "mio", "tokio", "ring"] {
            assert!(names.iter().any(|name| name == linked), "{linked} is not in {names:?}");
        }
        // A macro, a build script's, a test's, another target's.
        for other in ["serde_derive", "prost-build", "proptest", "windows-sys"] {
            assert!(!names.iter().any(|name| name == other), "{other} is not linked");
        }
    }

    #[test]
    fn each_dependency_is_a_component_of_the_document() {
        let document = bill().json("1.2.3", "0123", Timestamp::UNIX_EPOCH);
        let references = |list: &serde_json::Value, key: &str| -> Vec<String> {
            let list = list.as_array().expect("it is a list");
            list.iter().map(|entry| entry[key].as_str().expect("it is text").to_owned()).collect()
        };
        let mut known = references(&document["components"], "bom-ref");
        known.push(document["metadata"]["component"]["bom-ref"].as_str().expect("it is text").to_owned());
        known.sort();
        assert_eq!(references(&document["dependencies"], "ref"), known);
        for dependency in document["dependencies"].as_array().expect("it is a list") {
            for below in dependency["dependsOn"].as_array().expect("it is a list") {
                let below = below.as_str().expect("it is text");
                assert!(known.iter().any(|name| name == below), "{below} is no component");
            }
        }
    }
}
