//! The deb and the rpm, by nfpm, from one description: deploy/packages/nfpm.yaml.
//!
//! nfpm writes both formats without dpkg or rpm on the machine. It comes through the Go proxy in
//! the version below.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::stage::Stage;
use super::{Release, build};
use crate::step::command;

/// The module of its program, and the version.
const MODULE: &str = "github.com/goreleaser/nfpm/v2/cmd/nfpm";
const VERSION: &str = "v2.43.4";

/// Writes both packages of an architecture.
pub(super) fn packages(release: &Release, stage: &Stage) -> Result<()> {
    let nfpm = program(&release.root)?;
    let folder = release.root.join("deploy/packages");
    for file in fs::read_dir(&folder)? {
        let file = file?.path();
        let name = file.file_name().expect("a file has a name");
        fs::copy(&file, stage.folder.join(name))?;
    }
    for format in ["deb", "rpm"] {
        let mut package = Command::new(&nfpm);
        package.current_dir(&stage.folder).arg("package").arg("--target").arg(&release.packages);
        package.args(["--config", "nfpm.yaml", "--packager", format]);
        package.env("STADIUM_VERSION", &release.version).env("STADIUM_ARCH", stage.architecture.short());
        package.env("SOURCE_DATE_EPOCH", release.epoch.to_string());
        command(package.stdout(std::process::Stdio::null()))
            .with_context(|| format!("nfpm made no {format}"))?;
    }
    Ok(())
}

/// nfpm, installed first where it is missing.
fn program(root: &Path) -> Result<PathBuf> {
    let folder = build::tools(root).join(format!("nfpm-{VERSION}"));
    let program = folder.join("nfpm");
    if !program.exists() {
        let mut install = Command::new("go");
        install.arg("install").arg(format!("{MODULE}@{VERSION}")).env("GOBIN", &folder);
        // Modules of a checkout around this folder are not ours.
        command(install.current_dir(build::tools(root)).env("GOFLAGS", "-trimpath"))
            .context("nfpm cannot be installed")?;
    }
    Ok(program)
}
