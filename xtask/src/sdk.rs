//! `cargo xtask sdk conformance all`: crosses the clients and servers of the SDKs, through their actors.
//!
//! The runner and the actors are in testing/sdk. What is built lies below target/sdk-conformance.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};

use crate::components;
use crate::cpp::{self, Sanitizer};
use crate::step::{cargo, command, output};

/// Where the actors lie, below the root.
const FOLDER: &str = "target/sdk-conformance";

/// The contract of the actors, and what it imports.
const CONTRACT: &str = "testing/sdk/proto/conformance.proto";
const OPTIONS: &str = "proto/stadium/rpc/v1/options.proto";

/// The packages that the actors and the runner come from.
const PACKAGES: [&str; 4] =
    ["stadium-sdk-conformance", "stadium-ffi", "stadium-python", "protoc-gen-stadium"];

/// The task.
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build the actors of all SDKs
    Build,
    /// Cross the clients of the SDKs with their servers; ends with `N passed, N failed`
    Conformance {
        /// `all`, languages with commas between them (rust, cpp, python), or `mutants`: actors that are
        /// wrong in one way, each of which must be found
        #[arg(default_value = "all")]
        who: String,
        /// Only cases whose name contains this
        #[arg(long)]
        only: Option<String>,
        /// Every fault of every server, and not one server for each fault
        #[arg(long)]
        long: bool,
    },
    /// Run the tests of the C++ SDK under a sanitizer; under each of them if none is named
    Sanitize {
        /// Which
        sanitizer: Option<Sanitizer>,
    },
}

/// Does it. The exit code is 0 only when everything held.
pub(crate) fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    if let Task::Sanitize { sanitizer } = options.task {
        return cpp::sanitize(root, sanitizer);
    }
    let requirements = root.join("testing/python/requirements.txt");
    components::for_suites()?;
    let interpreter = components::python(root, &requirements)?;
    let packages = PACKAGES.iter().flat_map(|package| ["--package", package]);
    command(cargo(&["build", "--quiet"]).args(packages))?;
    components::node_packages(&root.join("sdk/js"))?;
    build(root, &interpreter)?;
    let Task::Conformance { who, only, long } = &options.task else { return Ok(ExitCode::SUCCESS) };
    let mut runner = runner(root);
    match who.as_str() {
        "all" => {}
        "mutants" => drop(runner.arg("--mutants")),
        languages => drop(runner.args(["--clients", languages, "--servers", languages])),
    }
    runner.args(only.iter().flat_map(|only| ["--only", only])).args(long.then_some("--long"));
    let status = runner.status().context("cannot start the runner")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The runner, which cargo has built.
pub(crate) fn runner(root: &Path) -> Command {
    Command::new(root.join("target/debug/sdk-conformance"))
}

/// Builds the actors, but for what cargo has built.
pub(crate) fn build(root: &Path, interpreter: &Path) -> Result<()> {
    python(root, interpreter)?;
    cpp::build(
        &root.join("testing/sdk/actors/cpp"),
        &root.join(FOLDER).join("cpp"),
        &[cpp::library(root, cpp::DEBUG)],
    )?;
    jvm(root)?;
    javascript(root)
}

/// The package of Python with the module that cargo built, and the messages of the contract.
fn python(root: &Path, interpreter: &Path) -> Result<()> {
    let folder = fresh(root, "python")?;
    python_package(root, &folder, cpp::DEBUG)?;
    // The package has the module of the options already.
    protoc(root, &[CONTRACT], &[format!("--python_out={}", folder.display())])?;
    output(
        Command::new(interpreter).args(["-c", "import stadium, conformance_pb2"]).env("PYTHONPATH", &folder),
    )
    .context("the Python actor's packages cannot be imported")?;
    Ok(())
}

/// The package `stadium` in a folder, with the module that cargo built, by the folder of its profile.
pub(crate) fn python_package(root: &Path, folder: &Path, profile: &str) -> Result<()> {
    let package = folder.join("stadium");
    std::fs::create_dir(&package)?;
    for entry in std::fs::read_dir(root.join("sdk/python/stadium"))? {
        let entry = entry?;
        if entry.file_name() != "__pycache__" {
            symlink(entry.path(), package.join(entry.file_name()))?;
        }
    }
    let module = root.join("target").join(profile).join("lib_stadium.so");
    symlink(module, package.join("_stadium.abi3.so"))?;
    Ok(())
}

