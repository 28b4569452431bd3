//! The other suites on a newer etcd than the installed one, in long runs.
//!
//! `STADIUM_NEWER_ETCD` asks for it, as `cargo xtask test --long` does. The program comes from the Go
//! module proxy: testing/etcd names its version.

use std::path::Path;
use std::process::Command;

#[test]
fn all_suites_hold_on_a_newer_etcd() {
    if std::env::var_os("STADIUM_NEWER_ETCD").is_none() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let etcd = root.join("target/newer-etcd");
    let run = |command: &mut Command| {
        let status = command.status().unwrap_or_else(|why| panic!("cannot start {command:?}: {why}"));
        assert!(status.success(), "{command:?} ended with {status}");
    };
    run(Command::new("go").args(["build", "-o"]).arg(&etcd).arg(".").current_dir(root.join("testing/etcd")));
    run(Command::new(&etcd).arg("--version"));
    let this = std::env::current_exe().expect("this program");
    let suites =
        ["documents::", "failures::", "joining::", "planning::", "--test-threads", "2", "--nocapture"];
    run(Command::new(this).args(suites).env_remove("STADIUM_NEWER_ETCD").env("STADIUM_ETCD", &etcd));
}
