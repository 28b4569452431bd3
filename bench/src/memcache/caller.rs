//! The contenders: clients of memcached, and the bare loop. Their programs are those of
//! bench/peers/memcache, and an example of crates/memcache.

use std::process::Command;

use crate::figure::Contender;
use crate::process::Cores;
use crate::program::java_on;
use crate::rpc::peer::HEAP;
use crate::server::Places;

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Caller {
    /// crates/memcache.
    Rust,
    /// sdk/jvm/memcache.
    Jvm,
    /// Xmemcached.
    Xmemcached,
    /// Folsom.
    Folsom,
    /// spymemcached.
    Spymemcached,
    /// The crate `async-memcached`.
    AsyncMemcached,
    /// The crate `memcache-async`.
    MemcacheAsync,
    /// The bare loop, [`super::bare`].
    Bare,
}

impl Contender for Caller {
    fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Jvm => "jvm",
            Self::Xmemcached => "xmemcached",
            Self::Folsom => "folsom",
            Self::Spymemcached => "spymemcached",
            Self::AsyncMemcached => "crate async-memcached",
            Self::MemcacheAsync => "crate memcache-async",
            Self::Bare => "bare loop",
        }
    }
}

/// All of them, in the order of the page.
pub(super) const CALLERS: &[Caller] = &[
    Caller::Rust,
    Caller::Jvm,
    Caller::Xmemcached,
    Caller::Folsom,
    Caller::Spymemcached,
    Caller::AsyncMemcached,
    Caller::MemcacheAsync,
    Caller::Bare,
];

impl Caller {
    /// True for a virtual machine, which compiles its code while it runs.
    pub(super) fn has_virtual_machine(self) -> bool {
        matches!(self, Self::Jvm | Self::Xmemcached | Self::Folsom | Self::Spymemcached)
    }

    /// Its program, pinned.
    pub(super) fn program(self, places: &Places) -> Command {
        let cores = Cores::Second;
        let jvm = |name| {
            let mut command = java_on(cores, HEAP, &places.memcache_class_path());
            command.args(["stadium.peers.MemcacheMain", name]);
            command
        };
        let of_crate = |name| {
            let mut command = cores.command(&places.target.join("peers/memcache/release/memcache-peers"));
            command.arg(name);
            command
        };
        match self {
            Self::Rust => cores.command(&places.example("memcache_load")),
            Self::Jvm => jvm("stadium"),
            Self::Xmemcached => jvm("xmemcached"),
            Self::Folsom => jvm("folsom"),
            Self::Spymemcached => jvm("spymemcached"),
            Self::AsyncMemcached => of_crate("async-memcached"),
            Self::MemcacheAsync => of_crate("memcache-async"),
            Self::Bare => {
                let mut command = cores.command(&places.bench);
                command.arg("bare-memcache");
                command
            }
        }
    }
}
