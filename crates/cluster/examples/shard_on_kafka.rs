//! Figures of one shard whose log is in Kafka, on three real brokers of this machine: durable
//! commands beside a bare producer with the same messages, the takeover by a standby, its memory.
//!
//! `cargo run --release -p stadium-cluster --example shard_on_kafka -- [JOBS]`, and `cargo xtask bench
//! cluster`. It prints a line of JSON. The owner and the standby are processes of their own, and the
//! owner is killed. The brokers share the machine's cores with them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command as Process, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use stadium_cluster::ReplicatedStore;
use stadium_journal::Options;
use stadium_journal_kafka::{Client, Replication, Settings as KafkaSettings, make_or_check, open};
use stadium_journal_log::partition::Event;
use stadium_journal_log::{ClusterId, Log, Topic};
use stadium_queue::{Answer, Command, NewJob, QueueName, QueueSettings};
use stadium_shard::{ReplicaState, Settings, Shards};
use stadium_testing::kafka::{Kafka, Listener};

/// Jobs of the takeover, where the command line does not say.
const JOBS: usize = 1_000_000;

/// Jobs in a command, while they are put for the takeover.
const BATCH: usize = 500;

/// Commands on their way at a time, while commands are counted: those of the figure, and more.
const WINDOWS: [usize; 2] = [256, 1_024];

/// Bytes of a job's payload.
const PAYLOAD: usize = 100;

/// Time of each count.
const LASTS: Duration = Duration::from_secs(8);

const LONG: Duration = Duration::from_secs(300);

/// The clusters whose topics the load and the jobs of the takeover go to.
const LOADED: &str = "loaded";
const FILLED: &str = "filled";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("node") => node(&arguments[1..]),
        jobs => measure(jobs.map_or(Ok(JOBS), str::parse).context("JOBS is no number")?),
    }
}

fn measure(jobs: usize) -> Result<()> {
    let kafka = Kafka::start(3)?;
    let bootstrap = kafka.bootstrap(Listener::Plain);
    let topic = |cluster: &str| -> Result<KafkaSettings> {
        let settings = KafkaSettings::new(bootstrap.clone(), cluster);
        make_or_check(&settings, 2, Replication::Three)?;
        Ok(settings)
    };
    let settings = topic(LOADED)?;

    let mut owner = Node::start(&bootstrap, LOADED)?;
    owner.ask("claim")?;
    // Brokers that have just started are slower than they will be: both sides find them as warm.
    for window in WINDOWS.into_iter().rev() {
        beside_bare(&mut owner, &settings, window)?;
    }
    let [usual, wide] = WINDOWS.map(|window| beside_bare(&mut owner, &settings, window));
    let (usual, wide) = (usual?, wide?);
    drop(owner);

    // A shard of its own, which has these jobs and no others.
    topic(FILLED)?;
    let mut owner = Node::start(&bootstrap, FILLED)?;
    owner.ask("claim")?;
    let mut standby = Node::start(&bootstrap, FILLED)?;
    let answer = owner.ask(&format!("fill {jobs}"))?;
    eprintln!("{answer} jobs are put");
    standby.ask("step")?;
    let [owner_kib] = numbers(&owner.ask("memory")?)?;
    let [standby_kib] = numbers(&standby.ask("memory")?)?;
    owner.child.kill()?;
    owner.child.wait()?;
    let [fence_ms, takeover_ms] = numbers(&standby.ask("take")?)?;
    let [left] = numbers(&standby.ask("count")?)?;
    ensure!(left as usize == jobs, "{left} jobs of {jobs} are there after the takeover");
    let taken = serde_json::json!({
        "commands_per_second": usual.commands,
        "messages_per_second": usual.messages,
        "message_bytes": usual.message_bytes,
        "commands_each": usual.each(),
        "bare_per_second": usual.bare,
        "ratio": usual.ratio(),
        "wide_commands_per_second": wide.commands,
        "wide_commands_each": wide.each(),
        "wide_bare_per_second": wide.bare,
        "wide_ratio": wide.ratio(),
        "owner_mb": owner_kib * 1024.0 / 1e6,
        "standby_mb": standby_kib * 1024.0 / 1e6,
        "memory_ratio": standby_kib / owner_kib,
        "fence_ms": fence_ms,
        "takeover_ms": takeover_ms,
        "jobs": left,
    });
    println!("{taken}");
    Ok(())
}

/// Commands of one shard, and a bare producer.
struct Beside {
    commands: f64,
    messages: f64,
    message_bytes: f64,
    /// Messages of that size of the bare producer.
    bare: f64,
}

