//! `stadium queue put`: jobs from arguments, files, or the lines of a stream.
//!
//! Jobs that come as lines are put in batches as they arrive, each under an idempotency key, so
//! that a batch whose answer was lost is not put twice. A busy server is waited for: the pushback
//! goes on to whoever writes the lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::{Map, Value, json};

use super::path_of;
use crate::api::{Api, Ask, Method, Refused};
use crate::failure::{Context, Failure};
use crate::once;
use crate::span;
use crate::terminal::{Style, Terminal, count};

/// Jobs of a batch: as many as a request may hold.
const BATCH_JOBS_MAX: usize = 1_000;

/// Bytes of a batch as JSON; half of what the server takes unless it was set otherwise.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// Bytes of one payload that we are willing to read; the server's own bound is lower unless raised.
const PAYLOAD_BYTES_MAX: u64 = 64 << 20;

/// Attempts for a batch whose answer does not come.
const ATTEMPTS_MAX: u32 = 5;

/// What to put, and how.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium queue put mails 'to seat 17'                     one job
  stadium queue put mails --file letter.txt --delay 10m    a file's content, due in ten minutes
  seq 1000 | stadium queue put numbers --lines             each line is a payload
  stadium queue put mails --jobs < jobs.ndjson             each line is a job, as POST /api/queues/QUEUE/jobs takes it:
                                                           {\"payload\": \"hello\", \"delay_ms\": 5000, \"key\": \"tenant-7\"}")]
pub(super) struct Arguments {
    /// The queue; it is made where there is none
    queue: String,
    /// Payloads, a job each; `-` reads one from standard input
    #[arg(required_unless_present_any = ["file", "lines", "jobs"])]
    payload: Vec<String>,
    /// A file whose content is a payload; several are a job each
    #[arg(long, value_name = "FILE", conflicts_with = "payload")]
    file: Vec<PathBuf>,
    /// Each line of standard input is a payload
    #[arg(long, conflicts_with_all = ["payload", "file"])]
    lines: bool,
    /// Each line of standard input is a job as a JSON object; the flags below apply to fields that
    /// it leaves out
    #[arg(long, conflicts_with_all = ["payload", "file", "lines"])]
    jobs: bool,
    #[command(flatten)]
    how: JobFlags,
    /// A name for this request: the same again is answered the same and puts nothing
    #[arg(long, value_name = "KEY", conflicts_with_all = ["lines", "jobs"])]
    id: Option<String>,
}

/// When a job is due, and how it is treated: fields of a put, which an edit may change.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Job")]
pub(super) struct HowFlags {
    /// Due so long from now, such as 90s or 1h30m; 0 is now
    #[arg(long, value_name = "SPAN", value_parser = span::parse, conflicts_with = "at")]
    delay: Option<u64>,
    /// Due at this time, such as 2030-01-01T20:00:00Z
    #[arg(long, value_name = "TIMESTAMP")]
    at: Option<String>,
    /// Which goes first of those that are due: 0 to 9, 9 first; a new job has 4 by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=9))]
    priority: Option<u8>,
    /// Gone by itself when it was not settled so long from now
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    ttl: Option<u64>,
    /// Attempts before it is dead; a new job has the number of its queue by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    attempts: Option<u16>,
}

impl HowFlags {
    /// The flags, as fields of a job.
    pub(super) fn fields(&self) -> Map<String, Value> {
        given([
            ("delay_ms", self.delay.map(Value::from)),
            ("run_at", self.at.clone().map(Value::from)),
            ("priority", self.priority.map(Value::from)),
            ("ttl_ms", self.ttl.map(Value::from)),
            ("attempts_max", self.attempts.map(Value::from)),
        ])
    }
}

/// How a new job is to be treated.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Job")]
struct JobFlags {
    #[command(flatten)]
    how: HowFlags,
    /// Jobs of one key run one after another, in their order; keys get fair shares
    #[arg(long = "job-key", value_name = "KEY")]
    job_key: Option<String>,
    /// At most one job with this id within the window
    #[arg(long, value_name = "ID")]
    dedup_id: Option<String>,
    /// How long the id is remembered [default: the queue's]
    #[arg(long, value_name = "SPAN", value_parser = span::parse, requires = "dedup_id")]
    dedup_window: Option<u64>,
}

impl JobFlags {
    /// The flags, as fields of a job.
    fn fields(&self) -> Map<String, Value> {
        let mut fields = self.how.fields();
        fields.extend(given([
            ("key", self.job_key.clone().map(Value::from)),
            ("dedup_id", self.dedup_id.clone().map(Value::from)),
            ("dedup_window_ms", self.dedup_window.map(Value::from)),
        ]));
        fields
    }
}

