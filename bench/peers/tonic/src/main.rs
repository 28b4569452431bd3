//! tonic beside Stadium: `server` echoes by decoding and encoding, `client` keeps calls in flight.
//!
//! Both run on tokio's current-thread runtime, because each has one core. The arguments and the line of JSON are those of
//! every peer, see bench/README.md.

mod client;
mod server;

/// What build.rs makes of bench/proto/echo.proto.
mod proto {
    tonic::include_proto!("stadium.bench.v1");
}

use std::net::SocketAddr;

use clap::{Parser, Subcommand};

/// Streams of one connection at once; the busiest cell has 200.
const STREAMS_MAX: u32 = 1024;
/// HTTP/2 windows: no message of the bench waits for a window update.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 8 << 20;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    program: Program,
}

#[derive(Subcommand)]
enum Program {
    /// Answers until it is killed
    Server {
        /// Address
        #[arg(long)]
        listen: SocketAddr,
    },
    /// One cell of the bench
    Client(client::Options),
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match Arguments::parse().program {
        Program::Server { listen } => runtime.block_on(server::run(listen)),
        Program::Client(options) => tokio::task::LocalSet::new().block_on(&runtime, client::run(options)),
    }
}
