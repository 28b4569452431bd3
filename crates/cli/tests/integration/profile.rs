//! Profiles and `stadium api`: which server a command talks to, with which key, and any request to it.
//!
//! Black box: the built binary, and users with homes of their own.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::binary::{self, Server, err, json, out};

/// A user with a home of its own, so with profiles of its own.
struct User {
    home: tempfile::TempDir,
}

impl User {
    fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a temporary directory can be made") }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = binary::stadium(arguments);
        command.env_remove("STADIUM_PROFILES_FILE").env("XDG_CONFIG_HOME", self.home.path());
        command.current_dir(self.home.path());
        command
    }

    fn runs(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the binary can be run")
    }

    fn does(&self, arguments: &[&str]) -> String {
        let done = self.runs(arguments);
        assert!(done.status.success(), "{arguments:?}: {}", err(&done));
        out(&done)
    }

    fn fails(&self, code: i32, arguments: &[&str], why: &str) {
        let failed = self.runs(arguments);
        assert_eq!(failed.status.code(), Some(code), "{arguments:?}: {} {}", out(&failed), err(&failed));
        assert!(err(&failed).contains(why), "{arguments:?}: {why:?} is not in {}", err(&failed));
    }

    fn given(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary can be run");
        child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
        child.wait_with_output().expect("it ends")
    }

    fn file(&self) -> std::path::PathBuf {
        self.home.path().join("stadium/config.toml")
    }
}

fn secret(data: &Path) -> String {
    std::fs::read_to_string(data.join("admin.key")).expect("the server made it").trim().to_owned()
}

#[test]
fn a_profile_replaces_the_flags_of_every_command() {
    let server = Server::trial();
    let url = server.ready["http_url"].as_str().expect("it is text").to_owned();
    let key = secret(server.data());
    let address = url.strip_prefix("http://").expect("it is http");
    let user = User::new();

    let set = user
        .given(&["profile", "set", "prod", "--url", address, "--key-stdin", "--use"], &format!("{key}\n"));
    assert!(set.status.success(), "{}", err(&set));
    let mode = std::fs::metadata(user.file()).expect("it was made").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    user.does(&["queue", "declare", "mails"]);
    assert!(user.does(&["queue", "list"]).contains("mails"));
    for shown in [user.does(&["profile", "list"]), user.does(&["profile", "show", "--json"])] {
        assert!(shown.contains(&url) && !shown.contains(&key), "{shown}");
    }

    // The directory's address and key, and the app that commands mean.
    let data = server.data().display().to_string();
    user.does(&["profile", "set", "local", "--data", &data, "--app", "shop"]);
    user.does(&["app", "set", "shop", "--profile", "local"]);
    user.does(&["device", "set", "till-1", "--profile", "local"]);
    let devices = user.does(&["device", "list", "--app", "shop", "--json"]);
    assert!(devices.contains("till-1"), "{devices}");

    // Flags win over the environment, and the environment over the current profile.
    let dead = "http://127.0.0.1:1";
    let failed = user.command(&["queue", "list"]).env("STADIUM_URL", dead).output().expect("it runs");
    assert!(err(&failed).contains("127.0.0.1:1 cannot be reached"), "{}", err(&failed));
    assert!(err(&failed).contains("the address is of STADIUM_URL"), "{}", err(&failed));
    for flags in [["--url", &url], ["--profile", "local"]] {
        let mut command = user.command(&[&["queue", "list", "--json"][..], &flags].concat());
        let done = command.env("STADIUM_URL", dead).env("STADIUM_KEY", &key).output().expect("it runs");
        assert!(done.status.success(), "{flags:?}: {}", err(&done));
    }

    user.does(&["profile", "remove", "prod"]);
    assert!(!std::fs::read_to_string(user.file()).expect("it is there").contains(&key));
    user.fails(2, &["queue", "list", "--profile", "prod"], "there is no profile \"prod\"");
}

#[test]
fn the_key_of_a_profile_goes_to_its_server_only() {
    let (ours, other) = (Server::trial(), Server::trial());
    let user = User::new();
    let url = |server: &Server| server.ready["http_url"].as_str().expect("it is text").to_owned();
    let key_file = ours.data().join("admin.key").display().to_string();
    user.does(&["profile", "set", "ours", "--url", &url(&ours), "--key-file", &key_file, "--use"]);
    user.does(&["key", "list"]);
    user.does(&["key", "list", "--url", &url(&ours)]);
    user.fails(1, &["key", "list", "--url", &url(&other)], "goes to the server of that profile only");
}

