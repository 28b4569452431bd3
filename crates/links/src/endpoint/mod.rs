//! The driver of links: an endpoint listens for other nodes, dials them, and dials them again.
//!
//! An endpoint has loops of its own, each with a thread. Every loop keeps one connection to each
//! other node, and the first loop one more for control. Requests leave on the connections that this
//! node dialled; what other nodes dialled brings theirs. [`Carrier`] sends from any thread, and
//! [`Receiver`] is called on the loops' threads.

mod accepted;
mod dial;
mod figures;
mod item;
mod link_loop;
mod peer;
mod seam;
mod settings;
mod shared;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use stadium_reactor::tls::TlsError;
use stadium_reactor::{Claims, ListenerSettings, Loop, LoopSettings};

pub use figures::{LinkFigures, Losses};
pub use seam::{Carrier, Receiver};
pub use settings::{Member, Settings, StartError};
pub use tls::TlsSettings;

use crate::link::{
    Arrival, Hello, Lane, Members, NodeName, Outgoing, Reach, ReachWatch, Refused, Tag, VERSIONS, Wake,
    Window, protocol,
};
use item::Item;
use link_loop::LinkLoop;
use peer::{Peer, PeerLane};
use shared::Shared;
use tls::Tls;

/// A node's end of its links.
pub struct Endpoint {
    shared: Arc<Shared>,
    address: SocketAddr,
    threads: Vec<JoinHandle<()>>,
}

