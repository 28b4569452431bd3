//! The product's server of `cargo xtask bench rpc`: answers each sample with what it decoded, encoded again.
//!
//! `--cost-us` adds work to every call, for the overload row.

mod sample;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use clap::Parser;
use sample::{ECHO, Sample};
use stadium_rpc::{Call, Listen, Server, ServerConfig, Service};

/// Where to listen, and what a call costs.
#[derive(Parser)]
struct Arguments {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Event loops
    #[arg(long, default_value_t = 1)]
    loops: usize,
    /// Microseconds that each call keeps the loop busy
    #[arg(long, default_value_t = 0)]
    cost_us: u64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let cost = Duration::from_micros(arguments.cost_us);
    let echo = Service::new("echo", "1").inline(
        &ECHO,
        move |_: &Call<'_>, request: &Sample, answer: &mut Sample| {
            if !cost.is_zero() {
                let until = Instant::now() + cost;
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
            }
            answer.id = request.id;
            answer.elements.extend_from_slice(&request.elements);
            answer.source = request.source;
            answer.kind = request.kind;
            Ok(())
        },
    );
    let config = ServerConfig {
        listen: vec![Listen::tcp(arguments.listen)],
        loops: arguments.loops,
        ..ServerConfig::default()
    };
    let server = Server::start(config, vec![echo])?;
    println!("listening {}", server.bound()[0]);
    loop {
        std::thread::park();
    }
}
