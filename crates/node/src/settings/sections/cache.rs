//! `[cache]`: memcached servers that this server shares with others.
//!
//! The lifetimes of what they keep are settings of its source, such as `auth.callback.cache_s`.

use std::path::PathBuf;

use crate::settings::define::group;
use crate::settings::sections::access::Access;
use crate::settings::value::words;

words! {
    /// The rule that assigns keys to the servers of the cache.
    pub enum CacheRouting {
        /// Rendezvous hashing: the least moves when a server comes or goes.
        Rendezvous = "rendezvous",
        /// The ring of ketama with weights, as libmemcached has it.
        Ketama = "ketama",
    }
}

group! {
    /// memcached servers (1.6 or later) that several servers share. On when `servers` names one. The cache holds the answers of
    /// `[auth.callback]`. Without it, or when it fails, everything works and costs more.
    pub struct Cache {
        /// Each `HOST:PORT`, `HOST` for port 11211, or the path of a Unix socket. All servers that share them name the same ones.
        servers: Vec<String> = Vec::new();
        /// Each server's share of the keys beside the others', in the order of `servers`. Empty:
        /// equal shares. The same on all servers that share them.
        weights: Vec<u32> = Vec::new(), in 1..=100;
        /// The rule that assigns keys to them, the same on all servers that share them.
        routing: CacheRouting = CacheRouting::Rendezvous;
        /// Time by which the cache may delay a device that logs in: a half for reading, a half for writing.
        timeout_ms: u32 = 50, unit "ms", in 4..=2_000, cost "a cache that is slow delays devices for longer";
        /// Put before every key: distinguishes installations that share the memcached servers.
        namespace: String = "stadium:".to_owned();
        /// File with a secret of at least 32 bytes, the same on all servers that share answers, such as the output of
        /// `openssl rand -base64 48`. Keys are hashed with it and entries authenticated: memcached asks nobody for a password. Needed with
        /// `servers`.
        secret_file: Option<PathBuf> = None;
        /// Speak TLS 1.2 or 1.3 to servers with a TCP address (`memcached -Z`). Without `ca`, the
        /// authorities of this machine may sign their certificates, which must be for the hosts in
        /// `servers`.
        tls: bool = false;
    }
    with {
        /// The login, `user` and `password_file`, at servers that run as `memcached -Y`.
        access: Access,
    }
}
