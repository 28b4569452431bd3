//! MQTT 3.1.1 and 5.0 without I/O.
//!
//! [`packet`] holds the control packets as types, [`decode`] and [`encode`] turn bytes into them and
//! back, [`topic`] validates names and filters, and [`broker`] is the server's half of the protocol as
//! one state machine: it takes packets and the current time, and calls its host to send packets.
//! Nothing here opens a socket, reads a clock, starts a thread or draws a random number.

pub mod broker;
pub mod decode;
pub mod describe;
pub mod encode;
pub mod packet;
pub mod property;
pub mod reason;
pub mod topic;
