//! The command line itself: help, versions, wrong usage, exit codes, output streams.
//!
//! Black box: the built binary alone, without any server.

use crate::binary;

use binary::{err, json, out, run, run_in, stadium};

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let help = run(&["--help"]);
    assert!(help.status.success());
    let text = out(&help);
    for command in [
        "init",
        "doctor",
        "apply",
        "export",
        "api",
        "profile",
        "serve",
        "demo",
        "push",
        "queue",
        "journal",
        "device",
        "key",
        "load",
        "config",
        "openapi",
        "health",
        "completions",
        "man",
    ] {
        assert!(text.contains(&format!("\n  {command} ")), "{command} is not in {text}");
    }
    assert!(text.contains("Exit codes: 0 done; 1 failed"), "{text}");
}

#[test]
fn each_command_explains_itself() {
    for command in [
        &["serve"][..],
        &["init"],
        &["doctor"],
        &["apply"],
        &["export"],
        &["api"],
        &["profile", "set"],
        &["demo"],
        &["push"],
        &["device"],
        &["device", "list"],
        &["device", "show"],
        &["device", "kick"],
        &["device", "passwd"],
        &["queue", "put"],
        &["queue", "work"],
        &["queue", "redrive"],
        &["journal", "repair"],
        &["key", "create"],
        &["key", "list"],
        &["key", "revoke"],
        &["load", "swarm"],
        &["memcache", "set"],
        &["memcache", "bench"],
        &["config", "check"],
        &["config", "show"],
        &["config", "reference"],
        &["config", "sample"],
        &["openapi"],
        &["health"],
        &["completions"],
        &["man"],
    ] {
        let mut arguments = command.to_vec();
        arguments.push("--help");
        let help = run(&arguments);
        assert!(
            help.status.success() && out(&help).contains("Usage: stadium"),
            "{command:?}: {}",
            err(&help)
        );
    }
}

#[test]
fn serve_has_a_flag_for_every_listener() {
    let text = out(&run(&["serve", "--help"]));
    for flag in [
        "--mqtt", "--mqtts", "--ws", "--wss", "--http", "--rpc", "--data", "--loops", "--trial", "--config",
        "--set",
    ] {
        assert!(text.contains(flag), "{flag} is not in {text}");
    }
}

#[test]
fn wrong_usage_exits_with_2_and_names_the_way_out() {
    for arguments in [
        &["sevre"][..],
        &["serve", "--lops", "2"],
        &["push", "everybody"],
        &["push", "kiosk-7", "hello"],
        &["push", "everybody", "hello", "--qos", "2"],
        &["push", "everybody", "hello", "--expiry", "0"],
        &["config", "show", "--set", "loops=2"],
        &["key", "create", "k", "--role", "god"],
        &["completions", "tcsh"],
    ] {
        let failed = run(arguments);
        assert_eq!(failed.status.code(), Some(2), "{arguments:?}: {}", err(&failed));
        assert!(err(&failed).contains("error:"), "{arguments:?}");
        assert!(out(&failed).is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_server_that_is_not_there_is_a_failure_that_names_it() {
    let failed = run(&["push", "everybody", "hello", "--url", "http://127.0.0.1:1", "--key", "k"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(err(&failed).contains("http://127.0.0.1:1 cannot be reached"), "{}", err(&failed));
    let failed = run(&["health", "--url", "http://127.0.0.1:1", "--json"]);
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(json(&failed)["exit_code"], 1);
}

#[test]
fn no_colours_where_nobody_watches() {
    let failed = run(&["health", "--url", "http://127.0.0.1:1"]);
    assert!(!err(&failed).contains('\x1b') && !out(&run(&["config", "show"])).contains('\x1b'));
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let text = out(&run(&["completions", shell]));
        assert!(text.contains("passwd") && text.contains("swarm"), "{shell}");
    }
}

#[test]
fn each_command_has_a_manual_page() {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let written = run_in(folder.path(), &["man", "share/man1"]);
    assert!(written.status.success(), "{}", err(&written));
    let page = |name: &str| std::fs::read_to_string(folder.path().join("share/man1").join(name));
    let serve = page("stadium-serve.1").expect("it was written");
    assert!(serve.contains(".TH stadium\\-serve 1") || serve.contains(".TH stadium-serve 1"), "{serve}");
    assert!(serve.contains("trial"), "{serve}");
    for name in ["stadium.1", "stadium-queue-put.1", "stadium-man.1"] {
        assert!(page(name).is_ok(), "{name}");
    }
    let refused = run_in(folder.path(), &["man", "/proc/man1"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("/proc/man1"), "{}", err(&refused));
}

#[test]
fn openapi_describes_the_push() {
    let api = json(&run(&["openapi"]));
    assert!(api["paths"]["/api/push"]["post"].is_object());
}

#[test]
fn passwords_are_hashed_into_the_file_and_never_printed() {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Stdio;

    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let file = directory.path().join("passwords");
    let mut child = stadium(&["device", "passwd", "ann", "--group", "vip", "--file", "passwords", "--json"])
        .current_dir(directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be run");
    child.stdin.take().expect("it is piped").write_all(b"secret-7\n").expect("it reads");
    let done = child.wait_with_output().expect("it ends");
    assert_eq!(json(&done)["done"], "added", "{}", err(&done));
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert!(text.starts_with("ann:$argon2id$") && text.trim_end().ends_with(":vip"), "{text}");
    assert!(!text.contains("secret-7") && !out(&done).contains("secret-7"));
    let mode = std::fs::metadata(&file).expect("it exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
