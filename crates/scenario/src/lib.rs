//! Scenarios: what simulated users do, from the text that people write to the program that an engine runs.
//!
//! Nothing here opens a socket or a file or reads a clock: texts, tables and random numbers are given.
