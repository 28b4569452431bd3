//! The other load generators: their arguments and their reports.
//!
//! Each runs alone on the client's core and prints its own figures; here they become a rate and a count of failures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::sizes::Sizes;
use crate::process::{self, Cores};
use crate::server::Places;

/// What a generator reached: requests or sessions a second, and how many of them failed.
pub(super) struct Reached {
    pub(super) per_second: f64,
    pub(super) failed: f64,
}

/// Runs a program on the client's core and returns what it printed.
pub(super) fn output(command: &mut Command) -> Result<String> {
    let shown = process::shown(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {shown}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{shown} ended with {}: {}{text}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(text)
}

fn after<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let rest = &text[text.find(label)? + label.len()..];
    rest.split_whitespace().next()
}

fn number(text: &str, label: &str) -> Result<f64> {
    after(text, label).and_then(|word| word.parse().ok()).with_context(|| format!("no {label:?} in: {text}"))
}

/// wrk: one thread.
pub(super) fn wrk(url: &str, sizes: &Sizes) -> Result<Reached> {
    let mut wrk = Cores::Second.command(Path::new("wrk"));
    wrk.args(["-t1", &format!("-c{}", sizes.connections), &format!("-d{}s", sizes.seconds), url]);
    let report = output(&mut wrk)?;
    let failed =
        after(&report, "Non-2xx or 3xx responses:").and_then(|word| word.parse().ok()).unwrap_or(0.0);
    Ok(Reached { per_second: number(&report, "Requests/sec:")?, failed })
}

/// ab, with kept connections.
pub(super) fn ab(url: &str, sizes: &Sizes) -> Result<Reached> {
    let mut ab = Cores::Second.command(Path::new("ab"));
    ab.args(["-q", "-k", "-c", &sizes.connections.to_string()]);
    // In this order: -t sets -n, to too few.
    ab.args(["-t", &sizes.seconds.to_string(), "-n", "10000000", &format!("{url}/")]);
    let report = output(&mut ab)?;
    Ok(Reached {
        per_second: number(&report, "Requests per second:")?,
        failed: number(&report, "Failed requests:")?,
    })
}

/// oha.
pub(super) fn oha(places: &Places, url: &str, sizes: &Sizes) -> Result<Reached> {
    let mut oha = Cores::Second.command(&peer(places, "oha"));
    oha.args(["--no-tui", "--output-format", "json", "--insecure", "-c", &sizes.connections.to_string()]);
    oha.args(["-z", &format!("{}s", sizes.seconds), url]);
    let report: Value = serde_json::from_str(&output(&mut oha)?).context("oha's JSON")?;
    let per_second = report["summary"]["requestsPerSec"].as_f64().context("oha reported no rate")?;
    let failed = report["statusCodeDistribution"].as_object().map_or(0.0, |codes| {
        codes.iter().filter(|(code, _)| *code != "200").filter_map(|(_, count)| count.as_f64()).sum()
    });
    Ok(Reached { per_second, failed })
}

/// k6 with one of the scripts in bench/peers/load.
pub(super) fn k6(places: &Places, script: &str, url: &str, sizes: &Sizes) -> Result<Reached> {
    let mut k6 = Cores::Second.command(&peer(places, "k6"));
    k6.args(["run", "--quiet", "--no-usage-report", "-e", &format!("USERS={}", sizes.connections)]);
    k6.args(["-e", &format!("SECONDS={}", sizes.seconds), "-e", &format!("URL={url}")]);
    k6.arg(Path::new("bench/peers/load").join(script));
    let report = output(&mut k6)?;
    let line = report.lines().rev().find(|line| line.starts_with('{')).context("k6 printed no summary")?;
    let report: Value = serde_json::from_str(line)?;
    let value = |name: &str| report[name].as_f64().with_context(|| format!("k6 reported no {name}"));
    Ok(Reached { per_second: value("per_second")?, failed: value("failed")? })
}

/// What a Tsung user does over and over.
pub(super) enum Session {
    /// One GET.
    Get,
    /// Log in, list, balance, vote.
    Vote,
}

