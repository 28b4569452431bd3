//! The services that devices have asked for by name, and their instances in discovery.
//!
//! Names come from devices, so a name that nobody serves costs a watch until the table is full, and then its place. Only
//! a service that has, or may have, an instance is given to the RPC client, which keeps it for good. A request for a name
//! that is new waits until discovery was heard of it, which it always is at once, be it that nothing is known.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use stadium_discovery::{Discovery, Freshness, Snapshot, Versions, Watch};
use stadium_edge::requests::Refused;
use stadium_rpc::{Client, ServiceClient};

use super::bridge::Asked;

/// Names in the table. Where it is full, those that nobody serves give their place up.
const NAMES_MAX: usize = 1_024;

/// When to come back where there is no room for one more name.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct KnownServices {
    client: Client,
    discovery: Discovery,
    by_name: RwLock<HashMap<Box<str>, Arc<Known>>>,
}

/// A service by its name.
pub(super) struct Known {
    name: Box<str>,
    client: Client,
    /// Instances, plus one; 0 while that is in doubt.
    instances: AtomicUsize,
    /// Made when it is first called.
    service: OnceLock<ServiceClient>,
    /// Requests that came before discovery was heard; `None` afterwards. Each holds a place of the edge's bound.
    waiting: Mutex<Option<Vec<Asked>>>,
    watch: OnceLock<Watch>,
}

impl KnownServices {
    pub(super) fn new(client: Client, discovery: Discovery) -> Self {
        Self { client, discovery, by_name: RwLock::default() }
    }

    /// The service of this name, known or not.
    pub(super) fn find(&self, name: &str) -> Result<Arc<Known>, Refused> {
        let known = self.by_name.read().get(name).cloned();
        match known {
            Some(known) => Ok(known),
            None => self.look_for(name),
        }
    }

    fn look_for(&self, name: &str) -> Result<Arc<Known>, Refused> {
        let mut by_name = self.by_name.write();
        if let Some(known) = by_name.get(name) {
            return Ok(Arc::clone(known));
        }
        if by_name.len() >= NAMES_MAX {
            by_name.retain(|_, known| known.service.get().is_some() || !known.is_nobody());
            if by_name.len() >= NAMES_MAX {
                return Err(Refused::Busy { retry_after: RETRY_AFTER });
            }
        }
        let known = Arc::new(Known {
            name: name.into(),
            client: self.client.clone(),
            instances: AtomicUsize::new(0),
            service: OnceLock::new(),
            waiting: Mutex::new(Some(Vec::new())),
            watch: OnceLock::new(),
        });
        // The service owns its watch, so the watch must not own the service.
        let weak = Arc::downgrade(&known);
        let watch = self.discovery.watch(name, Versions::Any, move |snapshot| {
            if let Some(known) = weak.upgrade() {
                known.heard(&snapshot);
            }
        });
        let watch = watch.map_err(|error| match error {
            stadium_discovery::Error::Name(_) => Refused::NoSuchService,
            _ => Refused::Busy { retry_after: RETRY_AFTER },
        })?;
        // It was just made, so no other watch can be there.
        let _ = known.watch.set(watch);
        by_name.insert(name.into(), Arc::clone(&known));
        Ok(known)
    }
}

impl Known {
    /// Takes a request over, or reports that nobody serves it.
    pub(super) fn take(&self, asked: Asked) -> Result<(), Refused> {
        let mut waiting = self.waiting.lock();
        if let Some(waiting) = &mut *waiting {
            waiting.push(asked);
            return Ok(());
        }
        drop(waiting);
        asked.call(self.way()?);
        Ok(())
    }

    fn way(&self) -> Result<&ServiceClient, Refused> {
        if self.is_nobody() {
            return Err(Refused::NoSuchService);
        }
        Ok(self.service.get_or_init(|| self.client.service(&self.name)))
    }

    fn is_nobody(&self) -> bool {
        self.instances.load(Ordering::Acquire) == 1
    }

    /// A report of discovery, on its thread.
    fn heard(&self, snapshot: &Snapshot) {
        let sure = snapshot.revision > 0 && !matches!(snapshot.freshness, Freshness::Stale { .. });
        self.instances.store(if sure { snapshot.instances.len() + 1 } else { 0 }, Ordering::Release);
        let waiting = self.waiting.lock().take();
        for asked in waiting.into_iter().flatten() {
            asked.go(self.way());
        }
    }
}
