//! `stadium load` as people and scripts meet it: scenarios that are wrong, runs against a real server, thresholds that break,
//! Ctrl-C in the middle, reports and comparisons of what was left.

use crate::binary;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use binary::{Server, stadium};

/// A scenario against the HTTP door of a server.
fn scenario(folder: &Path, http: &str, duration: &str, threshold: &str) -> String {
    let file = folder.join("health.toml");
    let text = format!(
        "name = \"health\"\nthresholds = [\"{threshold}\"]\n[targets.api]\nurl = \"http://{http}\"\n\
         metrics = \"http://{http}/metrics\"\n\
         [[phases]]\nname = \"steady\"\nduration = \"{duration}\"\nrate = 50\n\
         [[sessions]]\nname = \"health\"\nsteps = [{{ name = \"ready\", get = \"/readyz\", check = {{ status = 200 }} }}]\n"
    );
    fs::write(&file, text).expect("a file");
    file.display().to_string()
}

#[test]
fn mistakes_in_a_scenario_are_reported_with_their_line_and_a_suggestion() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wrong.toml");
    fs::write(
        &file,
        "name = \"wrong\"\n[targets.api]\nurl = \"http://127.0.0.1:1\"\n[[phases]]\nduration = \"1s\"\nrat = 5\n\
         [[sessions]]\nname = \"a\"\nsteps = [{ gett = \"/\" }]\n",
    )
    .expect("a file");
    let output = stadium(&[]).args(["load", "check"]).arg(&file).output().expect("it runs");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(printed.contains("wrong.toml:6"), "{printed}");
    assert!(printed.starts_with("error: ") && !printed.contains("error: error:"), "{printed}");
    assert!(printed.contains("`rate`") && printed.contains("`get`"), "{printed}");
    let output = stadium(&[]).args(["load", "run"]).arg(&file).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "nothing is sent");
}

#[test]
fn a_run_leaves_a_report_and_two_of_them_can_be_compared() {
    let server = Server::trial();
    let folder = tempfile::tempdir().expect("a folder");
    let file = scenario(folder.path(), &server.address("http"), "2s", "response.p99 < 5s");
    for name in ["one", "two"] {
        let out = folder.path().join(name);
        let output =
            stadium(&[]).args(["load", "run", "--out"]).arg(&out).arg(&file).output().expect("it runs");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
        assert!(printed.contains("ready") && printed.contains("held"), "{printed}");
        let result: serde_json::Value =
            serde_json::from_slice(&fs::read(out.join("result.json")).expect("a result")).expect("JSON");
        assert_eq!(result["total"]["answered"], 100);
        assert_eq!(result["measured_s"].as_f64().map(f64::round), Some(2.0));
        assert_eq!(result["total"]["statuses"]["200"], 100);
        assert!(
            !result["scraped"].as_array().expect("a list").is_empty(),
            "the server's own figures are there"
        );
        let report = fs::read_to_string(out.join("report.html")).expect("a report");
        assert!(report.contains("<svg") && report.contains("health"));
    }
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let output = stadium(&[]).args(["load", "compare"]).arg(&one).arg(&two).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = folder.path().join("again.html");
    let output = stadium(&[]).args(["load", "report", "-o"]).arg(&page).arg(&one).output().expect("it runs");
    assert!(output.status.success() && page.exists());
}

#[test]
fn a_threshold_that_does_not_hold_decides_the_exit_code() {
    let server = Server::trial();
    let folder = tempfile::tempdir().expect("a folder");
    let file = scenario(folder.path(), &server.address("http"), "1s", "response.p99 < 1ns");
    let output = stadium(&[]).args(["load", "run", "--quiet", &file]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(99), "{}", String::from_utf8_lossy(&output.stderr));
    let output = stadium(&[])
        .args(["load", "run", "--quiet", "--threshold", "respons.p99 < 1s", &file])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2), "a threshold that is none");
}

#[test]
fn a_target_that_is_not_there_is_a_failure_that_names_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = scenario(folder.path(), "127.0.0.1:1", "1s", "errors <= 100%");
    let output = stadium(&[]).args(["load", "run", "--quiet", &file]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("connect: refused"));
}

#[test]
fn ctrl_c_leaves_a_report_marked_as_partial() {
    let server = Server::trial();
    let folder = tempfile::tempdir().expect("a folder");
    let file = scenario(folder.path(), &server.address("http"), "1m", "errors < 1%");
    let out = folder.path().join("partial");
    // A shell in the background would have it ignore the signal.
    let child = std::process::Command::new("env")
        .arg("--default-signal=INT")
        .arg(stadium(&[]).get_program())
        .args(["load", "run", "--quiet", "--out"])
        .arg(&out)
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    std::thread::sleep(Duration::from_secs(3));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let result: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("result.json")).expect("a result")).expect("JSON");
    assert_eq!(result["outcome"], "interrupted");
    assert!(
        result["total"]["answered"].as_u64().is_some_and(|answered| answered > 50),
        "{}",
        result["total"]
    );
    let report = fs::read_to_string(out.join("report.html")).expect("a report");
    assert!(report.to_lowercase().contains("partial"), "the report states that it is partial");
}

