//! Which calls a server takes on, and what it tells the others; no I/O.
