//! The framework's own messages, generated from proto/stadium/rpc/v1/service.proto.
//!
//! They are what the traits of every service speak: health, describe, statistics, quiesce, log level.
//! Field docs come from the contract; the routes are in the server, which answers them.

#![allow(missing_docs, reason = "generated code")]

include!(concat!(env!("OUT_DIR"), "/stadium.rpc.v1.rs"));
