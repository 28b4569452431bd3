//! Outgoing connections: begun at once, reported by `connected` or `closed`.

use std::io;
use std::net::SocketAddr;

use mio::Interest;

use crate::close::CloseReason;
use crate::event_loop::Loop;
use crate::handler::Handler;
use crate::id::ConnectionId;
use crate::io::{Io, Profile};
use crate::settings::ConnectOptions;
use crate::slab::{Opening, flag};
use crate::tls::{Handshake, Tls, alert};
use crate::websocket::write_request;
use crate::{socket, sys};

impl<M: Send + 'static> Io<M> {
    /// Begins a connection and returns its id; `connected` or `closed` follows. Fails at once where
    /// no socket can be made, for example for want of descriptors: then neither follows.
    pub fn connect(&mut self, address: SocketAddr, options: &ConnectOptions) -> io::Result<ConnectionId> {
        let profile = self.profile(Profile::new(0, &options.limits, &options.socket))?;
        let fd = socket::connect(address, options.bind, &options.socket)?;
        let id = self.admit(fd, profile, &options.limits, Interest::READABLE | Interest::WRITABLE)?;
        self.counts.connects += 1;
        self.slab.at(id.index).flags |= flag::CONNECTING | flag::OUTGOING | flag::ANNOUNCED;
        let deadline = self.tick_after(options.socket.connect_timeout_ms);
        let extra = self.extra(id.index);
        extra.deadline = deadline;
        extra.opening = Some(Box::new(Opening {
            listener: 0,
            peer: address,
            local: address,
            proxy: false,
            upgrade: None,
            request: options.websocket.clone().map(|request| (request, None)),
            client_tls: options.tls.clone(),
            server_tls: None,
            tag: options.tag,
        }));
        self.arm(id.index);
        Ok(id)
    }
}

impl<M: Send + 'static> Loop<M> {
    /// The poll reports an event of a connection under way.
    pub(crate) fn connecting<H: Handler<Message = M>>(&mut self, handler: &mut H, id: ConnectionId) {
        let Some(entry) = self.io.slab.find(id) else { return };
        match sys::socket_error(entry.fd) {
            0 => {}
            libc::ETIMEDOUT => return self.io.fail(id.index, CloseReason::ConnectTimeout),
            error => return self.io.fail(id.index, CloseReason::from_errno(error)),
        }
        entry.flags &= !flag::CONNECTING;
        let opening = entry.extra.as_mut().and_then(|extra| extra.opening.as_mut());
        match opening.and_then(|opening| opening.client_tls.take()) {
            None => self.begin_upgrade(handler, id),
            Some(tls) => match Handshake::client(&tls) {
                Ok(handshake) => {
                    self.io.set_tls(id.index, Tls::Handshake(Some(handshake)));
                    // The client speaks first: an empty input makes it.
                    self.input(handler, id, 0);
                }
                Err(error) => {
                    tracing::debug!(error = %error, "TLS handshake cannot begin");
                    self.io.fail(id.index, CloseReason::Tls(alert::INTERNAL_ERROR));
                }
            },
        }
    }

    /// TCP and TLS are there: asks for the WebSocket where one is wanted, and is done where not.
    pub(crate) fn begin_upgrade<H: Handler<Message = M>>(&mut self, handler: &mut H, id: ConnectionId) {
        let io = &mut self.io;
        let Some(entry) = io.slab.find(id) else { return };
        let request = entry
            .extra
            .as_mut()
            .and_then(|extra| extra.opening.as_mut())
            .and_then(|opening| opening.request.as_mut());
        match request {
            None => self.establish(handler, id),
            Some((request, key)) => {
                let mut text = Vec::new();
                *key = Some(write_request(request, &mut io.masks, &mut text));
                io.write_beneath_websocket(id.index, &text);
            }
        }
    }
}
