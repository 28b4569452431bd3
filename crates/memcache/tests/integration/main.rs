//! The client against a real memcached, against libmemcached, and against servers that misbehave.

mod authentication;
mod chaos;
mod compression;
mod datagrams;
mod executor;
mod faults;
mod hostile;
mod interoperation;
mod memcached;
mod metrics;
mod operations;
mod order;
mod pipeline;
mod proxy;
mod recache;
mod routing;
mod tls;
