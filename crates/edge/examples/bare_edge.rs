//! The edge alone, without HTTP, settings or signals: for profiling and for reading.
//!
//! `cargo run --profile profiling -p stadium-edge --example bare_edge -- 127.0.0.1:1883 1` lets anybody do
//! anything on one loop until it is killed.

use std::sync::Arc;

use stadium_edge::auth::{AnonymousAccess, AuthConfig, Authenticator, RulesConfig};
use stadium_edge::{Config, Edge};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:1883".to_owned()).parse()?;
    let loops = arguments.next().map_or(Ok(1), |loops| loops.parse())?;
    let auth = AuthConfig {
        anonymous: AnonymousAccess::Anyone,
        rules: RulesConfig::Everything,
        ..AuthConfig::default()
    };
    let config = Config { loops, ..Config::new(Arc::new(Authenticator::open(&auth)?)) }.listen_tcp(address);
    let edge = Edge::start(config)?;
    eprintln!("listening on {}", edge.bound()[0].address);
    loop {
        std::thread::park();
    }
}
