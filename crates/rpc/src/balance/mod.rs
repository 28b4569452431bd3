//! Which instance gets a call, and whether a call may be tried again; no I/O.
