//! Listeners: how peers get in, in batches and within a budget.
//!
//! A peer over the budget, or one that no descriptor is free for, is left in the kernel's queue and
//! taken later; nothing spins and nothing is refused that could be served.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, IntoRawFd, RawFd};
use std::sync::Arc;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use socket2::Socket;

use crate::event_loop::Loop;
use crate::handler::{Accepted, Admission, Handler, Security};
use crate::id::{ConnectionId, ListenerTag};
use crate::io::{Io, Profile};
use crate::lifecycle::TOKEN_LISTENERS;
use crate::moved::Moved;
use crate::settings::{Adopt, Carries, ListenerSettings, ProxyProtocol, Sharing, SocketSettings};
use crate::slab::{Opening, flag};
use crate::tls::{Handshake, Records, Tls};
use crate::websocket::{Role, WebSocket};
use crate::{socket, sys};

/// How long a listener rests when no descriptor is free, in milliseconds.
const STARVED_MS: u64 = 50;

/// One listening socket.
pub(crate) struct Listener {
    socket: Socket,
    pub(crate) address: SocketAddr,
    pub(crate) settings: Arc<ListenerSettings>,
    profile: u16,
    /// The kernel holds peers that were not taken yet.
    pub(crate) pending: bool,
    /// Loop time before which it takes nobody, because of the budget or for want of descriptors.
    pub(crate) rest_until: u64,
    /// Peers that the budget allows now, in thousandths.
    tokens: u64,
    refilled: u64,
}

impl Listener {
    pub(crate) fn deregister(&self, registry: &Registry) {
        // A socket that was never registered or is closed already is none to deregister.
        let _ = registry.deregister(&mut SourceFd(&self.socket.as_raw_fd()));
    }

    /// Takes one peer from the budget, or returns how long until there is one.
    fn take_token(&mut self, now: u64) -> Result<(), u64> {
        let rate = u64::from(self.settings.budget.accepts_per_second);
        if rate == 0 {
            return Ok(());
        }
        // A rate a second is as many thousandths a millisecond.
        let burst = (rate * 100).max(1_000);
        self.tokens = (self.tokens + (now - self.refilled) * rate).min(burst);
        self.refilled = now;
        if self.tokens >= 1_000 {
            self.tokens -= 1_000;
            Ok(())
        } else {
            Err((1_000 - self.tokens).div_ceil(rate))
        }
    }
}

impl<M: Send + 'static> Io<M> {
    /// Listens, on the number of sockets of the settings, and returns the address in use. Other
    /// loops may join and listen on the same address: the kernel spreads peers over all its
    /// sockets.
    ///
    /// # Errors
    ///
    /// `AddrInUse` where the address is to be claimed and anybody listens on one that overlaps it.
    pub fn listen(&mut self, settings: &ListenerSettings) -> io::Result<SocketAddr> {
        let profile = self.profile(Profile::new(settings.tag.0, &settings.limits, &settings.socket))?;
        let settings = Arc::new(settings.clone());
        let mut address = settings.address;
        let mut sharing = settings.sharing;
        for _ in 0..settings.sockets.max(1) {
            let socket = socket::listen(address, sharing, &settings.socket)?;
            sharing = Sharing::Joins;
            address = socket
                .local_addr()?
                .as_socket()
                .ok_or_else(|| io::Error::other("a listening socket has an internet address"))?;
            let token = Token(TOKEN_LISTENERS + self.listeners.len());
            self.registry.register(&mut SourceFd(&socket.as_raw_fd()), token, Interest::READABLE)?;
            self.listeners.push(Listener {
                socket,
                address,
                settings: settings.clone(),
                profile,
                pending: true,
                rest_until: 0,
                tokens: 0,
                refilled: self.now_ms,
            });
        }
        Ok(address)
    }

    /// When a resting listener wants its next turn, in loop time; now where one does not rest.
    pub(crate) fn next_accept(&self) -> Option<u64> {
        self.listeners.iter().filter(|listener| listener.pending).map(|listener| listener.rest_until).min()
    }
}