/// The modules of Java, the voting night, and the actor's classes with their class path.
fn jvm(root: &Path) -> Result<()> {
    let folder = fresh(root, "jvm")?;
    let generated = folder.join("generated");
    std::fs::create_dir(&generated)?;
    let out = generated.display();
    protoc(root, &[CONTRACT, OPTIONS], &[format!("--java_out={out}"), format!("--stadium_out=java:{out}")])?;
    let mut maven = Command::new("mvn");
    maven.current_dir(root.join("sdk/jvm")).args(["--batch-mode", "--quiet", "--no-transfer-progress"]);
    maven.arg(format!("-Dstadium.actor={}", folder.display()));
    maven.args(["-Pactor,voting", "-DskipTests", "-Dmaven.javadoc.skip", "-Dmaven.source.skip", "package"]);
    output(&mut maven)?;
    let classes = folder.join("target/classes").display().to_string();
    let libraries = std::fs::read_to_string(folder.join("classpath")).context("the class path of Maven")?;
    std::fs::write(root.join(FOLDER).join("jvm.classpath"), format!("{classes}:{}", libraries.trim()))?;
    Ok(())
}

/// The messages and methods of TypeScript beside the SDK that npm has built.
fn javascript(root: &Path) -> Result<()> {
    let folder = fresh(root, "js")?;
    let sdk = root.join("sdk/js");
    let modules = folder.join("node_modules");
    for package in ["@stadium/client", "@bufbuild/protobuf"] {
        let link = modules.join(package);
        std::fs::create_dir_all(link.parent().expect("a scope"))?;
        let is_ours = package.starts_with("@stadium/");
        symlink(if is_ours { sdk.clone() } else { sdk.join("node_modules").join(package) }, link)?;
    }
    std::fs::write(folder.join("package.json"), "{\"type\": \"module\"}\n")?;
    let out = folder.display();
    let messages = sdk.join("node_modules/.bin/protoc-gen-es");
    let outs = [
        format!("--plugin={}", messages.display()),
        format!("--es_out=target=ts,import_extension=js:{out}"),
        format!("--stadium_out=ts,import_extension=js:{out}"),
    ];
    protoc(root, &[CONTRACT, OPTIONS], &outs)?;
    let mut tsc = Command::new(sdk.join("node_modules/.bin/tsc"));
    tsc.current_dir(&folder).args(["--module", "nodenext", "--target", "es2022", "--strict"]);
    tsc.args(["--skipLibCheck", "conformance_pb.ts", "conformance_stadium.ts"]);
    output(&mut tsc)?;
    Ok(())
}

/// Builds the voting nights of examples/voting, over what [`build`] has made.
pub(crate) fn build_nights(root: &Path) -> Result<()> {
    let (source, folder) = (root.join("examples/voting/cpp"), root.join(FOLDER).join("voting-cpp"));
    cpp::build(&source, &folder, &[cpp::library(root, cpp::DEBUG)])?;
    // Beside the packages that it imports.
    let program = root.join(FOLDER).join("js/night.mjs");
    std::fs::copy(root.join("examples/voting/js/night.mjs"), program)?;
    Ok(())
}

/// The night of Java, which is built with the actor.
const NIGHT: &str = "io.stadium.examples.voting.Night";

/// Runs the voting nights on one server, and compares what they see.
pub(crate) fn nights(root: &Path, interpreter: &Path) -> Command {
    let (folder, jars) = (root.join(FOLDER), root.join("target/voting-java"));
    let programs = [
        (
            "python",
            format!("'{}' '{}/examples/voting/python/night.py'", interpreter.display(), root.display()),
        ),
        ("cpp", format!("'{}/voting-cpp/night'", folder.display())),
        ("js", format!("node '{}/js/night.mjs'", folder.display())),
        ("java", format!("java -XX:TieredStopAtLevel=1 -cp '{0}/*:{0}/lib/*' {NIGHT}", jars.display())),
    ];
    let mut crosses = Command::new(interpreter);
    crosses.arg(root.join("examples/voting/crosses.py")).env("PYTHONPATH", folder.join("python"));
    crosses.args(programs.map(|(name, program)| format!("{name}={program}")));
    crosses
}

/// Generates messages and methods of contracts; `outs` are the arguments for one language.
fn protoc(root: &Path, contracts: &[&str], outs: &[String]) -> Result<()> {
    let mut protoc = Command::new("protoc");
    protoc.args(["testing/sdk/proto", "proto"].map(|folder| format!("-I{}", root.join(folder).display())));
    protoc.arg(format!("--plugin={}", root.join("target/debug/protoc-gen-stadium").display()));
    output(protoc.args(outs).args(contracts.iter().map(|contract| root.join(contract))))?;
    Ok(())
}

/// An empty folder below the actors'.
fn fresh(root: &Path, name: &str) -> Result<PathBuf> {
    let folder = root.join(FOLDER).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