#[test]
fn keys_that_others_can_read_are_refused_with_the_way_out() {
    let user = User::new();
    user.given(&["profile", "set", "prod", "--url", "127.0.0.1:1", "--key-stdin"], "sk_secret");
    std::fs::set_permissions(user.file(), std::fs::Permissions::from_mode(0o644)).expect("it is ours");
    user.fails(2, &["profile", "list"], "chmod 600");
    user.fails(2, &["queue", "list", "--profile", "prod"], "chmod 600");
    user.fails(2, &["profile", "set", "x"], "chmod 600");
    std::fs::set_permissions(user.file(), std::fs::Permissions::from_mode(0o600)).expect("it is ours");
    user.fails(2, &["profile", "set", "x"], "needs --url or --data");
    user.fails(2, &["profile", "set", "x", "--url", "ftp://a"], "over http or https");
    user.fails(2, &["profile", "set", "a/b", "--url", "127.0.0.1:1"], "letters, digits");
    user.fails(2, &["profile", "use", "x"], "there is no profile \"x\"");
    let text = std::fs::read_to_string(user.file()).expect("it is there");
    assert!(text.contains("sk_secret") && !text.contains("[profiles.x]"), "{text}");
}

#[test]
fn api_sends_any_request_and_forwards_the_answer() {
    let server = Server::trial();
    let data = server.data().display().to_string();
    let user = User::new();
    user.does(&["profile", "set", "local", "--data", &data, "--use"]);

    user.does(&["api", "PUT", "/api/queues/mails", "-f", "attempts_max=3"]);
    let queue = json(&user.runs(&["api", "get", "/api/queues/mails"]));
    assert_eq!(queue["settings"]["attempts_max"], 3);
    let put = user.given(
        &["api", "POST", "/api/queues/mails/jobs", "--input", "-", "--id", "one", "--include"],
        r#"{"payload": "a letter"}"#,
    );
    assert!(put.status.success(), "{}", err(&put));
    assert!(out(&put).starts_with("HTTP/1.1 201") && out(&put).contains("content-type: "), "{}", out(&put));

    // A refusal: its body on standard output, its words on standard error.
    let refused = user.runs(&["api", "PUT", "/api/queues/mails", "-f", "attempts_max=0"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        json(&refused)["code"].is_string() && err(&refused).contains("attempts_max"),
        "{}",
        err(&refused)
    );
    let unknown = user.runs(&["api", "GET", "/api/nothing", "-H", "Authorization: Bearer wrong"]);
    assert!(err(&unknown).contains("error:"), "{}", err(&unknown));
    user.fails(2, &["api", "FETCH", "/api/queues"], "GET, POST, PUT, PATCH or DELETE");
    user.fails(2, &["api", "GET", "api/queues"], "a path begins with `/`");
    // Nothing but text is no JSON: the figures of Prometheus.
    assert!(user.does(&["api", "GET", "/metrics"]).contains("# TYPE "));
}

#[test]
fn tables_fit_into_the_columns_that_there_are() {
    let server = Server::trial();
    let data = server.data().display().to_string();
    let user = User::new();
    user.does(&["profile", "set", "local", "--data", &data, "--use"]);
    user.does(&["queue", "declare", "letters-to-all-members"]);
    user.does(&[
        "key",
        "create",
        "a-key-of-a-long-name",
        "--role",
        "worker",
        "--role",
        "sender",
        "--grant",
        "queue.put:votes",
    ]);
    user.does(&["device", "set", "phone-7", "--platform", "ios", "--tag", "vip", "--tag", "season-ticket"]);
    for list in [
        &["queue", "list"][..],
        &["key", "list"],
        &["device", "list"],
        &["app", "list"],
        &["profile", "list"],
    ] {
        let narrow = user.command(list).env("COLUMNS", "70").output().expect("it runs");
        let text = out(&narrow);
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        // A path that has no blank is never cut.
        assert!(longest <= 70 || list[0] == "profile", "{list:?}: {longest} in\n{text}");
        assert!(!text.contains('\x1b'), "{text}");
        // Nothing of it is lost.
        let wide = user.does(list);
        let words = |text: &str| text.split_whitespace().filter(|word| *word != "-").count();
        assert!(wide.lines().count() > 1 && words(&text) + 8 >= words(&wide), "{text}\n{wide}");
    }
}