/// Tsung: users that never stop, each on a connection of its own.
pub(super) fn tsung(folder: &Path, port: u16, session: &Session, sizes: &Sizes) -> Result<Reached> {
    // It reports every ten seconds what it did; the first of them warm it up.
    let seconds = sizes.seconds.max(10) + 15;
    let requests = match session {
        Session::Get => "<request><http url='/' method='GET' version='1.1'/></request>".to_owned(),
        Session::Vote => [
            "<request><match do='log' when='nomatch'>200 OK</match><dyn_variable name='token' jsonpath='$.token'/>\
             <http url='/login' method='POST' version='1.1' content_type='application/json' contents='{\"user\":\"user-1\"}'/></request>",
            "<request subst='true'><match do='log' when='nomatch'>200 OK</match><dyn_variable name='candidate' jsonpath='$.candidates[1].id'/>\
             <http url='/candidates' method='GET' version='1.1'><http_header name='Authorization' value='Bearer %%_token%%'/></http></request>",
            "<request subst='true'><match do='log' when='nomatch'>\"balance\":[1-9]</match>\
             <http url='/balance' method='GET' version='1.1'><http_header name='Authorization' value='Bearer %%_token%%'/></http></request>",
            "<request subst='true'><match do='log' when='nomatch'>\"ok\":true</match>\
             <http url='/vote' method='POST' version='1.1' content_type='application/json' contents='{\"candidate\":%%_candidate%%}'>\
             <http_header name='Authorization' value='Bearer %%_token%%'/></http></request>",
        ]
        .concat(),
    };
    let dtd = "/usr/share/tsung/tsung-1.0.dtd";
    let scenario = format!(
        "<?xml version='1.0'?><!DOCTYPE tsung SYSTEM '{dtd}'>\n<tsung loglevel='error'>\n\
         <clients><client host='localhost' use_controller_vm='true' maxusers='30000'/></clients>\n\
         <servers><server host='127.0.0.1' port='{port}' type='tcp'/></servers>\n\
         <load duration='{seconds}' unit='second'><arrivalphase phase='1' duration='{seconds}' unit='second'>\
         <users maxnumber='{users}' arrivalrate='{users}' unit='second'/></arrivalphase></load>\n\
         <sessions><session name='s' probability='100' type='ts_http'>\
         <for from='1' to='1000000000' incr='1' var='i'>{requests}</for></session></sessions>\n</tsung>\n",
        users = sizes.connections,
    );
    let logs = folder.join("tsung");
    fs::create_dir_all(&logs)?;
    let file = folder.join("tsung.xml");
    fs::write(&file, scenario)?;
    let mut tsung = Cores::Second.command(Path::new("tsung"));
    // HOME: it wants to write its cookie there.
    tsung.arg("-f").arg(&file).arg("-l").arg(&logs).args(["-r", "ssh", "start"]).env("HOME", folder);
    output(&mut tsung)?;
    let log = find(&logs, "tsung.log").context("Tsung left no log")?;
    let report = fs::read_to_string(log)?;
    let (per_second, failed) =
        tsung_rate(&report).with_context(|| format!("Tsung's log has no rate: {report}"))?;
    Ok(match session {
        Session::Get => Reached { per_second, failed },
        Session::Vote => Reached { per_second: per_second / 4.0, failed },
    })
}

/// Requests a second between the first and the last of Tsung's reports, without the one that it writes at its end; and
/// matches that failed.
fn tsung_rate(log: &str) -> Option<(f64, f64)> {
    let mut at = 0.0;
    let mut counts: Vec<(f64, f64)> = Vec::new();
    let mut failed = 0.0;
    for line in log.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["#", "stats:", "dump", "at", time] => at = time.parse().ok()?,
            ["stats:", "request", .., count] => counts.push((at, count.parse().ok()?)),
            ["stats:", "nomatch", .., count] => failed = count.parse().ok()?,
            _ => {}
        }
    }
    counts.dedup_by_key(|(at, _)| *at as u64);
    let (first, last) = (counts.first()?, counts.get(counts.len().checked_sub(2)?)?);
    (last.0 > first.0).then(|| ((last.1 - first.1) / (last.0 - first.0), failed))
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        if path.is_dir() { find(&path, name) } else { (entry.file_name() == *name).then_some(path) }
    })
}

/// Versions of those that are no packages of Debian.
pub(super) fn versions(places: &Places) -> String {
    ["oha", "k6"]
        .map(|name| {
            output(Command::new(peer(places, name)).arg("--version")).map_or_else(
                |_| name.to_owned(),
                |report| report.lines().next().unwrap_or(name).trim().to_owned(),
            )
        })
        .join(", ")
}

fn peer(places: &Places, name: &str) -> PathBuf {
    places.target.join("peers/bin").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tsungs_rate_is_between_its_reports() {
        let log = "# stats: dump at 1000\nstats: users 64 64\nstats: request 2000 10 1 50 2 0 2000\n\
                   # stats: dump at 1010\nstats: request 50000 10 1 50 2 0 52000\nstats: nomatch 1 3\n\
                   # stats: dump at 1020\nstats: request 50000 10 1 50 2 0 102000\n\
                   # stats: dump at 1021\nstats: request 1 10 1 50 2 0 102001\n";
        assert_eq!(tsung_rate(log), Some((5_000.0, 3.0)));
        assert_eq!(tsung_rate("# stats: dump at 1000\n"), None);
    }
}
