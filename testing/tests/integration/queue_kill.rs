//! The server is killed with SIGKILL again and again while jobs go through it, and keeps its word.
//!
//! Acknowledged jobs are all there, exactly once; settled ones do not come back. Then the same
//! with SIGTERM, with a full disk, and with the data directory that version 1 left.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use stadium_testing::api::Api;
use stadium_testing::deadline::{PATIENCE, until, until_true};
use stadium_testing::killable::{Killable, kills};
use stadium_testing::small_disk::SmallDisk;

/// Small segments, so that a start is quick and several fit on a small disk.
const SETTINGS: &str = "[journal]\nsegment_bytes = 9437184\nreserve_bytes = 262144\n[shards]\ncount = 2\n";

/// Time for the proof after the kills, and for each kill.
const BUDGET: Duration = Duration::from_secs(60);
const BUDGET_OF_KILL: Duration = Duration::from_millis(1_500);

const QUEUE: &str = "/api/queues/kill";

/// The answers that clients got.
#[derive(Default)]
struct Answers {
    /// Payloads whose put was acknowledged, with their jobs' ids.
    put: HashMap<String, String>,
    /// Payloads that were handed out, with the ids of the jobs.
    seen: HashMap<String, String>,
    /// Payloads whose settle was acknowledged.
    settled: HashSet<String>,
    /// Payloads whose settle was sent and not answered.
    perhaps: HashSet<String>,
    /// Promises that were broken.
    broken: Vec<String>,
}

#[derive(Clone)]
struct Load {
    answers: Arc<Mutex<Answers>>,
    acknowledged: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Load {
    fn answers(&self) -> std::sync::MutexGuard<'_, Answers> {
        self.answers.lock().expect("no client panics with it")
    }

    /// Puts batch after batch; one that was not answered is sent again, with the same dedup ids.
    fn produce(&self, api: &Api, name: usize) {
        for batch in 0_u64.. {
            let payloads: Vec<String> =
                (0..=batch % 5).map(|index| format!("p{name}-{batch}-{index}")).collect();
            let filler = "x".repeat((batch % 7 * 100) as usize);
            let jobs: Vec<Value> = payloads
                .iter()
                .map(|payload| json!({"payload": format!("{payload} {filler}"), "dedup_id": payload, "key": format!("k{}", batch % 9)}))
                .collect();
            loop {
                if self.stop.load(Ordering::Relaxed) {
                    return;
                }
                let Ok((status, answer)) = api.post(&format!("{QUEUE}/jobs"), &json!({ "jobs": jobs }))
                else {
                    std::thread::yield_now();
                    continue;
                };
                match status {
                    200 | 201 => {
                        let mut answers = self.answers();
                        let placed = answer["jobs"].as_array().cloned().unwrap_or_default();
                        for (payload, job) in payloads.iter().zip(placed) {
                            let id = job["id"].as_str().unwrap_or_default().to_owned();
                            answers.put.insert(payload.clone(), id);
                            self.acknowledged.fetch_add(1, Ordering::Relaxed);
                        }
                        break;
                    }
                    429 | 503 | 504 => std::thread::yield_now(),
                    _ => {
                        self.answers()
                            .broken
                            .push(format!("a put that is right was answered {status}: {answer}"));
                        return;
                    }
                }
            }
        }
    }

    /// Reserves and settles.
    fn consume(&self, api: &Api) {
        while !self.stop.load(Ordering::Relaxed) {
            let _ = self.work(api, 200);
        }
    }