/// All that a page sends until the run ends.
fn watch(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the page listens");
    stream.set_read_timeout(Some(binary::PATIENCE)).expect("an open socket");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
        .expect("it is sent");
    let mut received = Vec::new();
    // The end of the process cuts the stream.
    let _ = stream.read_to_end(&mut received);
    String::from_utf8_lossy(&received).into_owned()
}

/// Every file below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn no_secret_is_in_any_output_of_a_run() {
    const BY_FLAG: &str = "hunter2-by-flag \"9\"";
    const BY_ENV: &str = "hunter2-by-env";
    const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.aHVudGVyMi1ieS1sb29r";
    let server = Server::trial();
    let http = server.address("http");
    let folder = tempfile::tempdir().expect("a folder");
    let admin = fs::read_to_string(server.data().join("admin.key")).expect("an admin key").trim().to_owned();
    fs::write(folder.path().join("admin.key"), format!("{admin}\n")).expect("a file");
    let file = folder.path().join("secrets.toml");
    let text = format!(
        r#"# Authorization: Bearer {admin}
name = "secrets {JWT}"
description = "hunter2-by-env is in here"
thresholds = ['step("GET /readyz?key=hunter2-by-query").response.p99 < 10s', 'errors <= 100%']
[variables]
api_key = "hunter2-by-name"
place = "hall"
[secrets]
admin = {{ file = "admin.key" }}
own = {{ env = "HUNTER" }}
given = {{ env = "NOT_THERE" }}
[targets.api]
url = "http://{http}"
headers = {{ authorization = "Bearer ${{admin}}", x-key = "${{api_key}}", x-own = "${{own}}", x-plain = "Basic aHVudGVyMjpodW50ZXIy" }}
metrics = "http://ada:hunter2-by-url@{http}/no-such-page-hunter2-by-env"
[targets.broker]
url = "mqtt://{mqtt}"
[[phases]]
name = "phase hunter2-by-env"
duration = "3s"
rate = 20
[[sessions]]
name = "session hunter2-by-env"
target = "api"
steps = [
  {{ name = "GET /readyz?key=hunter2-by-query", get = "/readyz?key=hunter2-by-query" }},
  {{ name = "mine", get = "/api/keys", check = {{ status = 200, json = {{ "$.password" = "hunter2-by-check" }} }}, on_failure = "continue" }},
  {{ name = "printed", post = "/api/push", json = {{ password = "hunter2-by-json", token = "${{given}}" }}, on_failure = "continue" }},
]
[[fleets]]
name = "fleet"
target = "broker"
devices = 1
user_name = "ada"
password = "${{own}}"
"#,
        mqtt = server.address("mqtt"),
    );
    fs::write(&file, &text).expect("a file");
    let stored = folder.path().join("stored");
    fs::create_dir(&stored).expect("a folder");
    let url = format!("file://{}", stored.display());
    let mut printed: Vec<(String, String)> = Vec::new();
    for (name, workers) in
        [("alone", &[][..]), ("workers", &["--processes", "2", "--worker-key", "hunter2-by-worker"][..])]
    {
        let mut child = stadium(&[
            "load",
            "run",
            "--plain",
            "--page",
            "127.0.0.1:0",
            "--upload",
            &url,
            "--json",
            "--out",
        ])
        .arg(folder.path().join(name))
        .arg(&file)
        .args(["--set", &format!("given={BY_FLAG}"), "--set=api_key=hunter2-by-set"])
        .args(["--threshold", "errors < 100%"])
        .args(workers)
        .env("HUNTER", BY_ENV)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut noted = String::new();
        let page = loop {
            let from = noted.len();
            assert!(lines.read_line(&mut noted).expect("it writes") > 0, "{noted}");
            if let Some((_, page)) = noted[from..].split_once("live page: http://") {
                break page.trim().trim_end_matches('/').to_owned();
            }
        };
        let events = std::thread::spawn({
            let page = page.clone();
            move || watch(&page, "/events")
        });
        printed.push((format!("{name}: page"), watch(&page, "/")));
        lines.read_to_string(&mut noted).expect("it ends");
        let output = child.wait_with_output().expect("it ends");
        let events = events.join().expect("it was watched");
        assert!(events.contains("mine"), "the page shows the run: {events}");
        printed.push((format!("{name}: events"), events));
        printed.push((format!("{name}: notes"), noted.clone()));
        printed.push((format!("{name}: output"), String::from_utf8_lossy(&output.stdout).into_owned()));
        let result: serde_json::Value = serde_json::from_slice(
            &fs::read(folder.path().join(name).join("result.json")).expect("a result"),
        )
        .expect("JSON");
        // They are hidden, and they were sent: the server knows the key.
        assert!(result["steps"][1]["requests"]["statuses"]["200"].as_u64() > Some(40), "{result:#}");
        assert_eq!(result["thresholds"][0]["passed"], true, "{}", result["thresholds"]);
        let scenario = result["scenario"].as_str().expect("a text");
        assert!(scenario.contains("place = \"hall\"") && scenario.contains("<secret>"), "{scenario}");
    }
    let alone = folder.path().join("alone");
    for arguments in [&["report", "-o"][..], &["report"][..], &["compare", "-o"][..]] {
        let mut again = stadium(&["load"]);
        again.args(arguments);
        if arguments.contains(&"-o") {
            again.arg(folder.path().join(format!("alone/{}-again.html", arguments[0])));
        }
        again.arg(&alone);
        if arguments[0] == "compare" {
            again.arg(folder.path().join("workers"));
        }
        let output = again.output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        printed.push((format!("{arguments:?}"), String::from_utf8_lossy(&output.stdout).into_owned()));
    }
    let search = stadium(&[
        "load",
        "search",
        "--from",
        "5",
        "--to",
        "5",
        "--repeats",
        "1",
        "--trial",
        "1",
        "--warm-up",
        "0",
    ])
    .args(["--set", &format!("given={BY_FLAG}"), "--out"])
    .arg(folder.path().join("workers/search"))
    .arg(&file)
    .env("HUNTER", BY_ENV)
    .output()
    .expect("it runs");
    printed.push(("search".to_owned(), format!("{search:?}")));
    // Mistakes in a scenario or a flag are reported without secrets as well.
    for wrong in [
        &["load", "run", "--set", "nothing=hunter2-by-flag"][..],
        &["load", "run", "--set", "hunter2-by-flag"][..],
        &["load", "run"][..],
    ] {
        let output = stadium(wrong).arg(&file).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        printed.push((format!("{wrong:?}"), format!("{output:?}")));
    }
    let broken = folder.path().join("broken.toml");
    fs::write(&broken, "[variables]\npassword = \"hunter2-by-name\" x\n").expect("a file");
    let output = stadium(&["load", "check"]).arg(&broken).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    printed.push(("broken".to_owned(), format!("{output:?}")));

    let outputs = files_below(&alone)
        .into_iter()
        .chain(files_below(&folder.path().join("workers")))
        .chain(files_below(&stored));
    for path in outputs {
        printed.push((
            path.display().to_string(),
            String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned(),
        ));
    }
    assert!(
        printed.iter().filter(|(name, _)| name.ends_with(".csv")).count() >= 8,
        "files were looked through"
    );
    for (name, text) in &printed {
        for secret in
            ["hunter2", "aHVudGVyMjpodW50ZXIy", "aHVudGVyMi1ieS1sb29r", admin.as_str(), &admin[..20]]
        {
            if let Some(at) = text.find(secret) {
                let from =
                    (0..=at.saturating_sub(80)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                panic!("{secret} is in {name}: {}", text[from..].chars().take(240).collect::<String>());
            }
        }
    }
}

