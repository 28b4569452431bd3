//! An S3 server on a loopback port, for benches and for a look: `s3s` over a temporary folder.
//!
//! Prints the variables that reach it, and an empty line. Ends when its standard input does, so it
//! never outlives the process that started it.

use std::io::Read as _;

use stadium_objects::s3_server::S3Server;

const BUCKET: &str = "backups";

fn main() {
    let server = S3Server::start(BUCKET);
    for (name, value) in server.environment() {
        println!("{name}={value}");
    }
    println!("STADIUM_BENCH_BUCKET={BUCKET}\n");
    let mut ignored = Vec::new();
    // An error is an end, too.
    let _ = std::io::stdin().read_to_end(&mut ignored);
}
