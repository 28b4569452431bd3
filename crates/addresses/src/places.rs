//! How many places each address holds: of connections, or of work that waits.
//!
//! Only addresses that hold a place are in the table, so the bound on all places bounds it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Prefix;

/// The places of all addresses.
#[derive(Debug, Default)]
pub struct Places {
    held: Mutex<HashMap<Prefix, usize>>,
}

/// A place that an address holds, until it is dropped.
#[derive(Debug)]
pub struct Place {
    of: Arc<Places>,
    prefix: Prefix,
}

impl Places {
    /// One more place for an address; none where it holds `max` already.
    pub fn take(self: &Arc<Self>, address: IpAddr, max: usize) -> Option<Place> {
        let prefix = Prefix::of(address);
        let mut held = self.held.lock();
        let count = held.get(&prefix).copied().unwrap_or_default();
        if count >= max {
            return None;
        }
        held.insert(prefix, count + 1);
        Some(Place { of: Arc::clone(self), prefix })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.of.held.lock();
        let Some(count) = held.get_mut(&self.prefix) else { return };
        *count -= 1;
        if *count == 0 {
            held.remove(&self.prefix);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_so_many_places_and_the_others_theirs() {
        let places = Arc::new(Places::default());
        let address = |text: &str| text.parse().expect("an address");
        let first = places.take(address("192.0.2.1"), 1).expect("a place");
        assert!(places.take(address("192.0.2.1"), 1).is_none());
        assert!(places.take(address("192.0.2.2"), 1).is_some());
        drop(first);
        assert!(places.held.lock().is_empty(), "an address without a place is forgotten");
        assert!(places.take(address("192.0.2.1"), 1).is_some());
    }
}
