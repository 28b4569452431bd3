//! `[server]`: the process itself, its threads, its directory and how it ends.
//!
//! Nothing here concerns a single connection; bounds of those are in `[limits]`.

use std::path::PathBuf;

use crate::settings::define::group;

group! {
    /// The process: its threads, where it keeps its files, and how it ends.
    pub struct Server {
        /// Event loops, one thread each. 0 means one for each core this process may run on.
        loops: u16 = 0, unit "threads", in 0..=64,
            cost "a thread, a 256 KB read buffer and a listening socket for each listener";
        /// Cores that loops are pinned to: loop 0 to the first, and so on; loops beyond the list are not pinned.
        cpu_affinity: Vec<u16> = Vec::new(), in 0..=4_095;
        /// Directory of all state: API keys and their admin key. Made with mode 0700 when it does not exist.
        data: PathBuf = PathBuf::from("stadium-data");
        /// Trial mode: loopback only, anonymous devices, every topic allowed, the live page without a key, a WebSocket
        /// echo at `/echo`. For newcomers and conformance suites; never for production.
        trial: bool = false;
        /// Origins of web pages that may open a WebSocket here (MQTT and RSocket), such as
        /// `https://app.example.org`. Pages of the host that the browser connects to may always,
        /// and so may clients that are no browser. `"*"` allows all.
        allowed_origins: Vec<String> = Vec::new(), cost "what a page of that origin does in a visitor's browser";
        /// How long a drain may take after SIGTERM before connections that are left are cut.
        grace_period_s: u32 = 25, unit "s", in 0..=3_600,
            cost "a slower stop; keep it under what the container runtime allows (Kubernetes: 30 s)";
        /// Devices moved away each second of a drain, so that no herd forms elsewhere. When this would take longer than four
        /// fifths of the grace period, they are moved faster.
        drain_devices_per_second: u32 = 1_000, unit "devices/s", in 1..=10_000_000,
            cost "a larger herd at the servers that take over";
        /// Where an MQTT 5.0 device is sent to when this server drains (Server Reference). Empty
        /// names no server.
        drain_server_reference: Option<String> = None;
    }
}
