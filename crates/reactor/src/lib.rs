//! Stadium's reactor.
