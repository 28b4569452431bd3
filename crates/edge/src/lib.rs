//! Stadium's edge.
