//! Verdicts: one line for each case, client and server.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::language::Language;

/// One case with one client and one server.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The name of the case.
    pub case: &'static str,
    /// The caller's language.
    pub client: Language,
    /// The server's language; none in cases that take all servers at once.
    pub server: Option<Language>,
    /// Why it does not hold.
    pub failure: Option<String>,
    /// Its duration.
    pub took: Duration,
}

/// All verdicts. It may be shown while it grows.
#[derive(Debug, Default)]
pub struct Report {
    verdicts: Mutex<Vec<Verdict>>,
    is_silent: bool,
}

impl Report {
    /// A report that prints nothing.
    pub fn silent() -> Self {
        Self { is_silent: true, ..Self::default() }
    }

    /// Runs a case and keeps its verdict.
    pub fn check(
        &self,
        case: &'static str,
        client: Language,
        server: Option<Language>,
        run: impl FnOnce() -> Result<()>,
    ) {
        let began = Instant::now();
        let failure = run().err().map(|error| format!("{error:#}"));
        self.add(Verdict { case, client, server, failure, took: began.elapsed() });
    }

    /// Adds a verdict.
    pub fn add(&self, verdict: Verdict) {
        if !self.is_silent {
            let Verdict { case, client, server, failure, took } = &verdict;
            let server = server.map_or("all", Language::name);
            let (word, why) = match failure {
                None => ("ok", String::new()),
                Some(why) => ("FAILED", format!("\n      {why}")),
            };
            let pair = format!("{} -> {server}", client.name());
            println!("{word:<6} {case:<22} {pair:<18} {:>6} ms{why}", took.as_millis());
        }
        self.verdicts.lock().expect("nobody panics with it").push(verdict);
    }

    /// The verdicts.
    pub fn verdicts(&self) -> Vec<Verdict> {
        self.verdicts.lock().expect("nobody panics with it").clone()
    }

    /// Cases that failed.
    pub fn failed(&self) -> Vec<Verdict> {
        self.verdicts().into_iter().filter(|verdict| verdict.failure.is_some()).collect()
    }
}