impl Beside {
    /// Commands in a message.
    fn each(&self) -> f64 {
        self.commands / self.messages.max(1.0)
    }

    /// The commands, over those in as many messages as the bare producer has.
    fn ratio(&self) -> f64 {
        self.messages / self.bare
    }
}

/// Counts puts of one job with so many on their way, and then the bare producer's messages.
fn beside_bare(owner: &mut Node, settings: &KafkaSettings, window: usize) -> Result<Beside> {
    eprintln!("{window} puts of one job of {PAYLOAD} bytes at a time, then a bare producer");
    let [commands, messages, bytes] = numbers(&owner.ask(&format!("load {window}"))?)?;
    let message_bytes = bytes / messages.max(1.0);
    let bare = bare_producer(settings, message_bytes as usize)?;
    Ok(Beside { commands, messages, message_bytes, bare })
}

/// Messages a second of so many bytes, four on their way, on a partition of its own.
fn bare_producer(settings: &KafkaSettings, bytes: usize) -> Result<f64> {
    let topic = open(Client::Rdkafka, settings, 2)?;
    let mut partition = topic.partition(1)?;
    let (wake, woken) = channel();
    let wake = Mutex::new(wake);
    partition.on_event(Arc::new(move || {
        let _ = wake.lock().map(|wake| wake.send(()));
    }));
    let message = vec![7; bytes.max(1)];
    let mut sent = 0;
    while sent < 4 {
        partition.append(sent, &message);
        sent += 1;
    }
    let (begun, mut done) = (Instant::now(), 0_u64);
    while begun.elapsed() < LASTS {
        match next(&mut *partition, &woken)? {
            Event::Appended { .. } => {
                done += 1;
                partition.append(sent, &message);
                sent += 1;
            }
            Event::NotAppended { failure, .. } => bail!("the bare producer failed: {failure}"),
            _ => {}
        }
    }
    Ok(done as f64 / begun.elapsed().as_secs_f64())
}

fn next(partition: &mut dyn stadium_journal_log::Partition, woken: &Receiver<()>) -> Result<Event> {
    loop {
        if let Some(event) = partition.next_event() {
            return Ok(event);
        }
        woken.recv_timeout(LONG).context("no outcome")?;
    }
}

/// The numbers of an answer.
fn numbers<const N: usize>(answer: &str) -> Result<[f64; N]> {
    let numbers: Vec<f64> = answer.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    numbers.try_into().map_err(|_| anyhow::anyhow!("{answer:?} is no answer of {N} numbers"))
}

/// A node as this process sees it.
struct Node {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Node {
    fn start(bootstrap: &[String], cluster: &str) -> Result<Self> {
        let mut child = Process::new(std::env::current_exe()?)
            .args(["node", &bootstrap.join(","), cluster])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().context("its input")?;
        let output = BufReader::new(child.stdout.take().context("its output")?);
        Ok(Self { child, input, output })
    }

