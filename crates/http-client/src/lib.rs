//! HTTP from the client's side, without I/O: HTTP/1.1, HTTP/2 and event streams.
//!
//! It takes bytes and returns bytes and events; sockets, TLS and time are its user's.
