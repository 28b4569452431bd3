//! From the socket to the handler: what is read goes up through PROXY header, TLS and WebSocket in
//! place.
//!
//! ```text
//! | headroom | what a layer kept | what was read                    |
//!            ^ HEADROOM
//! ```
//!
//! Each layer compacts what it yields to the front, so the handler sees one run of bytes, with what it
//! left last time copied into the headroom before it.

use crate::close::CloseReason;
use crate::event_loop::{HEADROOM, Loop, RAW_BYTES_MAX};
use crate::handler::{Admission, Handler};
use crate::id::{ConnectionId, ListenerTag};
use crate::io::Io;
use crate::proxy;
use crate::slab::{Extra, flag};
use crate::sys;
use crate::tls::{self, Handshake, Progress, Tls};
use crate::websocket::{self, Answer, Mode, Role, Upgrade, WebSocket};

/// What a loop keeps of the buffers in which layers put answers and messages, in bytes; above it they
/// were made for one large message.
const LAYER_BYTES_KEPT: usize = 1024 * 1024;

impl<M: Send + 'static> Loop<M> {
    /// The connection has something to read, or its end.
    pub(crate) fn readable<H: Handler<Message = M>>(&mut self, handler: &mut H, id: ConnectionId) {
        let io = &mut self.io;
        let now = io.tick();
        let Some(entry) = io.slab.find(id) else { return };
        if entry.flags & flag::CLOSING != 0 {
            return self.discard(id);
        }
        if entry.flags & (flag::PAUSED | flag::LEAVING) != 0 {
            entry.flags |= flag::UNREAD;
            return;
        }
        let fd = entry.fd;
        let raw = match &entry.extra {
            Some(extra) if !extra.raw.is_empty() => io.take_raw(id.index),
            _ => Vec::new(),
        };
        let start = HEADROOM + raw.len();
        debug_assert!(raw.len() <= RAW_BYTES_MAX);
        let wanted = io.settings.read_bytes_max;
        let count = match sys::recv(fd, &mut self.buffer[start..start + wanted]) {
            Ok(0) => return self.io.fail(id.index, CloseReason::PeerClosed),
            Ok(count) => count,
            Err(libc::EAGAIN) => {
                if !raw.is_empty() {
                    let kept = raw.len();
                    self.buffer[HEADROOM..start].copy_from_slice(&raw);
                    self.io.keep_buffer(raw);
                    // It came with the connection from elsewhere, or waits for its rest as before.
                    self.input(handler, id, kept);
                }
                return;
            }
            Err(error) => return self.io.fail(id.index, CloseReason::from_errno(error)),
        };
        let io = &mut self.io;
        io.counts.reads += 1;
        io.counts.bytes_in += count as u64;
        let entry = io.slab.at(id.index);
        entry.received = now;
        if count == wanted || entry.flags & flag::PEER_DONE != 0 {
            io.read_soon(id.index);
        }
        let kept = raw.len();
        if kept > 0 {
            self.buffer[HEADROOM..start].copy_from_slice(&raw);
            self.io.keep_buffer(raw);
        }
        self.input(handler, id, kept + count);
    }

    /// Reads and forgets: a closing connection only waits for the peer's end.
    fn discard(&mut self, id: ConnectionId) {
        let io = &mut self.io;
        let Some(entry) = io.slab.find(id) else { return };
        let wanted = io.settings.read_bytes_max;
        match sys::recv(entry.fd, &mut self.buffer[..wanted]) {
            Ok(0) => io.fail(id.index, CloseReason::PeerClosed),
            Ok(count) if count == wanted || entry.flags & flag::PEER_DONE != 0 => io.read_soon(id.index),
            Ok(_) | Err(libc::EAGAIN) => {}
            Err(error) => io.fail(id.index, CloseReason::from_errno(error)),
        }
    }

    /// Takes `length` bytes behind the headroom of the read buffer through the layers.
    pub(crate) fn input<H: Handler<Message = M>>(
        &mut self,
        handler: &mut H,
        id: ConnectionId,
        length: usize,
    ) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let Some(entry) = self.io.slab.find(id) else {
            self.buffer = buffer;
            return;
        };
        let layered = entry
            .extra
            .as_ref()
            .is_some_and(|extra| extra.tls.is_some() || extra.websocket.is_some() || extra.opening.is_some());
        if layered {
            self.through_layers(handler, id, &mut buffer, length);
        } else {
            self.present(handler, id, &mut buffer, HEADROOM, HEADROOM + length);
        }
        self.buffer = buffer;
    }

    fn through_layers<H: Handler<Message = M>>(
        &mut self,
        handler: &mut H,
        id: ConnectionId,
        buffer: &mut [u8],
        mut length: usize,
    ) {
        if self.opening(id).is_some_and(|opening| opening.proxy) {
            let Some(left) = self.read_proxy_header(handler, id, buffer, length) else { return };
            length = left;
            if length == 0 {
                return;
            }
        }
        let mut end = tls::End::Open;
        match self.extra_of(id).and_then(|extra| extra.tls.as_deref_mut()) {
            None => {}
            Some(Tls::Handshake(handshake)) => {
                let Some(handshake) = handshake.take() else { return };
                let Some((left, closed)) = self.shake_hands(handler, id, handshake, buffer, length) else {
                    return;
                };
                length = left;
                if closed {
                    end = tls::End::Closed;
                }
            }
            Some(Tls::Open(_)) => {
                let io = &mut self.io;
                let Some(Tls::Open(records)) = io
                    .slab
                    .find(id)
                    .and_then(|entry| entry.extra.as_mut())
                    .and_then(|extra| extra.tls.as_deref_mut())
                else {
                    return;
                };
                let mut reply = std::mem::take(&mut io.reply);
                reply.clear();
                let opened = records.open(&mut io.keys, &mut buffer[HEADROOM..HEADROOM + length], &mut reply);
                io.store_raw(id.index, &buffer[HEADROOM + opened.consumed..HEADROOM + length]);
                io.write_raw(id.index, &reply);
                io.reply = reply;
                length = opened.plain;
                end = opened.end;
            }
        }
        if length > 0 {
            self.above_tls(handler, id, buffer, length);
        }
        match end {
            tls::End::Open => {}
            tls::End::Closed => self.io.begin_close(id, CloseReason::PeerClosed),
            tls::End::Alert(description) => {
                if self.io.slab.find(id).is_some() {
                    self.io.fail(id.index, CloseReason::Tls(description));
                }
            }
            tls::End::Broken(description) => {
                let io = &mut self.io;
                let mut reply = std::mem::take(&mut io.reply);
                reply.clear();
                if let Some(Tls::Open(records)) = io
                    .slab
                    .find(id)
                    .and_then(|entry| entry.extra.as_mut())
                    .and_then(|extra| extra.tls.as_deref_mut())
                {
                    records.seal_alert(&mut io.keys, description, &mut reply);
                    io.write_raw(id.index, &reply);
                }
                io.reply = reply;
                io.close_after_reply(id, CloseReason::Tls(description));
            }
        }
    }

    /// Takes plaintext that another server has decrypted through the layers above TLS.
    pub(crate) fn decrypted<H: Handler<Message = M>>(
        &mut self,
        handler: &mut H,
        id: ConnectionId,
        plain: &[u8],
    ) {
        let mut buffer = std::mem::take(&mut self.buffer);
        // A record of TLS is shorter than the buffer; a peer whose bytes are not is cut.
        match buffer.get_mut(HEADROOM..HEADROOM + plain.len()) {
            Some(room) => {
                room.copy_from_slice(plain);
                self.above_tls(handler, id, &mut buffer, plain.len());
            }
            None => self.io.fail(id.index, CloseReason::Tls(tls::alert::RECORD_OVERFLOW)),
        }
        self.buffer = buffer;
    }

    fn extra_of(&mut self, id: ConnectionId) -> Option<&mut Extra> {
        self.io.slab.find(id)?.extra.as_deref_mut()
    }

    fn opening(&mut self, id: ConnectionId) -> Option<&mut crate::slab::Opening> {
        self.extra_of(id)?.opening.as_deref_mut()
    }

    /// Returns how many bytes follow the header, moved to the front; `None` where it is not whole
    /// or wrong.
    fn read_proxy_header<H: Handler<Message = M>>(
        &mut self,
        handler: &mut H,
        id: ConnectionId,
        buffer: &mut [u8],
        length: usize,
    ) -> Option<usize> {
        let (used, addresses) = match proxy::read(&buffer[HEADROOM..HEADROOM + length]) {
            proxy::Header::Partial => {
                self.io.store_raw(id.index, &buffer[HEADROOM..HEADROOM + length]);
                return None;
            }
            proxy::Header::Wrong => {
                self.io.fail(id.index, CloseReason::Proxy);
                return None;
            }
            proxy::Header::Whole(used, addresses) => (used, addresses),
        };
        let opening = self.opening(id)?;
        opening.proxy = false;
        if let Some((peer, local)) = addresses {
            opening.peer = peer;
            opening.local = local;
        }
        let plain = opening.server_tls.is_none() && opening.upgrade.is_none();
        if handler.accepting(opening.peer, ListenerTag(opening.listener)) == Admission::Refuse {
            self.io.counts.accepts_refused += 1;
            self.io.fail(id.index, CloseReason::Aborted);
            return None;
        }
        self.introduce(handler, id);
        if plain {
            self.establish(handler, id);
        }
        buffer.copy_within(HEADROOM + used..HEADROOM + length, HEADROOM);
        self.io.slab.find(id).map(|_| length - used)
    }

    /// Advances the TLS handshake. Returns the plaintext that came with its end, at the front, and
    /// whether the peer has closed already; `None` where it is not over.
    fn shake_hands<H: Handler<Message = M>>(
        &mut self,
        handler: &mut H,
        id: ConnectionId,
        handshake: Handshake,
        buffer: &mut [u8],
        length: usize,
    ) -> Option<(usize, bool)> {
        let serial = self.io.next_serial();
        let (progress, step) = handshake.advance(&mut buffer[HEADROOM..HEADROOM + length], serial);
        self.io.write_raw(id.index, &step.out);
        self.io.slab.find(id)?;
        let rest = &buffer[HEADROOM + step.consumed..HEADROOM + length];
        match progress {
            Progress::Waiting(handshake) => {
                if step.closed {
                    self.io.fail(id.index, CloseReason::PeerClosed);
                    return None;
                }
                if rest.len() > handshake.held_bytes_max(RAW_BYTES_MAX) {
                    // One message, a chain of certificates most likely, is larger than we hold for
                    // anybody.
                    self.io.fail(id.index, CloseReason::Tls(tls::alert::RECORD_OVERFLOW));
                    return None;
                }
                self.io.store_raw(id.index, rest);
                self.io.set_tls(id.index, Tls::Handshake(Some(handshake)));
                None
            }
            Progress::Failed(description) => {
                self.io.close_after_reply(id, CloseReason::Tls(description));
                None
            }
            Progress::Done(records, certificate) => {
                self.io.counts.tls_handshakes += 1;
                self.io.store_raw(id.index, rest);
                self.io.set_tls(id.index, Tls::Open(records));
                self.io.extra(id.index).certificate = certificate;
                buffer[HEADROOM..HEADROOM + step.plain.len()].copy_from_slice(&step.plain);
                let opening = self.opening(id)?;
                if opening.request.is_some() {
                    self.begin_upgrade(handler, id);
                } else if opening.upgrade.is_none() {
                    self.establish(handler, id);
                }
                Some((step.plain.len(), step.closed))
            }
        }
    }

    /// The upgrade where it is not done, WebSocket frames where it is, and the handler.
    fn above_tls<H: Handler<Message = M>>(
        &mut self,
        handler: &mut H,
        id: ConnectionId,
        buffer: &mut [u8],
        length: usize,
    ) {
        let (mut start, mut stop) = (HEADROOM, HEADROOM + length);
        let upgrading =
            self.opening(id).is_some_and(|opening| opening.upgrade.is_some() || opening.request.is_some());
        if upgrading {
            let carry = self.io.take_carry(id.index);
            // An upgrade is refused at 4 KB, so what came of it before fits in the headroom.
            start -= carry.len().min(HEADROOM);
            buffer[start..HEADROOM].copy_from_slice(&carry[..HEADROOM - start]);
            self.io.keep_buffer(carry);
            let Some(used) = self.upgrade(handler, id, &buffer[start..stop]) else { return };
            start += used;
        }
        let io = &mut self.io;
        let Some(entry) = io.slab.find(id) else { return };
        let reassembled_bytes_max = entry.carry_bytes_max;
        let Some(websocket) = entry.extra.as_mut().and_then(|extra| extra.websocket.as_mut()) else {
            if stop > start {
                self.present(handler, id, buffer, start, stop);
            }
            return;
        };
        let mut reply = std::mem::take(&mut io.reply);
        let mut messages = std::mem::take(&mut io.messages);
        reply.clear();
        messages.resize(HEADROOM, 0);
        let held = websocket.held();
        let mut sinks = websocket::Sinks {
            reply: &mut reply,
            masks: &mut io.masks,
            messages: &mut messages,
            reassembled_bytes_max,
        };
        let read = websocket.read(&mut buffer[start..stop], &mut sinks);
        io.counts.carry_bytes = io.counts.carry_bytes - held as u64 + websocket.held() as u64;
        if !reply.is_empty() {
            io.write_beneath_websocket(id.index, &reply);
        }
        io.reply = if reply.capacity() > LAYER_BYTES_KEPT { Vec::new() } else { reply };
        stop = start + read.plain;
        if stop > start {
            self.present(handler, id, buffer, start, stop);
        }
        if messages.len() > HEADROOM {
            let stop = messages.len();
            self.present(handler, id, &mut messages, HEADROOM, stop);
        }
        self.io.messages = if messages.capacity() > LAYER_BYTES_KEPT { Vec::new() } else { messages };
        match read.end {
            websocket::End::Open => {}
            websocket::End::Closed => self.io.begin_close(id, CloseReason::PeerClosed),
            websocket::End::Broken(code) => self.io.begin_close(id, CloseReason::WebSocket(code)),
        }
    }

    /// Reads the head of an upgrade. Returns how many bytes it took once it is done.
    fn upgrade<H: Handler<Message = M>>(
        &mut self,
        handler: &mut H,
        id: ConnectionId,
        bytes: &[u8],
    ) -> Option<usize> {
        let opening = self.opening(id)?;
        if let Some(settings) = opening.upgrade.clone() {
            match websocket::answer_request(bytes, &settings) {
                Upgrade::Partial => self.keep_head(id, bytes),
                Upgrade::Refused(answer) => {
                    self.io.write_beneath_websocket(id.index, &answer);
                    self.io.close_after_reply(id, CloseReason::Upgrade);
                }
                Upgrade::Accepted { used, answer, mode } => {
                    self.io.write_beneath_websocket(id.index, &answer);
                    let (frame, message) = (settings.frame_bytes_max, settings.message_bytes_max);
                    self.io.set_websocket(id.index, WebSocket::new(Role::Server, mode, frame, message));
                    if mode == Mode::Echo {
                        // Whole messages wait here for the peer, which is one of a test.
                        let most = u32::try_from(message.saturating_mul(2)).unwrap_or(u32::MAX);
                        self.io.set_write_queue_bytes_max(id, most);
                    }
                    self.establish(handler, id);
                    return Some(used);
                }
            }
            return None;
        }
        let (request, key) = opening.request.clone()?;
        match websocket::read_response(bytes, &request, &key?) {
            Answer::Partial => {
                self.keep_head(id, bytes);
                None
            }
            Answer::Refused => {
                self.io.fail(id.index, CloseReason::Upgrade);
                None
            }
            Answer::Accepted { used } => {
                let mode = request.messages.into();
                let websocket = WebSocket::new(Role::Client, mode, u64::MAX >> 1, u64::MAX >> 1);
                self.io.set_websocket(id.index, websocket);
                self.establish(handler, id);
                Some(used)
            }
        }
    }

    fn keep_head(&mut self, id: ConnectionId, bytes: &[u8]) {
        let mut carry = self.io.spare_buffer();
        carry.extend_from_slice(bytes);
        self.io.store_carry(id.index, carry);
    }

    /// Shows the handler what it left last time and `buffer[start..stop]` as one run.
    fn present<H: Handler<Message = M>>(
        &mut self,
        handler: &mut H,
        id: ConnectionId,
        buffer: &mut [u8],
        mut start: usize,
        stop: usize,
    ) {
        let Some(entry) = self.io.slab.find(id) else { return };
        if entry.flags & (flag::CLOSING | flag::ESTABLISHED) != flag::ESTABLISHED {
            return;
        }
        let kept = entry.extra.as_ref().is_some_and(|extra| !extra.carry.is_empty());
        if kept {
            let mut carry = self.io.take_carry(id.index);
            if carry.len() > start {
                // Too much for the headroom: collected in its own buffer, each byte copied once.
                carry.extend_from_slice(&buffer[start..stop]);
                self.present_buffer(handler, id, carry);
                return;
            }
            start -= carry.len();
            buffer[start..start + carry.len()].copy_from_slice(&carry);
            self.io.keep_buffer(carry);
        }
        let bytes = &buffer[start..stop];
        let used = handler.received(&mut self.io, id, bytes).min(bytes.len());
        let left = &bytes[used..];
        if left.is_empty() {
            if kept {
                self.trim_if_open(id);
            }
            return;
        }
        if self.may_carry(id, left.len()) {
            let mut carry = self.io.spare_buffer();
            carry.extend_from_slice(left);
            self.io.store_carry(id.index, carry);
        }
    }

    fn present_buffer<H: Handler<Message = M>>(
        &mut self,
        handler: &mut H,
        id: ConnectionId,
        mut bytes: Vec<u8>,
    ) {
        let used = handler.received(&mut self.io, id, &bytes).min(bytes.len());
        if self.may_carry(id, bytes.len() - used) {
            bytes.drain(..used);
            self.io.store_carry(id.index, bytes);
            self.trim_if_open(id);
        }
    }

    /// Shows the handler again what it left.
    pub(crate) fn present_carry<H: Handler<Message = M>>(&mut self, handler: &mut H, id: ConnectionId) {
        let Some(entry) = self.io.slab.find(id) else { return };
        if entry.extra.as_ref().is_some_and(|extra| !extra.carry.is_empty()) {
            let carry = self.io.take_carry(id.index);
            self.present_buffer(handler, id, carry);
        }
    }

    fn trim_if_open(&mut self, id: ConnectionId) {
        if self.io.slab.find(id).is_some() {
            self.io.trim(id.index);
        }
    }

    /// Whether the connection may keep `bytes` unconsumed; one that keeps too much has ended.
    fn may_carry(&mut self, id: ConnectionId, bytes: usize) -> bool {
        let Some(entry) = self.io.slab.find(id) else { return false };
        if entry.flags & flag::CLOSING != 0 {
            return false;
        }
        if bytes > entry.carry_bytes_max as usize {
            self.io.fail(id.index, CloseReason::CarryFull);
            return false;
        }
        true
    }
}

