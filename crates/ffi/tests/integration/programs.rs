//! Compiles and runs the programs of tests/c. Each ends with 0 after all of its checks held.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of the shared library that this test was built with.
fn library_folder() -> PathBuf {
    let test = std::env::current_exe().expect("a running program has a path");
    let folder = test.parent().expect("it lies in a folder").to_owned();
    assert!(
        folder.join("libstadium_c.so").exists(),
        "cargo builds it beside the test, in {}",
        folder.display()
    );
    folder
}

pub fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compiles a program of tests/c.
fn compile(name: &str, compiler: &str, flags: &[&str], out: &Path) {
    compile_source(&crate_folder().join("tests/c").join(name), compiler, flags, out);
}

/// Compiles a program. Warnings are errors.
pub fn compile_source(source: &Path, compiler: &str, flags: &[&str], out: &Path) {
    let mut command = Command::new(compiler);
    command.args(flags).args(["-Wall", "-Wextra", "-Werror", "-g", "-pthread"]);
    command.arg("-I").arg(crate_folder().join("../../sdk/c/include"));
    command.arg(source).arg("-o").arg(out);
    command.arg("-L").arg(library_folder()).arg("-lstadium_c");
    let output = command.output().expect("the compiler of build-essential is there");
    succeeded(&format!("{compiler} {}", source.display()), &output);
}

/// Runs a program that was compiled.
pub fn run(program: &Path) -> Output {
    Command::new(program).env("LD_LIBRARY_PATH", library_folder()).output().expect("it was compiled")
}

fn succeeded(what: &str, output: &Output) {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{what}: {}\n{}",
        output.status,
        shown(&output.stderr) + &shown(&output.stdout)
    );
}

fn runs(name: &str) {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let program = folder.path().join("program");
    compile(name, "cc", &["-std=gnu11"], &program);
    let output = run(&program);
    succeeded(name, &output);
    assert!(String::from_utf8_lossy(&output.stdout).contains("all held"), "{name} ran to its end");
}

#[test]
fn calls_of_every_interaction_end_as_events() {
    runs("calls.c");
}

#[test]
fn misuse_is_an_error() {
    runs("misuse.c");
}

#[test]
fn many_calls_of_many_threads_end_once_each() {
    runs("many.c");
}

#[test]
fn program_that_finds_something_wrong_fails() {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let program = folder.path().join("program");
    compile("wrong.c", "cc", &["-std=gnu11"], &program);
    let output = run(&program);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("wrong.c:6: not so"), "it names the place");
}

#[test]
fn header_is_cpp_too() {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    compile("header.cpp", "c++", &["-std=c++20"], &folder.path().join("program"));
}
