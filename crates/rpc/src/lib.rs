//! Services and their clients: RSocket on the reactor, Protocol Buffers as payloads.
//!
//! A service maps a request type to a function. A client returns a future for every call, spreads
//! calls over the instances that discovery knows, and defends itself: deadlines, budgets, ejection.
//! [`balance`] and [`admission`] decide and do no I/O; loops, sockets and threads are the drivers'.

pub mod admission;
pub mod balance;
