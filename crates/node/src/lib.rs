//! Stadium's node.