impl<M: Send + 'static> Io<M> {
    /// Sets the state of TLS.
    pub(crate) fn set_tls(&mut self, index: u32, tls: Tls) {
        let before = self.extra(index).layers_bytes();
        let extra = self.extra(index);
        match &mut extra.tls {
            Some(slot) => **slot = tls,
            None => extra.tls = Some(Box::new(tls)),
        }
        let after = extra.layers_bytes();
        self.layers_bytes = self.layers_bytes - before + after;
    }

    /// Sets the state of WebSocket.
    pub(crate) fn set_websocket(&mut self, index: u32, websocket: WebSocket) {
        let before = self.extra(index).layers_bytes();
        let extra = self.extra(index);
        extra.websocket = Some(Box::new(websocket));
        let after = extra.layers_bytes();
        self.layers_bytes = self.layers_bytes - before + after;
    }

    /// A number that no other TLS connection of this loop has.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Closes a connection, established or not, whose peer gets the reason by bytes already
    /// written.
    pub(crate) fn close_after_reply(&mut self, id: ConnectionId, reason: CloseReason) {
        let Some(entry) = self.slab.find(id) else { return };
        if entry.flags & flag::CLOSING != 0 {
            return;
        }
        entry.flags |= flag::CLOSING | flag::GOODBYE;
        entry.handler_at = 0;
        if let Some(extra) = &mut entry.extra {
            extra.deadline = 0;
        }
        if entry.flags & flag::DIRTY == 0 {
            entry.flags |= flag::DIRTY;
            self.dirty.push(id.index);
        }
        self.ended.push((id, reason));
    }
}
