//! The commands of shards: deliveries to inboxes, and connections to cut.
//!
//! Each delivery is for one connection. Where that is gone, or does not read its inbox any more,
//! the delivery is returned to its shard at once: the device is still owed it.

use std::fmt::Write as _;

use compact_str::CompactString;
use stadium_mqtt::broker::{Head, Message as MqttMessage};
use stadium_push::live::{Away, LiveDispatch};
use stadium_push::{Dispatch, Happened, Step, TransportCommand, client_ids};
use stadium_reactor::{ConnectionId, Io};
use stadium_telemetry::TraceContext;

use super::inboxes::{connection, mqtt_qos, token, wall};
use super::queue::QueuedItem;
use super::traced::TRACEPARENT;
use crate::device_loop::DeviceLoop;
use crate::message::Message;
use crate::push::live::{forwardable, receipt};
use crate::turn::Turn;

impl DeviceLoop {
    /// Carries out the commands that shards have queued.
    pub(crate) fn take_transport_commands(&mut self, io: &mut Io<Message>) {
        if self.around.inboxes.is_off() {
            return;
        }
        let mut queued = std::mem::take(&mut self.queued);
        self.around.shared.transport_queues[self.around.index].take(&mut queued);
        for item in queued.drain(..) {
            match item {
                QueuedItem::Command { shard, command: TransportCommand::Dispatch(dispatch) } => {
                    self.dispatch(io, shard, &dispatch)
                }
                QueuedItem::Command { command: TransportCommand::Live(dispatch), .. } => {
                    self.dispatch_live(io, &dispatch)
                }
                QueuedItem::Command { command: TransportCommand::Disconnect { app, device }, .. } => {
                    for name in client_ids(&app, &device) {
                        self.cut(io, name);
                    }
                }
                QueuedItem::AnnounceAgain { shard } => {
                    for id in self.around.inboxes.connections(Some(shard)) {
                        if let Some(client_id) = self.broker.client_id(self.devices.session(id)) {
                            self.around.inboxes.begin(id, client_id);
                        }
                    }
                }
                QueuedItem::Node(node) => {
                    let ids = self.around.inboxes.connections(None).into_iter();
                    let connected: Vec<_> = ids
                        .filter_map(|id| Some((id, self.broker.client_id(self.devices.session(id))?)))
                        .collect();
                    self.around.inboxes.rename(node, &connected);
                }
            }
        }
        self.queued = queued;
    }

    /// Ends the connections whose client id or principal has this name, and those on their way in.
    fn cut(&mut self, io: &mut Io<Message>, name: String) {
        let proved = self.principals.connections(&name).into_iter();
        let proved = proved.filter_map(|id| self.broker.client_id(self.devices.session(id)));
        let client_ids: Vec<String> = std::iter::once(&*name).chain(proved).map(str::to_owned).collect();
        for client_id in client_ids {
            let mut turn = Turn { io: &mut *io, around: &mut self.around };
            self.broker.kick(&mut turn, &client_id);
        }
        self.note_cut(io, name);
    }

    fn dispatch(&mut self, io: &mut Io<Message>, shard: u16, dispatch: &Dispatch) {
        let properties = forwardable(dispatch.content_type.as_deref(), &dispatch.properties);
        let head = Head {
            qos: mqtt_qos(dispatch.qos),
            expires_at_ms: dispatch.expires_at.map(|at| self.around.shared.clock.node_ms(at)),
            receipt: token(shard, dispatch.push),
            ..Head::default()
        };
        // Names of another incarnation of the node stand for connections that ended with it.
        let are_ours = dispatch.node == self.around.inboxes.node();
        let mut topic = String::new();
        let traced = self.around.traced.devices(dispatch.trace, dispatch.to.len());
        for (index, recipient) in dispatch.to.iter().enumerate() {
            let id = connection(recipient.connection);
            let mut is_given = false;
            if are_ours && self.around.inboxes.note_slot(id, recipient.slot) {
                let own = dispatch.trace.filter(|_| index < traced);
                let own = own.and_then(|push| {
                    self.begin_traced(push, id, &head, dispatch.content_type.as_deref(), &dispatch.properties)
                });
                let (properties, payload) = (own.as_ref().unwrap_or(&properties), &dispatch.payload);
                let message = MqttMessage { topic: "", properties, payload, head };
                is_given = self.deliver_to_inbox(io, id, &message, &mut topic);
                if own.is_some() && !is_given {
                    self.around.traced.cancel(head.receipt, id);
                }
            }
            if !is_given {
                let (push, slot, connection) =
                    (dispatch.push, recipient.slot, dispatch.connection(recipient));
                let step = Step { push, slot, connection, what: Happened::Returned, at: wall() };
                self.around.inboxes.step(shard, step);
            }
        }
    }

