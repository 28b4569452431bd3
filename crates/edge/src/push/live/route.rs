//! A live push on a loop: to subscribers of its topic, or to the inboxes of clients.
//!
//! Each loop routes its own part; which loop has which part is decided where the push enters, see
//! [`crate::handle`].

use stadium_mqtt::broker::{Message as MqttMessage, Publication};
use stadium_push::live::ClientId;
use stadium_reactor::Io;

use crate::device_loop::DeviceLoop;
use crate::message::{Message, PushPart, PushTo};
use crate::turn::Turn;

impl DeviceLoop {
    /// Routes this loop's part of a push.
    pub(crate) fn push(&mut self, io: &mut Io<Message>, part: PushPart) {
        let PushPart { to, publication, record } = part;
        match to {
            PushTo::Subscribers => {
                let mut turn = Turn { io, around: &mut self.around };
                // All loops get it; it came in by the first.
                if turn.around.index == 0 {
                    turn.around.shared.streams.observe(&publication.message());
                }
                self.broker.pushed(&mut turn, &publication);
            }
            PushTo::Inboxes(devices) => {
                let unread = self.push_to_inboxes(io, &devices, &publication);
                record.add_not_connected(unread);
            }
        }
        self.pushed.push(record);
    }

    /// Routes a push to each device's inbox; returns how many devices have no session that reads
    /// it. The publication's topic is the inboxes' common beginning.
    fn push_to_inboxes(
        &mut self,
        io: &mut Io<Message>,
        devices: &[ClientId],
        publication: &Publication,
    ) -> u64 {
        let mut unread = 0;
        let mut topic = String::new();
        let message = publication.message();
        for device in devices {
            topic.clear();
            topic.push_str(message.topic);
            topic.push_str(device.as_str());
            let mut turn = Turn { io: &mut *io, around: &mut self.around };
            let known = self.broker.find(device.as_str()).is_some();
            let reached = self.broker.accept(&mut turn, &MqttMessage { topic: &topic, ..message });
            if !known || reached != Ok(true) {
                unread += 1;
            }
        }
        unread
    }
}
