//! `stadium load` as people and scripts meet it: scenarios that are wrong, runs against a real server, thresholds that break,
//! Ctrl-C in the middle, reports and comparisons of what was left.

mod binary;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
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
fn what_is_wrong_with_a_scenario_is_said_with_its_line_and_a_suggestion() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wrong.toml");
    fs::write(
        &file,
        "name = \"wrong\"\n[targets.api]\nurl = \"http://127.0.0.1:1\"\n[[phases]]\nduration = \"1s\"\nrat = 5\n\
         [[sessions]]\nname = \"a\"\nsteps = [{ gett = \"/\" }]\n",
    )
    .expect("a file");
    let output = stadium(&[]).args(["load", "check"]).arg(&file).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("wrong.toml:6"), "{said}");
    assert!(said.starts_with("error: ") && !said.contains("error: error:"), "{said}");
    assert!(said.contains("`rate`") && said.contains("`get`"), "{said}");
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
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("ready") && said.contains("held"), "{said}");
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
    assert_eq!(output.status.code(), Some(2), "a threshold that says nothing");
}

#[test]
fn a_target_that_is_not_there_is_a_failure_that_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = scenario(folder.path(), "127.0.0.1:1", "1s", "errors <= 100%");
    let output = stadium(&[]).args(["load", "run", "--quiet", &file]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("connect: refused"));
}

#[test]
fn ctrl_c_leaves_a_partial_report_that_says_so() {
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
    assert!(report.to_lowercase().contains("partial"), "the report says that it is partial");
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
        .expect("it says where it listens");
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
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("ben") && said.contains("lost"), "{said}");
    let lost = result(&out);
    let fates: Vec<bool> =
        lost["workers"].as_array().expect("workers").iter().map(|own| own["lost"].is_string()).collect();
    assert_eq!(fates, [false, true], "{}", lost["workers"]);
    assert!(
        !lost["generator"]["doubts"].as_array().expect("a list").is_empty(),
        "half of the load was missing"
    );

    drop(first.stdin.take());
    assert!(first.wait().expect("it ends").success(), "its owner is gone");
}