    /// Begins the span of a delivery. Returns the properties of its message: those of the push, and
    /// the context of the span unless the push has one of its own.
    fn begin_traced(
        &mut self,
        push: TraceContext,
        id: ConnectionId,
        head: &Head,
        content_type: Option<&str>,
        properties: &[(CompactString, CompactString)],
    ) -> Option<Vec<u8>> {
        let client_id = self.broker.client_id(self.devices.session(id))?;
        let context = self.around.traced.begin(push, head.receipt, id, client_id, head.qos);
        let mut properties = properties.to_vec();
        if properties.iter().all(|(name, _)| name != TRACEPARENT) {
            properties.push((TRACEPARENT.into(), context.to_string().into()));
        }
        Some(forwardable(content_type, &properties))
    }

    /// Delivers a live push to connections, as far as they still read their inbox.
    fn dispatch_live(&mut self, io: &mut Io<Message>, dispatch: &LiveDispatch) {
        let LiveDispatch { token, node, message: content, qos, trace, to, .. } = dispatch;
        let push = self.around.shared.pushes.number_of(*token);
        let are_ours = *node == self.around.inboxes.node();
        let properties = forwardable(content.content_type.as_deref(), &content.properties);
        let receipt = receipt(push, Away::Skip);
        let head = Head { qos: mqtt_qos(qos.number()), receipt, ..Head::default() };
        let mut topic = String::new();
        let mut not_connected = 0;
        let traced = self.around.traced.devices(*trace, to.len());
        for (index, number) in to.iter().enumerate() {
            let id = connection(*number);
            let mut is_given = false;
            if are_ours && self.around.inboxes.reads(id) {
                let own = trace.filter(|_| index < traced);
                let own = own.and_then(|push| {
                    self.begin_traced(push, id, &head, content.content_type.as_deref(), &content.properties)
                });
                let (properties, payload) = (own.as_ref().unwrap_or(&properties), &content.payload);
                let message = MqttMessage { topic: "", properties, payload, head };
                is_given = self.deliver_to_inbox(io, id, &message, &mut topic);
                if own.is_some() && !is_given {
                    self.around.traced.cancel(receipt, id);
                }
            }
            not_connected += u64::from(!is_given);
        }
        self.around.shared.pushes.add_not_connected(push, not_connected);
    }

    /// Delivers a message to the inbox of a connection, whose topic it gets; returns whether it was
    /// taken. `topic` is used again.
    fn deliver_to_inbox(
        &mut self,
        io: &mut Io<Message>,
        id: ConnectionId,
        message: &MqttMessage<'_>,
        topic: &mut String,
    ) -> bool {
        let key = self.devices.session(id);
        topic.clear();
        if let Some(client_id) = self.broker.client_id(key) {
            let _ = write!(topic, "inbox/{client_id}");
        }
        let mut turn = Turn { io, around: &mut self.around };
        self.broker.deliver_to(&mut turn, key, &MqttMessage { topic, ..*message })
    }

    /// The subscriptions of a connection may have changed: whether it reads its inbox.
    pub(crate) fn look_at_inbox(&mut self, io: &mut Io<Message>, id: ConnectionId) {
        if self.around.inboxes.is_off() {
            return;
        }
        let key = self.devices.session(id);
        let Some(client_id) = self.broker.client_id(key) else { return };
        let mut turn = Turn { io, around: &mut self.around };
        let reads = self.broker.reads(&mut turn, key, &format!("inbox/{client_id}"));
        match (self.around.inboxes.reads(id), reads) {
            (false, true) => self.around.inboxes.begin(id, client_id),
            (true, false) => self.around.inboxes.end(id, client_id),
            _ => {}
        }
    }

    /// The same for all that read theirs: the rules have changed.
    pub(crate) fn look_at_all_inboxes(&mut self, io: &mut Io<Message>) {
        for id in self.around.inboxes.connections(None) {
            self.look_at_inbox(io, id);
        }
    }
}
