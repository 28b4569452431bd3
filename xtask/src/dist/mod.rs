//! `cargo xtask dist`: what a release consists of, under target/dist-packages.
//!
//! For each architecture: the stripped program in a tar.gz, a deb and an rpm, a container image as
//! an OCI layout, and a CycloneDX SBOM; for all of them SHA256SUMS and its signature. Of the same
//! program and commit the files come out the same, byte by byte, whatever the clock: times in them
//! are SOURCE_DATE_EPOCH or that of the commit. The packages are tried in clean roots by `cargo
//! xtask test packages`.

mod architecture;
mod archive;
mod base;
mod build;
mod image;
mod nfpm;
mod notices;
mod sbom;
mod sign;
mod stage;
pub(crate) mod version;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::step::{Step, output};
pub(crate) use architecture::Architecture;
use sign::Key;

/// The files to make, and their sources.
#[derive(Args)]
pub(crate) struct Options {
    /// Only for this architecture; may be given twice. Both when it is not given
    #[arg(long, value_name = "ARCHITECTURE")]
    target: Vec<Architecture>,
    /// Package the programs that an earlier run built
    #[arg(long)]
    skip_build: bool,
    /// The secret key of minisign that signs. Without it the environment variable
    /// STADIUM_SIGNING_KEY has its text, and STADIUM_SIGNING_PASSWORD its password; without both a
    /// throw-away key signs
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The folder of the finished files, which is emptied first; target/dist-packages where it is
    /// not given
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Build nothing: verify the signature and the checksums of what is there
    #[arg(long, conflicts_with_all = ["target", "skip_build", "key"])]
    verify: bool,
    /// The public key to verify with, in place of the one that lies beside the packages
    #[arg(long, value_name = "FILE", requires = "verify")]
    public_key: Option<PathBuf>,
}

impl Options {
    /// The folder of the finished files.
    fn folder(&self, root: &Path) -> PathBuf {
        self.output.clone().unwrap_or_else(|| folder(root))
    }
}

/// Makes all files for all architectures, for those who only want to have them.
pub(crate) fn make_all(root: &Path) -> Result<()> {
    let options = Options {
        target: Vec::new(),
        skip_build: false,
        key: None,
        output: None,
        verify: false,
        public_key: None,
    };
    make(root, &Architecture::ALL, &options)
}

/// The facts that all files of a release share.
struct Release {
    /// The workspace's root.
    root: PathBuf,
    /// The folder of the finished files.
    packages: PathBuf,
    version: String,
    /// Seconds since 1970 that every file carries.
    epoch: u64,
    /// The commit that it is made of.
    commit: String,
}

impl Release {
    fn new(root: &Path, packages: PathBuf) -> Result<Self> {
        let git = |arguments: &[&str]| -> Result<String> {
            Ok(output(Command::new("git").current_dir(root).args(arguments))?.trim().to_owned())
        };
        let epoch = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(text) => {
                text.parse().with_context(|| format!("SOURCE_DATE_EPOCH is {text:?}, not seconds"))?
            }
            Err(_) => {
                git(&["log", "-1", "--format=%ct"])?.parse().context("a commit has a time in seconds")?
            }
        };
        Ok(Self {
            root: root.to_owned(),
            // nfpm runs in another folder.
            packages: std::path::absolute(packages)?,
            version: version::of_workspace(root)?,
            epoch,
            commit: git(&["rev-parse", "HEAD"])?,
        })
    }

    /// A finished file.
    fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.packages.join(name)
    }
}

/// The folder of the finished files, where no other is named.
pub(crate) fn folder(root: &Path) -> PathBuf {
    root.join("target/dist-packages")
}

/// Makes them, or verifies those that are there.
pub(crate) fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    if options.verify {
        let verified = sign::verify(&options.folder(root), options.public_key.as_deref())?;
        println!("{verified} files are those that were signed");
        return Ok(ExitCode::SUCCESS);
    }
    let targets = match options.target.is_empty() {
        true => Architecture::ALL.to_vec(),
        false => options.target.clone(),
    };
    make(root, &targets, options)?;
    Ok(ExitCode::SUCCESS)
}

fn make(root: &Path, targets: &[Architecture], options: &Options) -> Result<()> {
    // Read before anything is built: a key that cannot be read should not cost the time of a build.
    let key = Key::find(options.key.as_deref())?;
    let release = Release::new(root, options.folder(root))?;
    // Removing a folder of somebody's other files by a slip of --output would be a bad day.
    let is_ours = |folder: &Path| folder.join("SHA256SUMS").exists() || options.output.is_none();
    if release.packages.exists()
        && !is_ours(&release.packages)
        && fs::read_dir(&release.packages)?.next().is_some()
    {
        bail!("{} has other files than those of a release: name an empty folder", release.packages.display());
    }
    if release.packages.exists() {
        fs::remove_dir_all(&release.packages).context("the packages of an earlier run cannot be removed")?;
    }
    fs::create_dir_all(&release.packages)?;
    for &architecture in targets {
        let name = architecture.name();
        if !options.skip_build {
            step(format!("{name}: build the program (thin LTO: 10 to 20 min on two cores)"), || {
                build::program(root, architecture)
            })?;
        }
        let program = step(format!("{name}: strip the program"), || build::stripped(root, architecture))?;
        let base =
            step(format!("{name}: the image's base, from Debian"), || base::Base::fetch(root, architecture))?;
        let bill = step(format!("{name}: SBOM and notices"), || sbom::Bill::of_program(root, architecture))?;
        let stage = step(format!("{name}: completions, manual pages, configuration"), || {
            stage::Stage::prepare(&release, architecture, &program, &base, &bill)
        })?;
        step(format!("{name}: archive"), || stage.archive(&release))?;
        step(format!("{name}: deb and rpm"), || nfpm::packages(&release, &stage))?;
        step(format!("{name}: image"), || image::write(&release, &stage, &base))?;
        fs::write(release.file(format!("{}.cdx.json", stage.name)), bill.document(&release)?)?;
    }
    step("checksums and signature".to_owned(), || sign::seal(&release.packages, &key))?;
    show(&release)
}

/// Prints the finished files with their sizes.
fn show(release: &Release) -> Result<()> {
    println!("{}:", release.packages.display());
    let mut total = 0;
    for name in sign::files(&release.packages)? {
        let bytes = fs::metadata(release.file(&name))?.len();
        total += bytes;
        println!("{:>9}  {name}", size(bytes));
    }
    println!("{:>9}  in all", size(total));
    Ok(())
}

/// A number of bytes for people, as `ls --human-readable --si` has it: `20.9 MB`.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Runs a step that shows its name, outcome and time; a failed one ends the task.
fn step<T>(name: String, make: impl FnOnce() -> Result<T>) -> Result<T> {
    let step = Step::start(name.clone());
    match make() {
        Ok(made) => {
            step.end(Ok(()));
            Ok(made)
        }
        Err(error) => {
            step.end(Err(anyhow::anyhow!("{error:#}")));
            bail!("{name} failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_the_unit_that_suits_them() {
        let shown = [980, 264_781, 20_022_158].map(size);
        assert_eq!(shown, ["980 B", "264.8 kB", "20.0 MB"]);
    }
}