impl Endpoint {
    /// Listens, and starts the loops. Other nodes are added by [`set_member`](Self::set_member).
    ///
    /// # Errors
    ///
    /// A setting is out of its bounds, the certificate is not usable, or the address is taken.
    pub fn start(settings: Settings, receiver: Arc<dyn Receiver>) -> Result<Self, StartError> {
        settings.check()?;
        let tls = Tls::new(&settings.node, &settings.tls)?;
        let mut loops = (0..settings.loops)
            .map(|index| {
                Loop::new(LoopSettings {
                    name: format!("links-{index}"),
                    connections_max: settings.connections_max,
                    ..LoopSettings::default()
                })
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(StartError::Loop)?;
        let address = listen(&mut loops, &settings, &tls)
            .map_err(|error| StartError::Listen { address: settings.listen, error })?;
        let us = Hello {
            cluster: settings.cluster,
            node: settings.node.clone(),
            incarnation: settings.incarnation,
            versions: VERSIONS,
            levels: settings.levels,
            lane: Lane::Data,
            loop_index: 0,
            credit: settings.credit,
        };
        let shared = Arc::new(Shared {
            us,
            protocol: protocol(&settings.timing),
            node_window: Arc::new(Window::new(settings.node_credit)),
            started: Instant::now(),
            members: Mutex::new(Members::default()),
            peers: RwLock::default(),
            reach: Mutex::new(ReachWatch::default()),
            loops: loops.iter().map(Loop::handle).collect(),
            refusals: Default::default(),
            settings,
            receiver,
            tls,
        });
        let mut endpoint = Self { shared, address, threads: Vec::new() };
        for (index, one) in loops.into_iter().enumerate() {
            let handler = LinkLoop::new(Arc::clone(&endpoint.shared), index);
            let thread = std::thread::Builder::new().name(format!("links-{index}")).spawn(move || {
                if let Err(error) = one.run(handler) {
                    tracing::error!(%error, "A loop of links has ended");
                }
            });
            // A failure drops the endpoint, which ends the loops that run.
            endpoint.threads.push(thread.map_err(StartError::Loop)?);
        }
        Ok(endpoint)
    }

    /// The address in use.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds another node, or states its addresses and a later incarnation of it. Connections to
    /// other addresses, and with earlier incarnations, end.
    pub fn set_member(&self, member: Member) {
        let Member { node, addresses, incarnation } = member;
        if node == self.shared.us.node {
            return;
        }
        // In this order: a loop that hears of the member finds it known.
        let arrival = self.shared.members.lock().insert(node.clone(), incarnation);
        let peer = {
            let mut peers = self.shared.peers.write();
            let Shared { settings, node_window, loops, .. } = &*self.shared;
            let make = || Arc::new(Peer::new(settings, node_window, loops, node.clone()));
            Arc::clone(peers.entry(node.clone()).or_insert_with(make))
        };
        *peer.addresses.lock() = addresses;
        self.shared.broadcast(|| Item::Member(node.clone()));
        if arrival == Arrival::Later {
            self.shared.broadcast(|| Item::Later(node.clone(), incarnation));
        }
    }

    /// Removes another node: its connections end, and it is refused from now on.
    pub fn remove_member(&self, node: &NodeName) {
        self.shared.members.lock().remove(node);
        self.shared.peers.write().remove(node);
        self.shared.broadcast(|| Item::Gone(node.clone()));
    }

    /// Replaces certificate, key and authorities for connections that begin from now on.
    ///
    /// # Errors
    ///
    /// They are not usable. Those of before stay in force.
    pub fn reload(&self, tls: &TlsSettings) -> Result<(), TlsError> {
        self.shared.tls.reload(&self.shared.us.node, tls)
    }

    /// The figures of each link that this node dials.
    pub fn figures(&self) -> Vec<LinkFigures> {
        let peers = self.shared.peers.read();
        let mut figures: Vec<_> =
            peers.values().flat_map(|peer| peer.lanes()).map(PeerLane::figures).collect();
        figures.sort_by(|a, b| (&a.node, a.lane, a.loop_index).cmp(&(&b.node, b.lane, b.loop_index)));
        figures
    }

    /// How many connections of other nodes were refused, by code.
    pub fn refusals(&self) -> Vec<(&'static str, u64)> {
        self.shared.refusals.lock().iter().map(|(code, count)| (*code, *count)).collect()
    }

    /// Ends all connections and the loops. Requests under way have their outcomes when it returns.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        for handle in &self.shared.loops {
            handle.stop();
        }
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("A loop of links panicked");
            }
        }
    }

    fn send(
        &self,
        to: &NodeName,
        lane: Lane,
        shard: u32,
        push: impl FnOnce(&PeerLane) -> Result<Wake, Refused>,
    ) -> Result<(), Refused> {
        let peers = self.shared.peers.read();
        let lane = peers.get(to).ok_or(Refused::NoSuchNode)?.lane(lane, shard);
        match push(lane) {
            Ok(Wake::Needed) => lane.wake(),
            Ok(Wake::Done) => {}
            Err(refused) => {
                lane.counts.refused(refused);
                return Err(refused);
            }
        }
        Ok(())
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.end();
    }
}

impl Carrier for Endpoint {
    fn request(
        &self,
        to: &NodeName,
        lane: Lane,
        within: Duration,
        tag: Tag,
        message: Outgoing<'_>,
    ) -> Result<(), Refused> {
        let now_ms = self.shared.now_us() / 1_000;
        let within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        let deadline_ms = now_ms.saturating_add(within_ms);
        self.send(to, lane, message.target.shard, |lane| {
            lane.outbox.request(now_ms, deadline_ms, tag, message)
        })
    }

    fn letter(&self, to: &NodeName, lane: Lane, message: Outgoing<'_>) -> Result<(), Refused> {
        self.send(to, lane, message.target.shard, |lane| lane.outbox.letter(message))
    }

    fn reach(&self) -> Reach {
        self.shared.reach.lock().at(self.shared.now_us() / 1_000)
    }
}

/// The first loop claims the address, the others join.
fn listen(loops: &mut [Loop<Item>], settings: &Settings, tls: &Tls) -> std::io::Result<SocketAddr> {
    let mut address = settings.listen;
    let mut claims = Claims::default();
    for (index, one) in loops.iter_mut().enumerate() {
        let listener = ListenerSettings { tls: Some(tls.server()), ..settings.listener(address) };
        if index == 0 {
            address = claims.listen(one.io(), &listener)?;
        } else {
            one.io().listen(&listener)?;
        }
    }
    Ok(address)
}
