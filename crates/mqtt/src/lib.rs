//! Stadium's mqtt.
