//! The files of a package, laid out once for archive, deb and rpm, and the tar.gz.
//!
//! The program itself prints its completions, manual pages and sample configuration; one of the
//! other architecture runs under qemu, in the image's base. It is the first run of that program: a
//! build that does not start ends here.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::archive::{Archive, gzip};
use super::base::Base;
use super::sbom::Bill;
use super::{Architecture, Release, build, notices};
use crate::components;
use crate::step::{command, output};

/// A folder with the files of a package.
pub(super) struct Stage {
    pub(super) architecture: Architecture,
    /// `stadium-1.2.3-x86_64-linux`.
    pub(super) name: String,
    pub(super) folder: PathBuf,
}

/// Files of the repository that every package has, and their names there.
const KEPT: [(&str, &str); 6] = [
    ("LICENSE", "LICENSE"),
    ("README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("deploy/stadium.service", "stadium.service"),
    ("deploy/packages/stadium.sysusers", "stadium.sysusers"),
    ("deploy/packages/copyright", "copyright"),
];

/// Shells, with the names that their completions have to have.
const SHELLS: [(&str, &str); 3] = [("bash", "stadium.bash"), ("zsh", "_stadium"), ("fish", "stadium.fish")];

impl Stage {
    /// Lays the files out.
    pub(super) fn prepare(
        release: &Release,
        architecture: Architecture,
        program: &Path,
        base: &Base,
        bill: &Bill,
    ) -> Result<Self> {
        let folder = build::tools(&release.root).join(architecture.name()).join("stage");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(folder.join("completions"))?;
        fs::create_dir_all(folder.join("man"))?;
        for (file, name) in KEPT {
            fs::copy(release.root.join(file), folder.join(name))?;
        }
        fs::write(folder.join("THIRD-PARTY.md"), notices::text(bill)?)?;
        fs::copy(program, folder.join("stadium"))?;
        let run = |arguments: &[&OsStr]| {
            runner(architecture, program, base).map(|mut run| {
                run.args(arguments);
                run
            })
        };
        let version = output(&mut run(&["--version".as_ref()])?)?;
        if version.trim() != format!("stadium {}", release.version) {
            bail!("the program is {:?}, the workspace {}: build it again", version.trim(), release.version);
        }
        for (shell, name) in SHELLS {
            let text = output(&mut run(&["completions".as_ref(), shell.as_ref()])?)?;
            fs::write(folder.join("completions").join(name), text)?;
        }
        let sample = output(&mut run(&["config".as_ref(), "sample".as_ref()])?)?;
        fs::write(folder.join("stadium.toml.sample"), sample)?;
        command(&mut run(&["man".as_ref(), folder.join("man").as_os_str()])?)?;
        for page in fs::read_dir(folder.join("man"))? {
            let page = page?.path();
            fs::write(page.with_extension("1.gz"), gzip(&fs::read(&page)?)?)?;
            fs::remove_file(page)?;
        }
        let name = format!("stadium-{}-{}-linux", release.version, architecture.name());
        Ok(Self { architecture, name, folder })
    }

    /// Writes the tar.gz: one folder, with everything in it.
    pub(super) fn archive(&self, release: &Release) -> Result<()> {
        let mut archive = Archive::new(release.epoch);
        self.add(&mut archive, &self.folder, &self.name)?;
        fs::write(release.file(format!("{}.tar.gz", self.name)), gzip(&archive.tar()?)?)?;
        Ok(())
    }

    fn add(&self, archive: &mut Archive, folder: &Path, path: &str) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = format!("{path}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                self.add(archive, &entry.path(), &path)?;
                continue;
            }
            let mode = if entry.metadata()?.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 };
            archive.file(&path, mode, fs::read(entry.path())?);
        }
        Ok(())
    }
}

/// Runs the program: itself, or under an emulator.
fn runner(architecture: Architecture, program: &Path, base: &Base) -> Result<Command> {
    if architecture.is_here() {
        return Ok(Command::new(program));
    }
    components::for_emulation()?;
    let mut emulator = Command::new(format!("qemu-{}-static", architecture.name()));
    emulator.arg("-L").arg(&base.root).arg(program);
    Ok(emulator)
}