/// A worker that ends with its standard input, and where it listens.
fn worker(name: &str) -> (std::process::Child, String) {
    let mut child = stadium(&[])
        .args([
            "load",
            "worker",
            "--listen",
            "127.0.0.1:0",
            "--name",
            name,
            "--loops",
            "1",
            "--until-input-ends",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe"))
        .read_line(&mut line)
        .expect("it prints where it listens");
    let address =
        line.trim_end().strip_prefix(&format!("worker {name} listens on ")).expect(&line).to_owned();
    (child, address)
}

#[test]
fn workers_share_a_run_and_one_that_dies_is_named() {
    let server = Server::trial();
    let folder = tempfile::tempdir().expect("a folder");
    let (mut first, one) = worker("ann");
    let (mut second, two) = worker("ben");
    let run = |duration: &str, out: &Path| {
        let file = scenario(folder.path(), &server.address("http"), duration, "errors < 1%");
        let mut run = stadium(&[]);
        run.args(["load", "run", "--quiet", "--workers", &format!("{one},{two}"), "--out"])
            .arg(out)
            .arg(file);
        run
    };
    let result = |out: &Path| -> serde_json::Value {
        serde_json::from_slice(&fs::read(out.join("result.json")).expect("a result")).expect("JSON")
    };
    let out = folder.path().join("both");
    let output = run("2s", &out).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let both = result(&out);
    assert_eq!(both["total"]["answered"], 100);
    let names: Vec<_> =
        both["workers"].as_array().expect("workers").iter().map(|own| own["name"].clone()).collect();
    assert_eq!(names, ["ann", "ben"]);

    let out = folder.path().join("lost");
    let running = run("6s", &out).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(3));
    second.kill().expect("it was there");
    second.wait().expect("it is gone");
    let output = running.wait_with_output().expect("it ends");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("ben") && printed.contains("lost"), "{printed}");
    let lost = result(&out);
    let outcomes: Vec<bool> =
        lost["workers"].as_array().expect("workers").iter().map(|own| own["lost"].is_string()).collect();
    assert_eq!(outcomes, [false, true], "{}", lost["workers"]);
    assert!(
        !lost["generator"]["doubts"].as_array().expect("a list").is_empty(),
        "half of the load was missing"
    );

    drop(first.stdin.take());
    assert!(first.wait().expect("it ends").success(), "its owner is gone");
}
