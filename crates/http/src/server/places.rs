//! The places that connections take: one of all, one of their address; and a few spare ones.
//!
//! A connection that gets no place may still ask for health in a spare one. Spare places for a full
//! port and for a full address are apart, so one address cannot take those of all others.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use stadium_addresses::{Place, Places as ByAddress};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Config;
use crate::request::problem::{CONNECTIONS_FULL, Problem};

/// Connections over a bound that are answered at once; beyond that they are closed without an
/// answer. Each takes a descriptor for a second at most.
const SPARE_MAX: usize = 32;

/// All places of the port.
pub(crate) struct Places {
    all: Arc<Semaphore>,
    by_address: Arc<ByAddress>,
    address_max: usize,
    /// Spare ones while the port is full.
    port_full: Arc<Semaphore>,
    /// Spare ones of addresses that are full.
    address_full: Arc<Semaphore>,
}

/// The place that a connection gets.
pub(crate) enum Entry {
    /// A place.
    Whole(Held),
    /// A spare place: it may ask for health, and is closed then.
    Spare(OwnedSemaphorePermit, Full),
    /// Nothing.
    None,
}

/// The place of a connection, until it is dropped.
pub(crate) struct Held {
    _one_of_all: OwnedSemaphorePermit,
    _one_of_its_address: Place,
}

/// Which bound is reached.
#[derive(Clone, Copy)]
pub(crate) enum Full {
    /// The port's.
    Port,
    /// The address's.
    Address,
}

impl Full {
    /// The answer to all requests but those for health.
    pub(crate) fn problem(self) -> Problem {
        let detail = match self {
            Self::Port => "close a connection before opening another (http.connections_max)",
            Self::Address => {
                "your address has too many: close one before opening another \
                 (http.connections_per_address_max)"
            }
        };
        Problem::new(CONNECTIONS_FULL, detail).retry_after(Duration::from_secs(1))
    }
}

impl Places {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            all: Arc::new(Semaphore::new(config.connections_max)),
            by_address: Arc::default(),
            address_max: config.connections_per_address_max,
            port_full: Arc::new(Semaphore::new(SPARE_MAX)),
            address_full: Arc::new(Semaphore::new(SPARE_MAX)),
        }
    }

    /// A place for a connection from this address.
    pub(crate) fn enter(&self, address: IpAddr) -> Entry {
        let spare = |of: &Arc<Semaphore>, full| match Arc::clone(of).try_acquire_owned() {
            Ok(permit) => Entry::Spare(permit, full),
            Err(_) => Entry::None,
        };
        let Some(one_of_its_address) = self.by_address.take(address, self.address_max) else {
            return spare(&self.address_full, Full::Address);
        };
        match Arc::clone(&self.all).try_acquire_owned() {
            Ok(one_of_all) => {
                Entry::Whole(Held { _one_of_all: one_of_all, _one_of_its_address: one_of_its_address })
            }
            Err(_) => spare(&self.port_full, Full::Port),
        }
    }
}