/// Those fields that have a value.
pub(super) fn given<const FIELDS: usize>(fields: [(&str, Option<Value>); FIELDS]) -> Map<String, Value> {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Puts a payload's bytes into a job's fields: as text where they are text.
pub(super) fn with_payload(mut fields: Map<String, Value>, payload: Vec<u8>) -> Map<String, Value> {
    match String::from_utf8(payload) {
        Ok(text) => fields.insert("payload".to_owned(), Value::String(text)),
        Err(bytes) => fields.insert("payload_base64".to_owned(), STANDARD.encode(bytes.as_bytes()).into()),
    };
    fields
}

/// Puts them.
pub(super) fn run(api: &Api, arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    if arguments.lines || arguments.jobs {
        return stream(api, &arguments, terminal);
    }
    let mut payloads = Vec::new();
    for payload in &arguments.payload {
        payloads.push(match payload.as_str() {
            "-" => read_all(io::stdin().lock()).context("the payload cannot be read from standard input")?,
            text => text.as_bytes().to_vec(),
        });
    }
    for file in &arguments.file {
        payloads.push(read_file(file)?);
    }
    if payloads.len() > 1 && arguments.how.dedup_id.is_some() {
        return Err(Failure::Usage("--dedup-id is for one job: name one payload".to_owned()));
    }
    let fields = arguments.how.fields();
    let jobs: Vec<Value> =
        payloads.into_iter().map(|payload| with_payload(fields.clone(), payload).into()).collect();
    let body = json!({ "jobs": jobs }).to_string();
    let path = path_of(&arguments.queue, "/jobs");
    let answer = once::post(api, &path, &body, arguments.id.as_deref())?;
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    for job in answer.get("jobs").and_then(Value::as_array).into_iter().flatten() {
        let id = job.get("id").and_then(Value::as_str).unwrap_or("-");
        terminal.data(id)?;
        if job.get("duplicate").and_then(Value::as_bool) == Some(true) {
            terminal.note(format_args!("{id} was put before; nothing was put now"));
        }
    }
    Ok(())
}

fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    let file = File::open(path).context(format_args!("{} cannot be opened", path.display()))?;
    read_all(file).context(format_args!("{} cannot be read", path.display()))
}

