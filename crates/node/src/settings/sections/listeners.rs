//! `[mqtt]`, `[mqtts]`, `[ws]`, `[wss]`: where devices connect, and what each listener's sockets are like.
//!
//! The socket options are one group that every listener has, so that a TLS listener for phones and a TCP
//! listener inside the data centre can be tuned apart.

use std::path::PathBuf;

use crate::settings::define::group;
use crate::settings::value::{Addresses, words};

words! {
    /// What a TLS listener asks of clients.
    pub enum ClientCertificates {
        /// Never asked for.
        None = "none",
        /// Asked for, verified when given.
        Optional = "optional",
        /// No handshake without one.
        Required = "required",
    }
}

words! {
    /// Whether connections begin with a PROXY protocol header.
    pub enum ProxyProtocol {
        /// They do not.
        Off = "off",
        /// Every connection must: one without is closed.
        V2 = "v2",
    }
}

group! {
    /// What a listener of devices asks of the kernel, how its connections begin and how long they may last.
    pub struct Sockets {
        /// Listening sockets of each loop. More of them multiply the accept queue past `net.core.somaxconn`.
        accept_sockets: u16 = 1, unit "sockets", in 1..=64, cost "a file descriptor each";
        /// Whether a load balancer in front sends the PROXY protocol, so that limits see the device's own address.
        proxy_protocol: ProxyProtocol = ProxyProtocol::Off;
        /// Networks of those load balancers, such as `10.0.0.0/8`. A connection from elsewhere is
        /// refused: whoever sends the header chooses the address that limits and logs see. None
        /// listed: loopback, private and link-local networks.
        proxy_networks: Vec<String> = Vec::new();
    }
    with {
        /// What every listener has.
        options: SocketOptions,
    }
}

group! {
    /// What a listener asks of the kernel and how long its connections may last.
    pub struct SocketOptions {
        /// Connections the kernel keeps complete until they are accepted. The kernel lowers it to `net.core.somaxconn`.
        backlog: u32 = 4_096, unit "connections", in 1..=65_535,
            cost "kernel memory while a herd waits; a small one makes a herd retry after 1, 3, 7 seconds";
        /// Kernel send buffer of each connection. 0 leaves it to the kernel.
        send_buffer_bytes: u32 = 0, unit "bytes", in 0..=67_108_864,
            cost "kernel memory for each slow reader, up to twice this";
        /// Kernel receive buffer of each connection. 0 leaves it to the kernel.
        receive_buffer_bytes: u32 = 0, unit "bytes", in 0..=67_108_864,
            cost "kernel memory for each connection that sends faster than we read, up to twice this";
        /// Send small packets at once (TCP_NODELAY). All of a turn already leaves in one write.
        nodelay: bool = true;
        /// Bind although connections of an earlier process linger (SO_REUSEADDR).
        reuse_address: bool = true;
        /// Quiet time before the kernel probes the peer. 0 turns TCP keep-alive off, which suits mobile networks:
        /// MQTT has its own.
        keepalive_idle_s: u32 = 0, unit "s", in 0..=86_400;
        /// Time between TCP keep-alive probes.
        keepalive_interval_s: u32 = 15, unit "s", in 1..=3_600;
        /// TCP keep-alive probes lost before the connection is dead.
        keepalive_count: u32 = 4, unit "probes", in 1..=127;
        /// How long data may stay unacknowledged before the kernel gives the connection up (TCP_USER_TIMEOUT). 0 leaves
        /// the kernel's 15 retries: about 15 minutes of pushing to nobody.
        user_timeout_ms: u32 = 30_000, unit "ms", in 0..=900_000,
            cost "a vanished device is believed alive for longer";
        /// Longest life of a connection, after which it is asked to reconnect. 0 means no limit.
        maximum_age_s: u32 = 0, unit "s", in 0..=31_536_000;
        /// Longest time without a byte from the peer, beside MQTT's keep-alive. 0 means no limit.
        maximum_idle_s: u32 = 0, unit "s", in 0..=31_536_000;
    }
}

group! {
    /// Certificates and versions of a TLS listener. SIGHUP reads the files again; open connections keep theirs.
    pub struct Tls {
        /// Certificate chain of the server, PEM, leaf first.
        certificate: Option<PathBuf> = None;
        /// Its private key, PEM (PKCS#8, PKCS#1 or SEC1).
        key: Option<PathBuf> = None;
        /// Authorities whose client certificates are accepted, PEM.
        client_ca: Option<PathBuf> = None;
        /// Revocation lists of those authorities, PEM. A certificate on one of them is refused.
        /// Tickets of TLS sessions that were issued before a changed list or authority are no
        /// longer good.
        client_crl: Option<PathBuf> = None;
        /// Whether a device shows a certificate.
        client_certificates: ClientCertificates = ClientCertificates::None;
    }
}

group! {
    /// MQTT 3.1.1 and 5.0 over TCP.
    pub struct Mqtt {
        /// Where to listen. The default is this machine only; `"0.0.0.0:1883"` is every network.
        listen: Addresses = Addresses::loopback(1883);
        /// Time between two publications of the server's figures in `$SYS/broker/...`, on all
        /// listeners. Nothing is published while nobody subscribes to them. 0 turns them off.
        sys_interval_s: u32 = 10, unit "s", in 0..=86_400, cost "figures that are older; less costs about 50 messages for each subscriber and interval";
    }
    with {
        /// Its sockets.
        sockets: Sockets,
    }
}

group! {
    /// MQTT over TLS. Off until it has an address, a certificate and a key.
    pub struct Mqtts {
        /// Where to listen; 8883 is MQTT's port over TLS.
        listen: Addresses = Addresses::off();
    }
    with {
        /// Its certificates.
        tls: Tls,
        /// Its sockets.
        sockets: Sockets,
    }
}

group! {
    /// MQTT over WebSocket on a port of its own. The HTTP port serves `/mqtt` as well.
    pub struct Ws {
        /// Where to listen.
        listen: Addresses = Addresses::off();
        /// Path of the upgrade request.
        path: String = "/mqtt".to_owned();
    }
    with {
        /// Its sockets.
        sockets: Sockets,
    }
}

group! {
    /// MQTT over WebSocket over TLS. Off until it has an address, a certificate and a key.
    pub struct Wss {
        /// Where to listen.
        listen: Addresses = Addresses::off();
        /// Path of the upgrade request.
        path: String = "/mqtt".to_owned();
    }
    with {
        /// Its certificates.
        tls: Tls,
        /// Its sockets.
        sockets: Sockets,
    }
}
