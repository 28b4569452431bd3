//! Requests a second, and CPU time of each, of an echo between two endpoints, beside the same by `rpc`.
//!
//! Both run in this process, over TLS and the loopback; one thread sends a batch, waits until all of it
//! is answered, and sends the next. The CPU time is that of the whole process: both ends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Parser;
use stadium_links::{
    Carrier, ClusterId, Endpoint, From, Incarnation, Lane, Letter, Member, NodeName, Outcome, Outgoing,
    Receiver, Reply, Request, Settings, Tag, Target, TlsSettings,
};
use stadium_reactor::tls::{
    ClientCertificates, ClientTls, ClientTlsSettings, ServerTls, ServerTlsSettings, SessionResumption, Trust,
};
use stadium_rpc::{Call, Client, ClientConfig, Listen, Method, Server, ServerConfig, Service};
use stadium_testing::certificates::Authority;

/// What is measured.
#[derive(Parser)]
struct Arguments {
    /// Seconds of each row
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Bytes of a request and of its answer
    #[arg(long, default_value_t = 100)]
    bytes: usize,
    /// Rounds: both sides in turn, for each batch
    #[arg(long, default_value_t = 1)]
    rounds: u32,
}

/// Echoes, and wakes the sender when all of its batch is answered.
struct Echo {
    left: AtomicU64,
    sender: Thread,
}

impl Receiver for Echo {
    fn request(&self, _from: From<'_>, request: Request<'_>, reply: Reply) {
        reply.answer(request.body);
    }

    fn letter(&self, _from: From<'_>, _letter: Letter<'_>) {}

    fn completed(&self, tag: Tag, outcome: Outcome<'_>) {
        if !matches!(outcome, Outcome::Answer(_)) {
            eprintln!("request {} was not answered: {outcome:?}", tag.0);
        }
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.sender.unpark();
        }
    }
}

fn tls(authority: &Authority, node: &str) -> Result<TlsSettings> {
    let identity = authority.node(node)?;
    let chain = std::fs::read(identity.certificate)?;
    Ok(TlsSettings::from_pem(&chain, &std::fs::read(identity.key)?, &std::fs::read(authority.file())?)?)
}

/// User and system time of this process so far.
fn cpu() -> Result<(Duration, Duration)> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The fields behind the name, which may have spaces; times are in hundredths of a second.
    let fields: Vec<&str> = stat.rsplit(") ").next().context("a stat has a name")?.split(' ').collect();
    let time =
        |place: usize| -> Result<Duration> { Ok(Duration::from_millis(10 * fields[place].parse::<u64>()?)) };
    Ok((time(11)?, time(12)?))
}

/// Runs batches for so long, and prints the row.
fn row(side: &str, batch: u64, seconds: f64, mut run: impl FnMut() -> Result<()>) -> Result<()> {
    for _ in 0..200 {
        run()?;
    }
    let (begun, (user, system)) = (Instant::now(), cpu()?);
    let mut requests = 0;
    while begun.elapsed().as_secs_f64() < seconds {
        run()?;
        requests += batch;
    }
    let (elapsed, (user_after, system_after)) = (begun.elapsed().as_secs_f64(), cpu()?);
    let each = |time: Duration| time.as_secs_f64() * 1e6 / requests as f64;
    println!(
        "{side:<6} {batch:>6} {:>12.0} {:>10.2} {:>10.2} {:>10.2}",
        requests as f64 / elapsed,
        each(user_after - user),
        each(system_after - system),
        each(user_after - user + system_after - system),
    );
    Ok(())
}

/// What `rpc` echoes.
#[derive(Clone, PartialEq, prost::Message)]
struct Bytes {
    #[prost(bytes = "vec", tag = "1")]
    body: Vec<u8>,
}

const ECHO: Method<Bytes, Bytes> = Method::unary("echo/Echo");

fn serve_rpc(tls: &TlsSettings) -> Result<(Server, Client)> {
    let server_tls = ServerTls::new(&ServerTlsSettings {
        identity: tls.identity.clone(),
        client_certificates: ClientCertificates::None,
        alpn: Vec::new(),
    })?;
    let client_tls = ClientTls::new(&ClientTlsSettings {
        server_name: "b".to_owned(),
        trust: Trust::Roots(tls.authorities.roots.clone()),
        identity: None,
        alpn: Vec::new(),
        resumption: SessionResumption::Off,
    })?;
    let mut listen = Listen::tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
    listen.tls = Some(server_tls);
    let echo = |_: &Call<'_>, request: &Bytes, answer: &mut Bytes| {
        answer.clone_from(request);
        Ok(())
    };
    let config = ServerConfig { listen: vec![listen], ..ServerConfig::default() };
    let server = Server::start(config, vec![Service::new("echo", "1").inline(&ECHO, echo)])?;
    let config = ClientConfig { tls: Some(client_tls), ..ClientConfig::at(server.bound().to_vec()) };
    Ok((server, Client::start(config)?))
}

fn main() -> Result<()> {
    let Arguments { seconds, bytes, rounds } = Arguments::parse();
    let authority = Authority::new()?;
    let echo = Arc::new(Echo { left: AtomicU64::new(0), sender: std::thread::current() });
    let start = |node: &str| -> Result<(Endpoint, NodeName)> {
        let (name, listen) = (NodeName::new(node)?, SocketAddr::from(([127, 0, 0, 1], 0)));
        let settings =
            Settings::new(ClusterId(1), name.clone(), Incarnation(1), listen, tls(&authority, node)?);
        Ok((Endpoint::start(settings, echo.clone())?, name))
    };
    let ((a, a_name), (b, b_name)) = (start("a")?, start("b")?);
    for (one, other, node) in [(&a, &b, &b_name), (&b, &a, &a_name)] {
        let (node, addresses) = (node.clone(), vec![other.address()]);
        one.set_member(Member { node, addresses, incarnation: Incarnation(1) });
    }
    while !a.figures().iter().all(|link| link.is_up) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let (_server, client) = serve_rpc(&tls(&authority, "b")?)?;
    let service = client.service("echo");
    let body = vec![7; bytes];
    let message = Bytes { body: body.clone() };
    println!("echo of {bytes} bytes over TLS; CPU of both ends in microseconds for each request");
    println!("{:<6} {:>6} {:>12} {:>10} {:>10} {:>10}", "", "batch", "requests/s", "user", "system", "CPU");
    for _ in 0..rounds {
        for batch in [1, 16, 100] {
            row("links", batch, seconds, || {
                echo.left.store(batch, Ordering::Release);
                for tag in 0..batch {
                    let outgoing = Outgoing { target: Target::default(), body: &body };
                    a.request(&b_name, Lane::Data, Duration::from_secs(10), Tag(tag), outgoing)?;
                }
                while echo.left.load(Ordering::Acquire) > 0 {
                    std::thread::park();
                }
                Ok(())
            })?;
            row("rpc", batch, seconds, || {
                let calls: Vec<_> = (0..batch).map(|_| service.call(&ECHO, &message)).collect();
                for call in calls {
                    call.wait().map_err(|error| anyhow::anyhow!("{error:?}"))?;
                }
                Ok(())
            })?;
        }
    }
    Ok(())
}
