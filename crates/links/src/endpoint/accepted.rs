//! One connection that another node has dialled.

use stadium_reactor::{ConnectionId, Io};

use super::item::Item;
use super::shared::Shared;
use super::tls::certified_name;
use crate::link::{Acceptor, Delivery, End, Hello, Incarnation, Lane, NodeName, Refusal};

/// A connection that another node has dialled.
pub(super) struct Accepted {
    acceptor: Acceptor,
    /// The only DNS name of the certificate that it was opened with.
    certified: Option<String>,
    is_known: bool,
}

impl Accepted {
    /// The TLS handshake is done.
    pub(super) fn new(shared: &Shared, io: &mut Io<Item>, id: ConnectionId, loop_index: usize) -> Self {
        let handle = io.handle();
        let acceptor = Acceptor::new(
            shared.hello(Lane::Data, loop_index),
            &shared.settings.timing,
            shared.protocol.clone(),
            shared.settings.answer_bytes_max,
            // There is one such item for each connection at most, so that the mailbox's bound is
            // not needed.
            move || handle.send_beyond_bound(Item::Answers(id)),
            io.now(),
        );
        let certificate = io.take_peer_certificate(id);
        let certified = certificate.and_then(|certificate| certified_name(&certificate));
        let accepted = Self { acceptor, certified, is_known: false };
        accepted.set_timer(io, id);
        accepted
    }

    pub(super) fn received(
        &mut self,
        shared: &Shared,
        io: &mut Io<Item>,
        id: ConnectionId,
        bytes: &[u8],
    ) -> usize {
        let Self { acceptor, certified, .. } = self;
        let now_ms = io.now();
        let is_clear = io.unsent(id) == 0;
        let taken = io.with_output(id, |out| {
            let mut judge = |them: &Hello| {
                if certified.as_deref() != Some(them.node.as_str()) {
                    let (claims, certified) = (them.node.clone(), certified.clone());
                    return Err(Refusal::Certificate { claims, certified });
                }
                shared.judge(them)
            };
            let mut deliver = |delivery: Delivery<'_>| match delivery {
                Delivery::Up(_) => {}
                Delivery::Request(from, request, reply) => shared.receiver.request(from, request, reply),
                Delivery::Letter(from, letter) => shared.receiver.letter(from, letter),
            };
            let used = acceptor.received(now_ms, bytes, out, &mut judge, &mut deliver);
            // Behind a peer that reads slowly answers wait, until it has drained.
            if used.is_ok() && is_clear {
                acceptor.flush(out);
            }
            used
        });
        match taken {
            Some(Ok(used)) => {
                if !self.is_known && self.acceptor.peer().is_some() {
                    self.is_known = true;
                    io.set_carry_bytes_max(id, shared.settings.carry_bytes_max());
                }
                used
            }
            Some(Err(end)) => {
                self.ended(shared, &end);
                io.close(id);
                bytes.len()
            }
            None => bytes.len(),
        }
    }

    /// Sends the answers that wait, where everything before them has left.
    pub(super) fn flush(&mut self, io: &mut Io<Item>, id: ConnectionId) {
        if io.unsent(id) == 0 {
            let acceptor = &mut self.acceptor;
            io.with_output(id, |out| acceptor.flush(out));
        }
    }

    /// Does what is due.
    pub(super) fn advance(&mut self, shared: &Shared, io: &mut Io<Item>, id: ConnectionId) {
        let (acceptor, now_ms) = (&mut self.acceptor, io.now());
        match io.with_output(id, |out| acceptor.advance(now_ms, out)) {
            Some(Err(end)) => {
                self.ended(shared, &end);
                io.abort(id);
            }
            _ => self.set_timer(io, id),
        }
    }

    fn set_timer(&self, io: &mut Io<Item>, id: ConnectionId) {
        if let Some(at_ms) = self.acceptor.deadline_ms() {
            io.set_timer(id, at_ms.saturating_sub(io.now()));
        }
    }

    fn ended(&self, shared: &Shared, end: &End) {
        if let End::Refuses(refusal) = end {
            shared.refused(refusal);
        }
        let node = self.acceptor.peer().map(|peer| peer.node.as_str());
        let node = node.or(self.certified.as_deref()).unwrap_or("unknown");
        tracing::warn!(node, reason = %end, "A link of another node ends");
    }

    /// Whether it is of a node, and of an incarnation before this one where one is given.
    pub(super) fn is_of(&self, node: &NodeName, before: Option<Incarnation>) -> bool {
        let peer = self.acceptor.peer().filter(|peer| peer.node == *node);
        peer.is_some_and(|peer| before.is_none_or(|before| peer.incarnation < before))
    }
}
