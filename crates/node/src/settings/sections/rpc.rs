//! `[rpc]`: the services of this process, and devices' way to all services.
//!
//! Where other services are is in `[discovery]`; a service's work is its own business.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::settings::define::group;
use crate::settings::sections::auth::CertificateName;
use crate::settings::sections::listeners::{SocketOptions, Tls};
use crate::settings::sections::principals::{CallerIdentities, Tokens};
use crate::settings::value::Addresses;

group! {
    /// RSocket 1.0 with Protocol Buffers: the services of this process. With `certificate` and `key` it speaks TLS.
    pub struct Rpc {
        /// Where to listen. The default is this machine only. Elsewhere, callers must show a certificate
        /// (`client_certificates = "required"`), or `open` must be on.
        listen: Addresses = Addresses::loopback(7800);
        /// Where to listen for RSocket over WebSocket, for browsers and what stands behind HTTP proxies.
        websocket_listen: Addresses = Addresses::off();
        /// Path of its upgrade request.
        websocket_path: String = "/rpc".to_owned();
        /// Where to take requests that fit a datagram and may be lost. They are not encrypted, whatever `certificate` says.
        udp_listen: Option<SocketAddr> = None;
        /// Let callers from other machines in without a certificate: behind a firewall that knows who may call.
        open: bool = false, cost "whoever reaches the port may call; the server's own services and operating methods still ask for a key, a token or a certificate with rights";
        /// The rights of callers that show a certificate and no bearer token, by the certificate's name:
        /// `"billing.internal" = { roles = ["sender"], apps = ["shop"], grants = ["queue.put:imports"] }`.
        /// Each needs a role or a grant; the roles are about `apps` alone where those are named. Needs
        /// `client_certificates`.
        identities: CallerIdentities = CallerIdentities::default(), cost "whoever signs certificates of a name gives its rights away";
        /// The part of a certificate that is the name; it must stand there exactly once.
        identity_name: CertificateName = CertificateName::CommonName;
        /// Authorities that sign the certificates of other services, PEM. With it, devices' requests reach services over TLS,
        /// showing `certificate` where they ask for one. Read when the server starts.
        calls_ca: Option<PathBuf> = None;
        /// The name that the certificates of other services carry, the same for all, such as `services.internal`.
        calls_server_name: Option<String> = None;
        /// Event loops of the services, one thread each.
        loops: u16 = 1, unit "threads", in 1..=64, cost "a thread and a 256 KB read buffer";
        /// Deadline of a request that names none.
        deadline_ms: u32 = 5_000, unit "ms", in 1..=3_600_000, cost "work for callers that have given up";
        /// Longest deadline that a request may name; a longer one is cut to it.
        deadline_max_ms: u32 = 600_000, unit "ms", in 1..=86_400_000, cost "state of requests that take long";
        /// How long a request for an inline function may wait for its turn before it is answered
        /// busy.
        inline_wait_max_ms: u32 = 10, unit "ms", in 1..=60_000, cost "latency under overload, to about twice of it";
        /// Requests that asynchronous and blocking functions work on at once before anything was measured, for each loop. The
        /// limit doubles while latency stays flat.
        concurrency_initial: u32 = 200, unit "requests", in 1..=1_000_000, cost "latency at the start where functions calculate";
        /// The least number of requests that asynchronous and blocking functions work on at once, for each loop.
        concurrency_min: u32 = 4, unit "requests", in 1..=1_000_000;
        /// The most; between the two the limit follows the measured latency.
        concurrency_max: u32 = 10_000, unit "requests", in 1..=1_000_000, cost "memory for each request";
        /// Requests that may wait for asynchronous and blocking functions, for each loop; the next
        /// is answered busy.
        queue_max: u32 = 1_000, unit "requests", in 0..=1_000_000, cost "latency of what waits";
        /// Threads for blocking functions.
        blocking_threads: u16 = 4, unit "threads", in 1..=1_024;
        /// Give leases to clients that ask for them, from the same signal as busy answers.
        leases: bool = true;
        /// Largest frame taken.
        frame_bytes_max: u32 = 16_777_215, unit "bytes", in 1_024..=16_777_215, cost "a connection may hold one partial frame of this size";
        /// Larger payloads are sent in fragments of this size, between which other streams get their turn.
        fragment_bytes: u32 = 65_536, unit "bytes", in 1_024..=16_777_215, cost "how long one stream holds a connection up";
        /// Largest payload put together from fragments.
        payload_bytes_max: u32 = 16_777_216, unit "bytes", in 1_024..=1_073_741_824, cost "a connection may hold as much";
        /// Connections of callers. More are closed as they come, and counted.
        connections_max: u32 = 50_000, unit "connections", in 1..=10_000_000, cost "a descriptor and some hundred bytes each";
        /// Bytes that all connections may hold together of unfinished frames and fragments. Beyond it connections are cut, the one
        /// that holds most first, and counted.
        partial_bytes_max: u32 = 268_435_456, unit "bytes", in 1_048_576..=4_294_967_295, cost "as much memory";
        /// Streams that a connection may have open.
        streams_max: u32 = 100_000, unit "streams", in 1..=2_147_483_647, cost "state for each";
        /// Bytes kept for each connection that may be resumed. 0 turns resumption off.
        resume_bytes_max: u32 = 262_144, unit "bytes", in 0..=1_073_741_824, cost "as much memory for each connection that asked for it";
        /// How long a lost connection may be resumed.
        resume_s: u32 = 60, unit "s", in 1..=86_400, cost "what is kept is kept for longer";
        /// A message of a ticking stream waits up to this for others of its connection, so that they leave in one write.
        tick_ms: u32 = 64, unit "ms", in 1..=1_000, cost "lateness";
    }
    with {
        /// Its certificates.
        tls: Tls,
        /// Its sockets.
        sockets: SocketOptions,
    }
    tables {
        /// Callers with signed tokens.
        tokens: Tokens,
        /// Devices' way to services.
        devices: Devices,
    }
}

group! {
    /// Requests of devices: an MQTT 5.0 PUBLISH to `rpc/SERVICE/METHOD` with a Response Topic is answered there. A device
    /// needs a rule that lets it publish to the one and subscribe to the other.
    pub struct Devices {
        /// Whether `rpc/` topics are requests. When off they are topics like any other.
        enabled: bool = true;
        /// Requests of all devices whose answer has not left. One more is refused with quota exceeded.
        in_flight_max: u32 = 10_000, unit "requests", in 1..=10_000_000, cost "about 1 KB and the payload each";
        /// The same for one device.
        per_device_max: u32 = 16, unit "requests", in 1..=1_000_000;
        /// Deadline of a request without a Message Expiry Interval.
        deadline_ms: u32 = 5_000, unit "ms", in 1..=3_600_000;
        /// Longest deadline that a Message Expiry Interval can ask for.
        deadline_max_ms: u32 = 60_000, unit "ms", in 1..=3_600_000, cost "requests in flight for longer";
        /// How long an answer at QoS 1 or 2 is kept for a device that is away or slow.
        answer_expiry_s: u32 = 60, unit "s", in 1..=86_400;
        /// How long a device is asked to wait that found a bound reached.
        busy_retry_after_ms: u32 = 500, unit "ms", in 1..=600_000;
    }
}
