//! Figures that targets publish for Prometheus, asked for each second of a run and laid beside it.
//!
//! Each source has a thread of its own, so that one that stalls makes no other late; it asks the
//! next time at the next whole second, never twice for one that it missed. A question that a source
//! cannot answer is a complaint, never an error of the run. [`text`] reads the format.

mod collector;
mod text;

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use stadium_report::Scraped;
use stadium_scenario::program::{Program, Target};
use stadium_scenario::template::Template;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use collector::Collector;

/// Between two questions.
const EVERY: Duration = Duration::from_secs(1);
/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The longest answer that is read. Prometheus' own limits are lower in practice.
const BODY_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// The authorities of the system, where Debian keeps them.
const SYSTEM_AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// What we read, best first.
const ACCEPT: &str = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

/// Where figures are published.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// The target's name, for the report.
    pub target: String,
    /// The whole URL: `http://127.0.0.1:8080/metrics`.
    pub url: String,
    /// Headers to send, such as `Authorization`.
    pub headers: Vec<(String, String)>,
}

/// Questions under way.
#[derive(Debug)]
pub struct Scrape {
    stop: Vec<Sender<()>>,
    threads: Vec<JoinHandle<(Vec<Scraped>, Option<String>)>>,
}

/// What came of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scrapes {
    /// Series that changed first, at most [`SERIES_MAX`] of a target; for the run's result.
    pub series: Vec<Scraped>,
    /// What went wrong, a line for a target, for people.
    pub complaints: Vec<String>,
}

/// Series of a target that are given: more than a report can show, and those that never changed come last.
pub const SERIES_MAX: usize = 200;

/// Where a scenario's targets publish their figures. The headers that authorise a target's requests
/// are sent only where the figures are at the very same address.
pub fn sources(program: &Program) -> Vec<Source> {
    let source = |target: &Target| {
        let url = target.metrics.clone()?;
        let authority =
            url.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?']).next().unwrap_or_default());
        let own = [format!("{}:{}", target.host, target.port), target.host.clone()];
        let same = authority == own[0] || (authority == own[1] && matches!(target.port, 80 | 443));
        let key = |(name, value): &(String, Template)| {
            let value = std::str::from_utf8(value.literal()?).ok()?;
            name.eq_ignore_ascii_case("authorization").then(|| (name.clone(), value.to_owned()))
        };
        let headers = target.headers.iter().filter(|_| same).filter_map(key).collect();
        Some(Source { target: target.name.clone(), url, headers })
    };
    program.targets.iter().filter_map(source).collect()
}

impl Scrape {
    /// Asks each source now and every second from then on. `start` is the run's start, from which points count.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub fn start(sources: Vec<Source>, start: Instant) -> io::Result<Self> {
        let tls =
            if sources.iter().any(|source| source.url.starts_with("https:")) { Some(tls()) } else { None };
        let mut scrape = Scrape { stop: Vec::new(), threads: Vec::new() };
        for source in sources {
            let mut config =
                ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).proxy(None).user_agent("stadium");
            if let Some(tls) = &tls {
                config = config.tls_config(tls.clone());
            }
            let agent = ureq::Agent::new_with_config(config.build());
            let (stop, stopped) = mpsc::channel();
            let thread = std::thread::Builder::new().name("load-scrape".into()).spawn(move || {
                let mut collector = Collector::new(source.target.clone());
                let mut next = Instant::now();
                while let Err(RecvTimeoutError::Timeout) =
                    stopped.recv_timeout(next.saturating_duration_since(Instant::now()))
                {
                    let at_s = start.elapsed().as_secs_f64();
                    collector.hear(at_s, ask(&agent, &source));
                    while next <= Instant::now() {
                        next += EVERY;
                    }
                }
                collector.finish(SERIES_MAX)
            })?;
            scrape.stop.push(stop);
            scrape.threads.push(thread);
        }
        Ok(scrape)
    }

    /// Ends and gives what there is. Waits for an answer under way, for two seconds at most.
    pub fn finish(mut self) -> Scrapes {
        self.stop.clear();
        let mut scrapes = Scrapes::default();
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok((series, complaint)) => {
                    scrapes.series.extend(series);
                    scrapes.complaints.extend(complaint);
                }
                Err(_) => scrapes.complaints.push("a thread that asks for metrics ended by a bug".to_owned()),
            }
        }
        scrapes
    }
}

/// One answer, or why there is none.
fn ask(agent: &ureq::Agent, source: &Source) -> Result<String, String> {
    let mut request = agent.get(&source.url).header("Accept", ACCEPT);
    for (name, value) in &source.headers {
        request = request.header(name, value);
    }
    let mut response = request.call().map_err(|error| match error {
        ureq::Error::StatusCode(status @ (401 | 403)) => {
            format!("status {status}: give the target a header with a key that may read metrics")
        }
        other => other.to_string(),
    })?;
    let mut text = String::new();
    let read = response.body_mut().as_reader().take(BODY_BYTES_MAX).read_to_string(&mut text);
    read.map(|_| text).map_err(|error| error.to_string())
}

fn tls() -> TlsConfig {
    let pem = std::fs::read(SYSTEM_AUTHORITIES).unwrap_or_default();
    let certificates: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&certificates))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}

#[cfg(test)]
mod tests;