    /// One round of a consumer: how many jobs it got.
    fn work(&self, api: &Api, wait_ms: u64) -> Result<usize> {
        let settled_before = self.answers().settled.clone();
        let reserve = json!({"max": 10, "lease_ms": 1_000, "wait_ms": wait_ms});
        let (status, answer) = api.post(&format!("{QUEUE}/reserve"), &reserve)?;
        ensure!(status == 200, "{status}: {answer}");
        let jobs = answer["jobs"].as_array().context("no jobs in the answer")?.clone();
        if jobs.is_empty() {
            return Ok(0);
        }
        let mut leases = Vec::new();
        {
            let mut answers = self.answers();
            for job in &jobs {
                let text = job["payload"].as_str().context("no payload")?;
                let payload = text.split(' ').next().unwrap_or_default().to_owned();
                let id = job["id"].as_str().context("no id")?.to_owned();
                if settled_before.contains(&payload) {
                    answers.broken.push(format!("{payload} was settled and is handed out again: {job}"));
                }
                if let Some(other) = answers.seen.insert(payload.clone(), id.clone())
                    && other != id
                {
                    answers.broken.push(format!("{payload} is two jobs: {other} and {id}"));
                }
                leases.push((job["lease"].as_str().context("no lease")?.to_owned(), payload));
            }
            answers.perhaps.extend(leases.iter().map(|(_, payload)| payload.clone()));
        }
        let names: Vec<&String> = leases.iter().map(|(lease, _)| lease).collect();
        let (status, answer) = api.post("/api/leases/settle", &json!({ "leases": names }))?;
        ensure!(status == 200, "{status}: {answer}");
        let results = answer["results"].as_array().context("no results")?;
        let mut answers = self.answers();
        for ((_, payload), result) in leases.iter().zip(results) {
            if result["outcome"] == "done" || result["outcome"] == "already" {
                answers.settled.insert(payload.clone());
                self.acknowledged.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(jobs.len())
    }

    /// Works off what is left; then everything that was acknowledged must have been handed out.
    fn prove(&self, api: &Api) -> Result<()> {
        until_true(PATIENCE * 3, "the queue to be worked off", || {
            while self.work(api, 0)? > 0 {}
            let (status, stats) = api.read(QUEUE)?;
            ensure!(status == 200, "{status}: {stats}");
            let left =
                |state: &str| stats[state].as_u64().or(stats["jobs"][state].as_u64()).unwrap_or(u64::MAX);
            let left: Vec<u64> = ["delayed", "due", "reserved", "buried", "dead"].map(left).into();
            ensure!(left.iter().all(|&count| count == 0), "left: {stats}");
            Ok(true)
        })?;
        let answers = self.answers();
        ensure!(
            answers.broken.is_empty(),
            "{} promises broken: {:?}",
            answers.broken.len(),
            &answers.broken[..answers.broken.len().min(5)]
        );
        let lost: Vec<&String> =
            answers.put.keys().filter(|payload| !answers.seen.contains_key(*payload)).collect();
        ensure!(
            lost.is_empty(),
            "{} acknowledged jobs are lost, among them {:?}",
            lost.len(),
            &lost[..lost.len().min(5)]
        );
        let moved = answers.put.iter().find(|(payload, id)| answers.seen[*payload] != **id);
        ensure!(moved.is_none(), "acknowledged under one id and handed out under another: {moved:?}");
        let open = answers
            .put
            .keys()
            .find(|payload| !answers.settled.contains(*payload) && !answers.perhaps.contains(*payload));
        ensure!(open.is_none(), "never settled and not there: {open:?}");
        Ok(())
    }
}

fn load(api: &Api) -> (Load, Vec<std::thread::JoinHandle<()>>) {
    let load = Load { answers: Arc::default(), acknowledged: Arc::default(), stop: Arc::default() };
    let mut threads = Vec::new();
    for name in 0..3 {
        let (load, api) = (load.clone(), api.clone());
        threads.push(std::thread::spawn(move || load.produce(&api, name)));
    }
    for _ in 0..2 {
        let (load, api) = (load.clone(), api.clone());
        threads.push(std::thread::spawn(move || load.consume(&api)));
    }
    (load, threads)
}

fn end(load: &Load, threads: Vec<std::thread::JoinHandle<()>>) -> Result<()> {
    load.stop.store(true, Ordering::Relaxed);
    for thread in threads {
        if thread.join().is_err() {
            bail!("a client panicked");
        }
    }
    Ok(())
}

#[test]
fn kills_lose_nothing_that_was_acknowledged() -> Result<()> {
    let kills = kills()?;
    let place = tempfile::tempdir()?;
    let mut server = Killable::new(place.path(), &place.path().join("data"), SETTINGS)?;
    server.start()?;
    let began = Instant::now();
    let (load, threads) = load(&server.api());
    for kill in 0..kills {
        // Another time in each life: after so many answers.
        let until_count = load.acknowledged.load(Ordering::Relaxed) + u64::from(kill * 37 % 61);
        let acknowledged = || Ok(load.acknowledged.load(Ordering::Relaxed) >= until_count);
        until_true(PATIENCE, "answers", acknowledged).with_context(|| server.log())?;
        server.kill()?;
        server.start().with_context(|| format!("after {} kills", kill + 1))?;
    }
    end(&load, threads)?;
    load.prove(&server.api()).with_context(|| server.log())?;
    let jobs = load.answers().put.len();
    eprintln!("{kills} kills, {jobs} jobs, {:?}", began.elapsed());
    ensure!(jobs > 5 * kills as usize, "only {jobs} jobs were put: the load was none");
    let budget = BUDGET + BUDGET_OF_KILL * kills;
    ensure!(began.elapsed() < budget, "it took {:?}", began.elapsed());
    Ok(())
}

#[test]
fn a_server_that_is_asked_to_stop_exits_with_0_and_leaves_a_checkpoint() -> Result<()> {
    let place = tempfile::tempdir()?;
    let data = place.path().join("data");
    let mut server = Killable::new(place.path(), &data, SETTINGS)?;
    server.start()?;
    let (load, threads) = load(&server.api());
    until_true(PATIENCE, "answers", || Ok(load.acknowledged.load(Ordering::Relaxed) >= 200))?;
    let status = server.terminate(PATIENCE)?;
    ensure!(status.code() == Some(0), "it ended with {status}: {}", server.log());
    ensure!(has_checkpoint(&data)?, "no checkpoint below {}", data.display());
    server.start()?;
    end(&load, threads)?;
    load.prove(&server.api()).with_context(|| server.log())
}

fn has_checkpoint(folder: &Path) -> Result<bool> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && has_checkpoint(&path)? {
            return Ok(true);
        }
        if path.extension().is_some_and(|extension| extension == "checkpoint") {
            return Ok(true);
        }
    }
    Ok(false)
}

