//! Which instances a service has, and the connections to them.
//!
//! The balancer decides which instances are wanted; each of them has a pool of as many connections
//! as the settings name. A connection that its instance wants no more finishes what is under way on
//! it. How a lost one is taken up again is in crate::client::resuming.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use stadium_discovery::{Snapshot, State};
use stadium_reactor::{ConnectOptions, ConnectionId, ConnectionLimits, Io};

use super::{ClientLoop, Service};
use crate::balance::{self, Balancer, Choice, InstanceId, Known, RetryBudget};
use crate::client::config::{ClientConfig, Source};
use crate::client::item::{Explained, Item};
use crate::client::link::{Link, Pool};
use crate::client::resolver::Found;

impl ClientLoop {
    /// A service will be called; its instances come by [`ClientLoop::instances`].
    pub(crate) fn add_service(&mut self, name: Arc<str>, place: u16) {
        debug_assert_eq!(
            self.services.len(),
            usize::from(place),
            "services come in the order of their places"
        );
        self.services.push(Service {
            name,
            balancer: Balancer::new(self.config.balance.clone()),
            budget: RetryBudget::new(self.config.budget),
            pools: Vec::new(),
            waiting: VecDeque::new(),
            freshness: "not heard of yet".to_owned(),
            known: false,
            hopeless_us: None,
        });
    }

    /// The current report of discovery about a service.
    pub(crate) fn instances(&mut self, io: &mut Io<Item>, service: u16, snapshot: &Snapshot) {
        let now_us = io.now_us();
        self.now_us = now_us;
        let Some(one) = self.services.get_mut(usize::from(service)) else { return };
        one.freshness = snapshot.freshness.to_string();
        if snapshot.revision == 0 && snapshot.instances.is_empty() {
            return;
        }
        one.known = true;
        let addresses: Vec<String> =
            snapshot.instances.iter().map(|instance| instance.address.to_string()).collect();
        let known: Vec<Known<'_>> = snapshot
            .instances
            .iter()
            .zip(&addresses)
            .map(|(instance, address)| Known {
                address,
                load: instance.load,
                zone: instance.zone.as_deref().unwrap_or_default(),
                weight: instance.weight,
                version: &instance.version,
                quiescing: instance.state == State::Quiescing,
            })
            .collect();
        one.balancer.update(&known, now_us);
        self.close_links_of_the_gone(io, service);
        self.ensure_connected(io, service);
        self.send_waiting(io, service);
        self.services[usize::from(service)].hopeless_us = None;
        self.look_for_hope(service);
    }

    /// A service's instances, where they are known without discovery.
    pub(crate) fn place_service(&mut self, io: &mut Io<Item>, service: u16) {
        let config = Arc::clone(&self.config);
        match &config.source {
            Source::Static(addresses) => self.fixed(io, service, addresses, "static"),
            Source::Names(_) => {
                if let Some(found) = self.found.take() {
                    self.apply(io, service, &found);
                    self.found = Some(found);
                } else {
                    self.services[usize::from(service)].freshness = "names are being looked up".to_owned();
                }
            }
            Source::Discovery { .. } => {}
        }
    }

    /// The names of instances have been looked up.
    pub(super) fn resolved(&mut self, io: &mut Io<Item>, found: Found) {
        for service in 0..self.services.len() {
            self.apply(io, service as u16, &found);
        }
        self.found = Some(found);
    }

    fn apply(&mut self, io: &mut Io<Item>, service: u16, found: &Found) {
        match &found.trouble {
            Some(trouble) if found.addresses.is_empty() => {
                self.services[usize::from(service)].freshness.clone_from(trouble);
            }
            trouble => {
                let freshness = trouble.as_deref().unwrap_or("by name");
                self.fixed(io, service, &found.addresses, freshness);
            }
        }
    }

    /// Addresses that serve a service, where there is no discovery.
    fn fixed(&mut self, io: &mut Io<Item>, service: u16, addresses: &[SocketAddr], freshness: &str) {
        let now_us = io.now_us();
        self.now_us = now_us;
        let one = &mut self.services[usize::from(service)];
        freshness.clone_into(&mut one.freshness);
        one.known = true;
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let known: Vec<Known<'_>> = addresses
            .iter()
            .map(|address| Known { address, load: 0.0, zone: "", weight: 100, version: "", quiescing: false })
            .collect();
        let updated = one.balancer.update(&known, now_us);
        if updated.added > 0 {
            one.hopeless_us = None;
        }
        self.close_links_of_the_gone(io, service);
        self.ensure_connected(io, service);
        self.send_waiting(io, service);
        self.look_for_hope(service);
    }

