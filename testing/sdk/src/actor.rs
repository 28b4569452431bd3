//! An actor's process: orders go in, answers come out, many at a time.
//!
//! Every order is answered, or its actor has ended: nobody waits for ever.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use stadium_testing::process::{Process, Signal};

use crate::language::Language;

/// Longest that an order takes; a virtual machine that starts on a busy machine is the slowest.
const WITHIN: Duration = Duration::from_secs(40);

/// A running actor. It ends with its owner.
pub struct Actor {
    /// Its language.
    pub language: Language,
    child: Mutex<Child>,
    process: Process,
    orders: Mutex<ChildStdin>,
    answers: Arc<Mutex<Answers>>,
    next: AtomicU64,
}

#[derive(Default)]
struct Answers {
    waiting: HashMap<u64, Sender<Value>>,
    has_ended: bool,
}

/// An order that is being carried out.
pub struct Pending {
    /// Its number, which `cancel` names.
    pub id: u64,
    answer: Receiver<Value>,
    what: String,
}

impl Pending {
    /// The actor's answer.
    pub fn wait(self) -> Result<Value> {
        let Self { answer, what, .. } = self;
        let answer = match answer.recv_timeout(WITHIN) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => bail!("{what} is not answered within {WITHIN:?}"),
            Err(RecvTimeoutError::Disconnected) => bail!("the actor ended under {what}"),
        };
        match answer.get("error") {
            Some(error) => bail!("{what}: {error}"),
            None => Ok(answer),
        }
    }
}

impl Actor {
    /// Starts an actor, which is wrong in one way where a mutant is named.
    pub fn start(language: Language, mutant: Option<&str>) -> Result<Self> {
        let mut command = language.command()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(mutant) = mutant {
            command.env("STADIUM_MUTANT", mutant);
        }
        Self::spawn(language, command)
    }

    fn spawn(language: Language, command: Command) -> Result<Self> {
        let mut child = started(command)?;
        let orders = child.stdin.take().context("stdin was asked to be piped")?;
        let lines = BufReader::new(child.stdout.take().context("stdout was asked to be piped")?);
        let answers = Arc::new(Mutex::new(Answers::default()));
        let shared = Arc::clone(&answers);
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let Ok(answer) = serde_json::from_str::<Value>(&line) else {
                    eprintln!("{}: {line}", language.name());
                    continue;
                };
                let waiting = answer["id"].as_u64().and_then(|id| locked(&shared).waiting.remove(&id));
                match waiting {
                    // Nobody may wait any more.
                    Some(waiting) => drop(waiting.send(answer)),
                    None => eprintln!("{}: not asked for: {answer}", language.name()),
                }
            }
            let mut answers = locked(&shared);
            answers.has_ended = true;
            answers.waiting.clear();
        });
        let process = Process(child.id());
        let (child, orders) = (Mutex::new(child), Mutex::new(orders));
        Ok(Self { language, child, process, orders, answers, next: AtomicU64::new(1) })
    }

    /// Gives an order, an object with `do`.
    pub fn order(&self, mut what: Value) -> Result<Pending> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        what["id"] = id.into();
        let line = what.to_string();
        let (sender, answer) = channel();
        let mut answers = locked(&self.answers);
        if !answers.has_ended {
            answers.waiting.insert(id, sender);
        }
        drop(answers);
        // The answer shows that the actor has ended.
        _ = writeln!(locked(&self.orders), "{line}");
        Ok(Pending { id, answer, what: format!("{}: {line}", self.language.name()) })
    }

    /// Gives an order and waits for its answer.
    pub fn ask(&self, what: Value) -> Result<Value> {
        self.order(what)?.wait()
    }

    /// Serves, and returns the address.
    pub fn serve(&self, instance: &str, mut settings: Value) -> Result<String> {
        if settings.get("listen").is_none() {
            settings["listen"] = serde_json::json!(["127.0.0.1:0"]);
        }
        let answer =
            self.ask(serde_json::json!({"do": "serve", "instance": instance, "settings": settings}))?;
        let address = answer["addresses"][0].as_str().context("no address")?;
        Ok(address.to_owned())
    }

    /// Sends its process a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        self.process.signal(signal)
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        let mut child = self.child.lock().expect("nobody panics with it");
        // It may have ended already.
        _ = child.kill();
        _ = child.wait();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics with it")
}

/// Starts a process on a thread that does not end: the kernel ends the process with it.
fn started(command: Command) -> Result<Child> {
    type Job = (Command, Sender<Result<Child>>);
    static STARTER: LazyLock<Mutex<Sender<Job>>> = LazyLock::new(|| {
        let (jobs, inbox) = channel::<Job>();
        std::thread::spawn(move || {
            for (mut command, done) in inbox {
                let child = command.spawn().with_context(|| format!("cannot start {command:?}"));
                // Whoever asked waits.
                _ = done.send(child);
            }
        });
        Mutex::new(jobs)
    });
    let (done, child) = channel();
    locked(&STARTER).send((command, done)).context("the starter runs")?;
    child.recv().context("the starter answers")?
}
