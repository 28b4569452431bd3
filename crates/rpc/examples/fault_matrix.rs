//! An instance and a client for the fault matrix: testing/src/faults.rs puts networks between them that fail.
//!
//! `instance` serves `fault/Work` and obeys lines of its standard input: `slow MS` makes each call take so much longer.
//! `client` calls at a fixed rate, whatever the answers do, and obeys `measure` and `stop`; then it prints what became of
//! the calls between the two as one line of JSON. A call that failed counts as late as its deadline. Both end with their
//! standard input.

use std::collections::BTreeMap;
use std::future::Future as _;
use std::io::BufRead as _;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand, ValueEnum};
use stadium_discovery::{Backend, Config as DiscoveryConfig, Discovery};
use stadium_rpc::balance::{ClientId, Policy};
use stadium_rpc::{
    CallContext, CallError, Client, ClientConfig, Listen, Method, Pending, Server, ServerConfig, Service,
};

type Error = Box<dyn std::error::Error + Send + Sync>;

const WORK: Method<String, String> = Method::unary("fault/Work").idempotent();

/// The deadline of each call.
const DEADLINE: Duration = Duration::from_secs(1);

/// Calls that must have gone well, one after the other, before a client reports that it is warm.
const WARM: u32 = 200;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Serve
    Instance {
        /// Where to listen
        #[arg(long)]
        listen: SocketAddr,
        /// etcd's address, to register there
        #[arg(long)]
        etcd: Option<String>,
    },
    /// Call
    Client {
        /// The instances
        #[arg(long, value_delimiter = ',')]
        instances: Vec<SocketAddr>,
        /// etcd's address, to find the instances there
        #[arg(long)]
        etcd: Option<String>,
        /// How an instance is chosen
        #[arg(long)]
        policy: Chosen,
        /// Calls a second
        #[arg(long, default_value_t = 250)]
        rate: u32,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Chosen {
    /// As a client is by default
    Default,
    /// One instance after the other, no call twice
    RoundRobin,
}

fn main() -> Result<(), Error> {
    match Arguments::parse().role {
        Role::Instance { listen, etcd } => instance(listen, etcd),
        Role::Client { instances, etcd, policy, rate } => client(instances, etcd, policy, rate),
    }
}

fn discovery(etcd: String) -> Result<Discovery, Error> {
    let backend = Backend::Etcd { endpoints: vec![format!("http://{etcd}")], user: None, tls: None };
    Ok(Discovery::start(DiscoveryConfig { backend, ..DiscoveryConfig::default() })?)
}

fn instance(listen: SocketAddr, etcd: Option<String>) -> Result<(), Error> {
    let slow_ms = Arc::new(AtomicU64::new(0));
    let slow = Arc::clone(&slow_ms);
    let service = Service::new("fault", "1").blocking(&WORK, move |_: CallContext, request: String| {
        match slow.load(Ordering::Relaxed) {
            0 => {}
            ms => std::thread::sleep(Duration::from_millis(ms)),
        }
        Ok(request)
    });
    let config = ServerConfig {
        listen: vec![Listen::tcp(listen)],
        // Enough that an instance that takes 200 ms for each call is slow, and not full.
        blocking_threads: 64,
        discovery: etcd.map(discovery).transpose()?,
        ..ServerConfig::default()
    };
    let server = Server::start(config, vec![service])?;
    println!("listening {}", server.bound()[0]);
    for line in std::io::stdin().lock().lines() {
        if let Some(ms) = line?.strip_prefix("slow ") {
            slow_ms.store(ms.parse()?, Ordering::Relaxed);
        }
    }
    server.stop();
    Ok(())
}

/// What the calling thread wakes up for.
enum Word {
    Ready(usize),
    Measure,
    Stop,
}

struct Ready(usize, Sender<Word>);

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        // Nobody listens once the figures are out.
        let _ = self.1.send(Word::Ready(self.0));
    }
}

struct Flight {
    due: Instant,
    pending: Pending<String>,
    waker: Waker,
    measured: bool,
}

#[derive(Default)]
struct Figures {
    latencies_us: Vec<u64>,
    failures: BTreeMap<&'static str, u64>,
}

