//! The product's server of `cargo xtask bench streams`: each request-stream gets one message a second.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use stadium_rpc::{Call, Listen, Method, Next, Server, ServerConfig, Service, Ticks};

/// Any request will do; its fields are skipped.
#[derive(Clone, PartialEq, prost::Message)]
struct Open {}

/// How many came before it.
#[derive(Clone, PartialEq, prost::Message)]
struct Tick {
    #[prost(fixed64, tag = "1")]
    number: u64,
}

const TICKS: Method<Open, Tick> = Method::stream("ticks/Ticks");
const PERIOD: Duration = Duration::from_secs(1);

/// A stream's state.
struct Counter(u64);

impl Ticks<Tick> for Counter {
    fn tick(&mut self, message: &mut Tick) -> Next {
        self.0 += 1;
        message.number = self.0;
        Next::After(PERIOD)
    }
}

/// Where to listen, and how finely times are kept.
#[derive(Parser)]
struct Arguments {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Milliseconds to which times are rounded up; the server's default where absent
    #[arg(long)]
    tick_ms: Option<u64>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let ticks = Service::new("ticks", "1").ticking(&TICKS, |_: &Call<'_>, _: &Open| Ok((PERIOD, Counter(0))));
    let mut config = ServerConfig { listen: vec![Listen::tcp(arguments.listen)], ..ServerConfig::default() };
    if let Some(tick_ms) = arguments.tick_ms {
        config.tick_ms = tick_ms;
    }
    let server = Server::start(config, vec![ticks])?;
    println!("listening {}", server.bound()[0]);
    loop {
        std::thread::park();
    }
}
