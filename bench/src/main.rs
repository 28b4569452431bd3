//! Benchmarks against peers.
fn main() {}
