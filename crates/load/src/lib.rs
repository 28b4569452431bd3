//! Stadium's load.