#[test]
fn a_full_disk_refuses_keeps_its_word_and_serves_again_when_there_is_room() -> Result<()> {
    let place = tempfile::tempdir()?;
    let disk = place.path().join("disk");
    std::fs::create_dir(&disk)?;
    let _mounted = SmallDisk::mount(&disk)?;
    let mut server = Killable::new(place.path(), &disk.join("data"), SETTINGS)?;
    server.start()?;
    let api = server.api();
    // Somebody else fills the disk.
    let ballast = disk.join("ballast");
    let filled = std::fs::write(&ballast, vec![1; 64 << 20]);
    ensure!(filled.is_err(), "the disk is larger than it should be");

    let load = Load { answers: Arc::default(), acknowledged: Arc::default(), stop: Arc::default() };
    let big = "y".repeat(20_000);
    let mut number = 0;
    let refusal = until(PATIENCE, "the full disk to be noticed", || {
        let payload = format!("full-{number}");
        number += 1;
        let body = json!({"payload": format!("{payload} {big}"), "dedup_id": payload});
        let (status, answer) = api.post(&format!("{QUEUE}/jobs"), &body)?;
        if status == 201 {
            load.answers().put.insert(payload, answer["id"].as_str().context("no id")?.to_owned());
            return Ok(None);
        }
        Ok(Some((status, answer)))
    });
    let (status, answer) = match refusal {
        Ok(refusal) => refusal,
        Err(error) => return Err(error.context(server.log())),
    };
    ensure!(status == 503 && answer["code"] == "SHARD-002", "{status}: {answer}");
    // Reads go on, and settled jobs make room.
    ensure!(api.read(QUEUE)?.0 == 200, "a full disk must not stop reads");
    ensure!(!load.answers().put.is_empty(), "nothing to work on");
    // A reserve is taken where the last segment has room for it, which the jobs before it decide.
    if let Err(refused) = load.work(&api, 0) {
        ensure!(refused.to_string().contains("SHARD-002"), "{refused:#}");
    }

    // Killed while it is full, and there is room again.
    server.kill()?;
    std::fs::remove_file(&ballast)?;
    server.start()?;
    until_true(PATIENCE, "puts to be taken again", || {
        Ok(api.post(&format!("{QUEUE}/jobs"), &json!({"payload": "after", "dedup_id": "after"}))?.0 < 300)
    })?;
    load.prove(&api).with_context(|| server.log())
}
