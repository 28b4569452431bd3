//! Which shard a name belongs to, and which one a machine is on.
//!
//! The same for ever, on every machine: journals depend on it.

/// Which shard of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its number, below `shards`.
    pub shard: u16,
    /// How many there are, 1 to 1,024.
    pub shards: u16,
    /// Keeps who chooses names from choosing them so that they collide. Anything; may differ at each start.
    pub hash_seed: u64,
}

impl Place {
    /// The shard that owns a name, where nothing else assigns it.
    pub fn home(name: &impl AsRef<str>, shards: u16) -> u16 {
        home(name.as_ref().as_bytes(), shards)
    }
}

/// The shard of a name, of so many: FNV-1a of its bytes, mixed.
pub fn home(bytes: &[u8], shards: u16) -> u16 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    // FNV's low bits mix poorly; the high half after one multiplication does not.
    let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (mixed % u64::from(shards.max(1))) as u16
}