fn client(instances: Vec<SocketAddr>, etcd: Option<String>, policy: Chosen, rate: u32) -> Result<(), Error> {
    let mut config = match etcd {
        Some(etcd) => ClientConfig::discovered(discovery(etcd)?),
        None => ClientConfig::at(instances),
    };
    config.balance.client = ClientId(u64::from(std::process::id()));
    config.deadline = DEADLINE;
    if let Chosen::RoundRobin = policy {
        config.balance.policy = Policy::RoundRobin;
        config.retry.attempts_max = 1;
        config.hedge = None;
    }
    let client = Client::start(config)?;
    let service = client.service("fault");
    let (words, inbox) = channel();
    let orders = words.clone();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let word = if line == "measure" { Word::Measure } else { Word::Stop };
            if orders.send(word).is_err() {
                return;
            }
        }
        let _ = orders.send(Word::Stop);
    });
    let mut caller = Caller {
        inbox,
        words,
        flights: Vec::new(),
        free: Vec::new(),
        figures: Figures::default(),
        in_a_row: 0,
    };
    caller.run(|| service.call(&WORK, &"do".to_owned()), Duration::from_secs(1) / rate);
    caller.figures.print();
    Ok(())
}

struct Caller {
    inbox: Receiver<Word>,
    words: Sender<Word>,
    flights: Vec<Option<Flight>>,
    free: Vec<usize>,
    figures: Figures,
    in_a_row: u32,
}

impl Caller {
    fn run(&mut self, call: impl Fn() -> Pending<String>, interval: Duration) {
        let mut due = Instant::now();
        let (mut measuring, mut stopping, mut warm) = (false, false, false);
        loop {
            let now = Instant::now();
            while due <= now && !stopping {
                self.begin(due, call(), measuring);
                due += interval;
            }
            if stopping && self.flights.iter().all(Option::is_none) {
                return;
            }
            let wait = if stopping { DEADLINE } else { due.saturating_duration_since(now) };
            match self.inbox.recv_timeout(wait) {
                Ok(Word::Ready(place)) => self.poll(place),
                Ok(Word::Measure) => measuring = true,
                Ok(Word::Stop) => stopping = true,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if !warm && self.in_a_row >= WARM {
                warm = true;
                println!("warm");
            }
        }
    }

    fn begin(&mut self, due: Instant, pending: Pending<String>, measured: bool) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.flights.push(None);
            self.flights.len() - 1
        });
        let waker = Waker::from(Arc::new(Ready(place, self.words.clone())));
        self.flights[place] = Some(Flight { due, pending, waker, measured });
        self.poll(place);
    }

    fn poll(&mut self, place: usize) {
        let Some(flight) = &mut self.flights[place] else { return };
        let waker = flight.waker.clone();
        let Poll::Ready(answer) = Pin::new(&mut flight.pending).poll(&mut Context::from_waker(&waker)) else {
            return;
        };
        self.in_a_row = if answer.is_ok() { self.in_a_row + 1 } else { 0 };
        if flight.measured {
            let failure = answer.err().map(|error| kind(&error));
            let latency = if failure.is_some() { DEADLINE } else { flight.due.elapsed() };
            self.figures.latencies_us.push(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX));
            if let Some(failure) = failure {
                *self.figures.failures.entry(failure).or_default() += 1;
            }
        }
        self.flights[place] = None;
        self.free.push(place);
    }
}

fn kind(error: &CallError) -> &'static str {
    match error {
        CallError::Busy { .. } => "busy",
        CallError::Rejected { .. } => "rejected",
        CallError::Unknown { .. } => "unknown",
        CallError::Application { .. } => "application",
        CallError::Deadline => "deadline",
        CallError::Unavailable(_) => "unavailable",
        CallError::Broken(_) => "broken",
        CallError::Cancelled => "cancelled",
        CallError::Protocol(_) => "protocol",
    }
}

impl Figures {
    fn print(mut self) {
        self.latencies_us.sort_unstable();
        let count = self.latencies_us.len();
        let at = |part: f64| {
            let index = ((count as f64 * part) as usize).min(count.saturating_sub(1));
            self.latencies_us.get(index).copied().unwrap_or_default()
        };
        let failures: Vec<String> =
            self.failures.iter().map(|(kind, number)| format!("\"{kind}\": {number}")).collect();
        println!(
            "{{\"calls\": {count}, \"failed\": {}, \"p50_us\": {}, \"p99_us\": {}, \"max_us\": {}, \"failures\": {{{}}}}}",
            self.failures.values().sum::<u64>(),
            at(0.5),
            at(0.99),
            at(1.0),
            failures.join(", ")
        );
    }
}