fn read_all(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(PAYLOAD_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > PAYLOAD_BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {PAYLOAD_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

/// Jobs that were put from a stream.
#[derive(Default)]
struct Sums {
    jobs: u64,
    duplicates: u64,
}

/// Puts what comes as lines, in batches.
fn stream(api: &Api, arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let fields = arguments.how.fields();
    let mut lines = Lines { from: BufReader::with_capacity(1 << 16, io::stdin().lock()), number: 0 };
    let bar = terminal.progress(0, "jobs put");
    let mut sums = Sums::default();
    let mut batch = Batch::default();
    while let Some(line) = lines.next()? {
        let job = if arguments.jobs {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            job_of(&line, &fields).map_err(|why| after(&sums, lines.number, &why))?
        } else {
            Value::from(with_payload(fields.clone(), line)).to_string()
        };
        if batch.is_full_with(&job) {
            put(api, arguments, &mut batch, &mut sums, terminal)?;
            bar.set_length(sums.jobs);
            bar.set_position(sums.jobs);
        }
        batch.add(&job);
        // The lines of a slow writer should not wait for its next line.
        if !lines.has_more() {
            put(api, arguments, &mut batch, &mut sums, terminal)?;
        }
    }
    put(api, arguments, &mut batch, &mut sums, terminal)?;
    bar.finish_and_clear();
    if terminal.is_json() {
        return terminal.json(&json!({"put": sums.jobs - sums.duplicates, "duplicates": sums.duplicates}));
    }
    let known = match sums.duplicates {
        0 => String::new(),
        known => format!(", {} of them were there before", count(known)),
    };
    terminal.data(&format!("{} {}{known}", terminal.out(Style::Good, "put"), count(sums.jobs)))
}

fn after(sums: &Sums, line: u64, why: &str) -> Failure {
    Failure::new(format!("line {line}: {why}; {} jobs before it were put", count(sums.jobs)))
}

/// A line's job, completed by the flags.
fn job_of(line: &[u8], flags: &Map<String, Value>) -> Result<String, String> {
    let parsed: Value = serde_json::from_slice(line).map_err(|error| format!("this is no JSON: {error}"))?;
    let Value::Object(mut job) = parsed else {
        return Err("this is no JSON object such as {\"payload\": \"hello\"}".to_owned());
    };
    for (name, value) in flags {
        // A line with a time of its own does not get another one.
        let has_time = job.contains_key("delay_ms") || job.contains_key("run_at");
        if !(has_time && matches!(name.as_str(), "delay_ms" | "run_at")) {
            job.entry(name).or_insert_with(|| value.clone());
        }
    }
    Ok(Value::Object(job).to_string())
}

/// Lines of bytes, without their ends.
struct Lines<R> {
    from: BufReader<R>,
    number: u64,
}

impl<R: Read> Lines<R> {
    fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let mut line = Vec::new();
        let read = (&mut self.from).take(PAYLOAD_BYTES_MAX).read_until(b'\n', &mut line);
        if read.context("standard input cannot be read")? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if line.last() == Some(&b'\n') {
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        } else if line.len() as u64 >= PAYLOAD_BYTES_MAX {
            let number = self.number;
            return Err(Failure::new(format!("line {number} has more than {PAYLOAD_BYTES_MAX} bytes")));
        }
        Ok(Some(line))
    }

    /// Whether a whole line was read already.
    fn has_more(&self) -> bool {
        self.from.buffer().contains(&b'\n')
    }
}

/// Jobs as JSON, collected for one request.
#[derive(Default)]
struct Batch {
    text: String,
    jobs: usize,
}

impl Batch {
    fn is_full_with(&self, job: &str) -> bool {
        self.jobs > 0 && (self.jobs >= BATCH_JOBS_MAX || self.text.len() + job.len() > BATCH_BYTES_MAX)
    }

    fn add(&mut self, job: &str) {
        if self.jobs > 0 {
            self.text.push(',');
        }
        self.text.push_str(job);
        self.jobs += 1;
    }
}

/// Puts a batch, however long the server is busy.
fn put(
    api: &Api,
    arguments: &Arguments,
    batch: &mut Batch,
    sums: &mut Sums,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let Batch { text, jobs } = std::mem::take(batch);
    if jobs == 0 {
        return Ok(());
    }
    let body = format!("{{\"jobs\":[{text}]}}");
    let path = path_of(&arguments.queue, "/jobs");
    let key = batch_key();
    let ask = Ask { method: Method::Post, path: &path, body: Some(&body), idempotency_key: Some(&key) };
    let mut reported = false;
    let mut unanswered = 0;
    let answer = loop {
        match api.ask(ask) {
            Ok(answer) => break answer,
            Err(Refused::Busy { retry_after, failure }) => {
                if !reported {
                    terminal.note(format_args!("waiting for the server: {failure}"));
                    reported = true;
                }
                std::thread::sleep(retry_after);
            }
            Err(Refused::Unanswered(failure)) => {
                unanswered += 1;
                if unanswered == ATTEMPTS_MAX {
                    return Err(Failure::new(format!(
                        "{failure}; {} jobs were put before, and what became of the next {} is unknown",
                        count(sums.jobs),
                        count(jobs as u64)
                    )));
                }
                std::thread::sleep(Duration::from_millis(200 << unanswered));
            }
            Err(Refused::Rejected { failure, .. }) => {
                let before = count(sums.jobs);
                return Err(Failure::new(format!("{failure}; {before} jobs were put before")));
            }
        }
    };
    let placed = answer.get("jobs").and_then(Value::as_array).into_iter().flatten();
    let known = placed.filter(|job| job.get("duplicate").and_then(Value::as_bool) == Some(true)).count();
    sums.jobs += jobs as u64;
    sums.duplicates += known as u64;
    Ok(())
}

/// A name that no other batch has: the process, the time, and a count.
fn batch_key() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("cli-{}-{now:x}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_line_come_before_the_flags() {
        let how = HowFlags { delay: Some(5_000), priority: Some(7), ..HowFlags::default() };
        let flags = JobFlags { how, ..JobFlags::default() }.fields();
        let job = |line: &str| {
            serde_json::from_str::<Value>(&job_of(line.as_bytes(), &flags).expect("it is a job"))
                .expect("it is JSON")
        };
        assert_eq!(
            job(r#"{"payload":"a","run_at":"2030-01-01T00:00:00Z"}"#),
            json!({"payload": "a", "run_at": "2030-01-01T00:00:00Z", "priority": 7})
        );
        assert_eq!(
            job(r#"{"payload":"a","priority":0}"#),
            json!({"payload": "a", "priority": 0, "delay_ms": 5000})
        );
        assert!(job_of(b"[1]", &flags).is_err() && job_of(b"{", &flags).is_err());
    }

    #[test]
    fn bytes_that_are_no_text_go_as_base64() {
        let text = with_payload(Map::new(), b"caf\xc3\xa9".to_vec());
        let bytes = with_payload(Map::new(), vec![0xff, 0]);
        assert_eq!(Value::from(text), json!({"payload": "café"}));
        assert_eq!(Value::from(bytes), json!({"payload_base64": "/wA="}));
    }

    #[test]
    fn a_batch_has_bounds_in_jobs_and_in_bytes() {
        let mut batch = Batch::default();
        let large = "x".repeat(BATCH_BYTES_MAX + 1);
        assert!(!batch.is_full_with(&large), "one job always fits");
        for _ in 0..BATCH_JOBS_MAX {
            assert!(!batch.is_full_with("{}"));
            batch.add("{}");
        }
        assert!(batch.is_full_with("{}"));
    }
}