impl<M: Send + 'static> Loop<M> {
    /// Lets in what waits at every listener, up to a batch each.
    pub(crate) fn accept_all<H: Handler<Message = M>>(&mut self, handler: &mut H) {
        for place in 0..self.io.listeners.len() {
            let mut batch = self.io.settings.accept_batch.max(1);
            while batch > 0 && self.accept_one(handler, place) {
                batch -= 1;
            }
        }
    }

    /// Lets one peer in; false where none can be for now.
    fn accept_one<H: Handler<Message = M>>(&mut self, handler: &mut H, place: usize) -> bool {
        let io = &mut self.io;
        let now = io.now_ms;
        // The handler may have stopped listening while the batch was under way.
        let Some(listener) = io.listeners.get_mut(place) else { return false };
        if !listener.pending || listener.rest_until > now {
            return false;
        }
        let handshakes_max = u64::from(listener.settings.budget.handshakes_max);
        let full = io.slab.live() >= io.settings.connections_max
            || (handshakes_max != 0 && io.counts.handshakes >= handshakes_max);
        if full {
            io.counts.accepts_paced += 1;
            listener.rest_until = now + 5;
            return false;
        }
        if let Err(wait) = listener.take_token(now) {
            io.counts.accepts_paced += 1;
            listener.rest_until = now + wait;
            return false;
        }
        let (fd, peer) = match sys::accept(listener.socket.as_raw_fd()) {
            Ok(accepted) => accepted,
            Err(libc::EAGAIN) => {
                listener.pending = false;
                return false;
            }
            Err(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => {
                io.counts.accepts_starved += 1;
                listener.rest_until = now + STARVED_MS;
                tracing::warn!(address = %listener.address, "No file descriptor is free for a new connection");
                return false;
            }
            // The peer left while it waited: the next one may be fine.
            Err(_) => return true,
        };
        let settings = listener.settings.clone();
        let (profile, local) = (listener.profile, listener.address);
        let proxied = settings.proxy == ProxyProtocol::Required;
        let is_stranger = proxied && !settings.proxy_networks.contain(peer.ip());
        if is_stranger {
            tracing::debug!(%peer, "A connection is from no network of a proxy");
        }
        if is_stranger || !proxied && handler.accepting(peer, settings.tag) == Admission::Refuse {
            io.counts.accepts_refused += 1;
            sys::close(fd);
            return true;
        }
        io.counts.accepts += 1;
        let Ok(id) = io.admit(fd, profile, &settings.limits, Interest::READABLE) else { return true };
        io.counts.handshakes += 1;
        if !proxied && settings.tls.is_none() && settings.websocket.is_none() {
            let accepted = Accepted { listener: settings.tag, peer, local, security: Security::Plain };
            self.announce(handler, id, &accepted);
            self.establish(handler, id);
            return true;
        }
        let deadline = io.tick_after(settings.handshake_timeout_ms);
        let extra = io.extra(id.index);
        extra.deadline = deadline;
        extra.opening = Some(Box::new(Opening {
            listener: settings.tag.0,
            peer,
            local,
            proxy: proxied,
            upgrade: settings.websocket.clone(),
            request: None,
            client_tls: None,
            server_tls: settings.tls.clone(),
            tag: 0,
        }));
        io.arm(id.index);
        if !proxied {
            self.introduce(handler, id);
        }
        true
    }

    /// The peer's address is known: notifies the handler, and begins what comes before the
    /// protocol.
    pub(crate) fn introduce<H: Handler<Message = M>>(&mut self, handler: &mut H, id: ConnectionId) {
        let Some(extra) = self.io.slab.find(id).and_then(|entry| entry.extra.as_mut()) else { return };
        let is_open = extra.tls.is_some();
        let Some(opening) = extra.opening.as_mut() else { return };
        let is_tls = is_open || opening.server_tls.is_some();
        let security = if is_tls { Security::Tls } else { Security::Plain };
        let accepted = Accepted {
            listener: ListenerTag(opening.listener),
            peer: opening.peer,
            local: opening.local,
            security,
        };
        let server_tls = opening.server_tls.take();
        self.announce(handler, id, &accepted);
        if let Some(tls) = server_tls {
            match Handshake::server(&tls) {
                Ok(handshake) => self.io.set_tls(id.index, Tls::Handshake(Some(handshake))),
                Err(error) => {
                    tracing::error!(error = %error, "TLS handshake cannot begin");
                    self.io.fail(id.index, crate::CloseReason::Tls(crate::tls::alert::INTERNAL_ERROR));
                }
            }
        }
    }

    fn announce<H: Handler<Message = M>>(&mut self, handler: &mut H, id: ConnectionId, accepted: &Accepted) {
        if let Some(entry) = self.io.slab.find(id) {
            entry.flags |= flag::ANNOUNCED;
            handler.accepted(&mut self.io, id, accepted);
        }
    }

    /// The connection is ready for the protocol.
    pub(crate) fn establish<H: Handler<Message = M>>(&mut self, handler: &mut H, id: ConnectionId) {
        let Some(entry) = self.io.slab.find(id) else { return };
        entry.flags |= flag::ESTABLISHED;
        let outgoing = entry.flags & flag::OUTGOING != 0;
        let mut tag = 0;
        let mut echo = false;
        if let Some(extra) = &mut entry.extra {
            extra.deadline = 0;
            tag = extra.opening.take().map_or(0, |opening| opening.tag);
            echo = extra.websocket.as_ref().is_some_and(|websocket| websocket.is_echo());
            self.io.trim(id.index);
        }
        if outgoing {
            handler.connected(&mut self.io, id, tag);
        } else {
            self.io.counts.handshakes = self.io.counts.handshakes.saturating_sub(1);
            if !echo {
                handler.established(&mut self.io, id);
            }
        }
    }

    /// Takes a connection in that was accepted outside of the reactor.
    pub(crate) fn adopt_foreign<H: Handler<Message = M>>(
        &mut self,
        handler: &mut H,
        stream: std::net::TcpStream,
        adopt: Adopt,
    ) {
        let (Ok(peer), Ok(local)) = (stream.peer_addr(), stream.local_addr()) else { return };
        if handler.accepting(peer, adopt.listener) == Admission::Refuse {
            self.io.counts.accepts_refused += 1;
            return;
        }
        let Ok(profile) =
            self.io.profile(Profile::new(adopt.listener.0, &adopt.limits, &SocketSettings::default()))
        else {
            return;
        };
        if let Err(error) = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)) {
            tracing::debug!(error = %error, "A connection from outside is gone already");
            return;
        }
        let fd: RawFd = stream.into_raw_fd();
        let Ok(id) = self.io.admit(fd, profile, &adopt.limits, Interest::READABLE) else { return };
        self.io.counts.accepts += 1;
        self.io.counts.handshakes += 1;
        let mut plain = Vec::new();
        if let Some(adopted) = adopt.tls {
            let serial = self.io.next_serial();
            match Records::server(adopted.secrets, adopted.kernel, serial) {
                Ok(records) => self.io.set_tls(id.index, Tls::Open(Box::new(records))),
                Err(error) => {
                    tracing::debug!(error = %error, "TLS from outside cannot be taken over");
                    return self
                        .io
                        .fail(id.index, crate::CloseReason::Tls(crate::tls::alert::INTERNAL_ERROR));
                }
            }
            plain = adopted.plain;
            if adopted.certificate.is_some() {
                self.io.extra(id.index).certificate = adopted.certificate;
            }
        }
        let security = if self.io.slab.at(id.index).extra.as_ref().is_some_and(|extra| extra.tls.is_some()) {
            Security::Tls
        } else {
            Security::Plain
        };
        if let Carries::WebSocket(settings) = &adopt.carries {
            let websocket = WebSocket::new(
                Role::Server,
                settings.messages.into(),
                settings.frame_bytes_max,
                settings.message_bytes_max,
            );
            self.io.set_websocket(id.index, websocket);
        }
        if let Carries::WebSocketRequest { settings, within_ms } = adopt.carries {
            let deadline = self.io.tick_after(within_ms);
            let extra = self.io.extra(id.index);
            extra.deadline = deadline;
            extra.opening = Some(Box::new(Opening {
                listener: adopt.listener.0,
                peer,
                local,
                proxy: false,
                upgrade: Some(settings),
                request: None,
                client_tls: None,
                server_tls: None,
                tag: 0,
            }));
            self.io.arm(id.index);
            self.introduce(handler, id);
        } else {
            let accepted = Accepted { listener: adopt.listener, peer, local, security };
            self.announce(handler, id, &accepted);
            self.establish(handler, id);
        }
        self.io.store_raw(id.index, &adopt.leftover);
        if !plain.is_empty() {
            self.decrypted(handler, id, &plain);
        }
        if self.io.slab.find(id).is_some() {
            self.io.read_soon(id.index);
        }
    }

    /// Takes a connection in that another loop gave away.
    pub(crate) fn adopt_moved<H: Handler<Message = M>>(
        &mut self,
        handler: &mut H,
        mut moved: Moved,
        attachment: M,
    ) {
        let Ok(profile) = self.io.profile(moved.profile.clone()) else { return };
        let limits = crate::settings::ConnectionLimits {
            carry_bytes_max: moved.carry_bytes_max,
            write_queue_bytes_max: moved.write_queue_bytes_max,
            write_stall_ms: 0,
            write_progress_bytes: 1,
        };
        let (extra, age_ms, flags) = (moved.extra.take(), moved.age_ms, moved.flags);
        let waiting = extra.as_ref().is_some_and(|extra| !extra.queue.is_empty());
        let interest = if waiting { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        let Ok(id) = self.io.admit(moved.into_fd(), profile, &limits, interest) else { return };
        let now = self.io.now_ms;
        let entry = self.io.slab.at(id.index);
        entry.flags |= flags | flag::ANNOUNCED | flag::ESTABLISHED;
        entry.born = (now.saturating_sub(age_ms) / crate::io::TICK_MS) as u32;
        if let Some(mut extra) = extra {
            if let Some(tls) = &mut extra.tls {
                tls.renew_serial(self.io.next_serial());
            }
            extra.progress = self.io.tick();
            self.io.counts.write_queue_bytes += extra.queue.len() as u64;
            self.io.counts.carry_bytes += extra.held() as u64;
            self.io.layers_bytes += extra.layers_bytes();
            self.io.slab.at(id.index).extra = Some(extra);
        }
        self.io.arm(id.index);
        handler.adopted(&mut self.io, id, attachment);
        self.present_carry(handler, id);
        if self.io.slab.find(id).is_some() {
            self.io.read_soon(id.index);
        }
    }
}
