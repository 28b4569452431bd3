//! The binary `stadium`.
fn main() {}