    /// Connections to instances that discovery no longer names finish what is under way, and end.
    fn close_links_of_the_gone(&mut self, io: &mut Io<Item>, service: u16) {
        let one = &mut self.services[usize::from(service)];
        for pool in &mut one.pools {
            let Some(instance) = pool.instance else { continue };
            if one.balancer.address(instance).is_some() {
                continue;
            }
            for id in pool.open.drain(..) {
                if let Some(link) = self.links.at(id) {
                    link.closing = true;
                    if link.connection.as_ref().is_none_or(|connection| connection.streams_open() == 0) {
                        link.take_leave(io);
                        io.close(id);
                    }
                }
            }
            *pool = Pool::default();
        }
    }

    /// Opens what is missing of the connections that the balancer wants.
    fn ensure_connected(&mut self, io: &mut Io<Item>, service: u16) {
        let mut ids = std::mem::take(&mut self.scratch_ids);
        ids.clear();
        ids.extend(self.services[usize::from(service)].balancer.wanted());
        for id in &ids {
            self.connect(io, service, *id);
        }
        self.scratch_ids = ids;
    }

    /// Opens connections to an instance up to its number, unless it is too early to try again.
    pub(super) fn connect(&mut self, io: &mut Io<Item>, service: u16, instance: InstanceId) {
        let now_us = io.now_us();
        let wanted = self.config.connections_per_instance.max(1);
        let one = &mut self.services[usize::from(service)];
        let Some(address) = one.balancer.address(instance).and_then(|address| address.parse().ok()) else {
            return;
        };
        let pool = one.pool(instance);
        let mut failed = false;
        while pool.open.len() + pool.opening < wanted && pool.retry_us <= now_us {
            match io.connect(address, &connect_options(&self.config)) {
                Ok(id) => {
                    pool.opening += 1;
                    self.links.insert(Link::opening(id, service, instance));
                }
                Err(error) => {
                    tracing::debug!(%address, %error, "No connection could be begun");
                    pool.trouble = Some(error.to_string());
                    failed = true;
                    let wait_ms = pool.backoff.wait_ms(&mut self.random);
                    pool.retry_us = now_us + wait_ms * 1_000;
                    self.reconnects.push(Reverse((pool.retry_us, service, instance)));
                }
            }
        }
        if failed {
            self.look_up_again();
            self.look_for_hope(service);
        }
    }

    /// A connection failed or ended: names of instances may have other addresses now.
    pub(super) fn look_up_again(&self) {
        match (&self.resolver, &self.config.source) {
            (Some(resolver), _) => resolver.ask(),
            (None, Source::Discovery { discovery, .. }) => discovery.connection_failed(),
            (None, Source::Static(_) | Source::Names(_)) => {}
        }
    }

    /// No more requests on a connection; what is under way there goes on.
    pub(super) fn retire(&mut self, id: ConnectionId) {
        let Some(link) = self.links.at(id) else { return };
        link.closing = true;
        let (service, instance) = (link.service, link.instance);
        let one = &mut self.services[usize::from(service)];
        let Some(pool) = one.live_pool(instance) else { return };
        pool.remove(id);
        if pool.open.is_empty() {
            let retry_us = pool.retry_us;
            one.balancer.disconnected(instance, retry_us);
        }
        self.reconnects.push(Reverse((0, service, instance)));
    }

    /// Connections that are open.
    pub(crate) fn connections(&self) -> usize {
        self.services.iter().flat_map(|service| &service.pools).map(|pool| pool.open.len()).sum()
    }

    pub(super) fn explain(
        &self,
        io: &Io<Item>,
        service: u16,
        key: Option<balance::KeyHash>,
    ) -> Option<Explained> {
        let one = self.services.get(usize::from(service))?;
        let choice = one.balancer.explain(io.now_us(), Choice { key, exclude: &[] });
        Some(Explained { choice, discovery: one.freshness.clone() })
    }
}

pub(in crate::client) fn connect_options(config: &ClientConfig) -> ConnectOptions {
    ConnectOptions {
        socket: config.socket.clone(),
        limits: ConnectionLimits {
            carry_bytes_max: config.frame_bytes_max as u32 + 64,
            write_queue_bytes_max: 64 * 1024 * 1024,
            write_stall_ms: 10_000,
            write_progress_bytes: 1,
        },
        tls: config.tls.clone(),
        websocket: config.websocket.clone(),
        ..ConnectOptions::default()
    }
}