    fn ask(&mut self, question: &str) -> Result<String> {
        writeln!(self.input, "{question}")?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        ensure!(!answer.is_empty(), "the node ended at {question:?}");
        Ok(answer.trim().to_owned())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process of a node: a replica of shard 0, and what it is asked on its standard input.
fn node(arguments: &[String]) -> Result<()> {
    let [bootstrap, cluster] = arguments else { bail!("give the brokers and the cluster") };
    let bootstrap = bootstrap.split(',').map(str::to_owned).collect();
    let topic = open(Client::Rdkafka, &KafkaSettings::new(bootstrap, cluster), 2)?;
    let folder = tempfile::tempdir()?;
    let replica = Replica::open(topic, folder.path())?;
    for line in std::io::stdin().lines() {
        let line = line?;
        let answer = match line.split_once(' ') {
            Some(("fill", jobs)) => replica.fill(jobs.parse()?)?,
            Some(("load", window)) => replica.load(window.parse()?)?,
            _ => match line.as_str() {
                "claim" => replica.take()?,
                "take" => replica.take()?,
                "step" => replica.in_step()?,
                "count" => replica.count()?,
                "memory" => resident_kib()?.to_string(),
                other => bail!("{other:?} is no question"),
            },
        };
        println!("{answer}");
    }
    Ok(())
}

struct Replica {
    shards: Shards,
    state: Arc<Mutex<Option<ReplicaState>>>,
}

impl Replica {
    fn open(topic: Arc<dyn Topic>, folder: &std::path::Path) -> Result<Self> {
        let shards = Shards::open_none(Settings::in_directory(folder.join("data"), 1))?;
        let log = Log { cluster: ClusterId(1), shard: 0 };
        let store = ReplicatedStore::new(topic, folder.join("replica"), log, Options::default());
        let state = Arc::new(Mutex::new(None));
        let told = Arc::clone(&state);
        shards.open_replica(0, store, move |_, state, _| {
            *told.lock().expect("nobody panics with it") = Some(state);
        })?;
        Ok(Self { shards, state })
    }

    fn until(&self, holds: impl Fn(&ReplicaState) -> bool) -> Result<()> {
        let begun = Instant::now();
        while !self.state.lock().expect("nobody panics with it").as_ref().is_some_and(&holds) {
            ensure!(begun.elapsed() < LONG, "it never comes so far");
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    fn in_step(&self) -> Result<String> {
        self.until(|state| *state == ReplicaState::Following { is_in_step: true })?;
        Ok("0".to_owned())
    }

    /// Claims, serves, and puts a job. Milliseconds until the fence counted, and until the answer.
    fn take(&self) -> Result<String> {
        let begun = Instant::now();
        self.shards.claim(0, 1);
        self.until(|state| matches!(state, ReplicaState::Claimed { .. }))?;
        let fenced = begun.elapsed();
        self.shards.serve(0);
        self.until(|state| matches!(state, ReplicaState::Serving { .. }))?;
        let answer = self.shards.submit(put("first", 1)).wait(LONG).context("no answer")?;
        answer.map_err(|refusal| anyhow::anyhow!("{refusal}"))?;
        Ok(format!("{} {}", fenced.as_secs_f64() * 1e3, begun.elapsed().as_secs_f64() * 1e3))
    }

    /// Commands, messages and bytes of the journal in a second, with so many commands on their way.
    fn load(&self, window: usize) -> Result<String> {
        let before = self.shards.metrics().remove(0).journal;
        let begun = Instant::now();
        let mut flying = std::collections::VecDeque::new();
        let mut done = 0_u64;
        while begun.elapsed() < LASTS {
            while flying.len() < window {
                flying.push_back(self.shards.submit(put("load", 1)));
            }
            let first = flying.pop_front().context("there is one")?;
            first.wait(LONG).context("no answer")?.map_err(|refusal| anyhow::anyhow!("{refusal}"))?;
            done += 1;
        }
        let seconds = begun.elapsed().as_secs_f64();
        for ticket in flying {
            ticket.wait(LONG);
        }
        std::thread::sleep(Duration::from_millis(1_200));
        let after = self.shards.metrics().remove(0).journal;
        let (messages, bytes) = (after.commits - before.commits, after.bytes - before.bytes);
        Ok(format!("{} {} {}", done as f64 / seconds, messages as f64 / seconds, bytes as f64 / seconds))
    }

    fn fill(&self, jobs: usize) -> Result<String> {
        let queue = QueueName::new("fill")?;
        let declare = Command::Declare { queue, settings: QueueSettings::default() };
        self.shards.submit(declare).wait(LONG).context("no answer")?.map_err(|r| anyhow::anyhow!("{r}"))?;
        let mut flying = std::collections::VecDeque::new();
        for _ in 0..jobs.div_ceil(BATCH) {
            while flying.len() >= 16 {
                let first: stadium_shard::Ticket = flying.pop_front().context("there is one")?;
                first.wait(LONG).context("no answer")?.map_err(|refusal| anyhow::anyhow!("{refusal}"))?;
            }
            flying.push_back(self.shards.submit(put("fill", BATCH)));
        }
        for ticket in flying {
            ticket.wait(LONG).context("no answer")?.map_err(|refusal| anyhow::anyhow!("{refusal}"))?;
        }
        self.count()
    }

    /// Jobs in the queue `fill`.
    fn count(&self) -> Result<String> {
        let stats = Command::Stats { queue: QueueName::new("fill")? };
        match self.shards.submit(stats).wait(LONG).context("no answer")? {
            Ok(Answer::Queues(queues)) => {
                Ok(queues.iter().map(|one| one.due + one.delayed).sum::<u64>().to_string())
            }
            other => bail!("{other:?}"),
        }
    }
}

fn put(queue: &str, jobs: usize) -> Command {
    let job = NewJob { payload: Bytes::from(vec![b'x'; PAYLOAD]), ..NewJob::default() };
    Command::Put { queue: QueueName::new(queue).expect("a name"), jobs: vec![job; jobs], principal: None }
}

/// Memory of this process that is resident, KiB.
fn resident_kib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("VmRSS")?;
    Ok(line.split_whitespace().nth(1).context("a number")?.parse()?)
}
