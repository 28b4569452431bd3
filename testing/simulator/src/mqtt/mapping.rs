//! The broker's words about sessions in those of the shards, and back: what the edge does in between.
//!
//! An edge reads both its clocks for each conversion, as the product's does; the shards get the
//! wall clock.

use std::sync::Arc;

use bytes::Bytes;
use stadium_mqtt::broker::{
    self, Away, Head, Publication, Restored, RestoredMessage, RestoredSubscription, RestoredWill, SharedId,
};
use stadium_mqtt::packet::{QoS, SubscriptionOptions, Version};
use stadium_session::{
    Change, Connect, Keep, Message, Origin, Presence, Receiver, SessionImage, Subscription, Time, Will,
    Withdraw,
};

/// Both clocks at this instant: a time keeps its distance from now.
#[derive(Debug, Clone, Copy)]
pub struct Clocks {
    /// The edge's milliseconds since it began.
    pub node_ms: u64,
    /// The wall clock's.
    pub wall_ms: u64,
}

impl Clocks {
    fn wall(self, node_ms: u64) -> Time {
        Time((self.wall_ms + node_ms).saturating_sub(self.node_ms))
    }

    /// 0 is never: a time before the edge began is over.
    pub fn node_ms(self, wall: Time) -> u64 {
        (wall.0.saturating_add(self.node_ms)).saturating_sub(self.wall_ms).max(1)
    }

    pub fn kept_message(self, publication: &Arc<Publication>) -> Arc<Message> {
        let message = publication.message();
        let mut kept = Message::from_parts(message.topic, message.properties, message.payload)
            .expect("the parts of a packet are short");
        kept.qos = message.head.qos as u8;
        kept.retain = message.head.retain;
        kept.expires_at = message.head.expires_at_ms.map(|at_ms| self.wall(at_ms));
        Arc::new(kept)
    }

    pub fn publication(self, message: &Message) -> Arc<Publication> {
        let head = Head {
            qos: QoS::from_byte(message.qos).unwrap_or(QoS::AtMostOnce),
            retain: message.retain,
            expires_at_ms: message.expires_at.map(|at| self.node_ms(at)),
            ..Head::default()
        };
        Arc::new(Publication::new(&broker::Message {
            topic: message.topic(),
            properties: message.properties(),
            payload: message.payload(),
            head,
        }))
    }

    pub fn change(self, client_id: &str, change: broker::Change<'_, ()>) -> Change {
        let client = client_id.into();
        match change {
            broker::Change::Connect(connected) => Change::Connect(Box::new(Connect {
                client,
                incarnation: connected.incarnation,
                version: if connected.version == Version::V5 { 5 } else { 4 },
                expiry_s: connected.expiry_s,
                identity: Bytes::new(),
                will: connected.will.map(|will| Will {
                    id: will.id,
                    message: self.kept_message(will.publication),
                    delay_s: will.delay_s,
                    expiry_s: will.expiry_s,
                }),
            })),
            broker::Change::Disconnect(away) => Change::Disconnect {
                client,
                presence: Presence::Away {
                    ends_at: away.ends_at_ms.map(|at_ms| self.wall(at_ms)),
                    will_at: away.will_at_ms.map(|at_ms| self.wall(at_ms)),
                    sent_below: away.sent_below,
                },
            },
            broker::Change::WillGone { will } => Change::WillGone { client, will },
            broker::Change::End { incarnation } => Change::End { client, incarnation },
            broker::Change::Subscribe(kept) => Change::Subscribe {
                client,
                subscription: Subscription {
                    filter: kept.filter.into(),
                    options: kept.options.to_byte(Version::V5),
                    id: kept.id,
                    shared: kept.shared.number(),
                },
            },
            broker::Change::Unsubscribe { filter } => Change::Unsubscribe { client, filter: filter.into() },
            broker::Change::Received { queued_message } => {
                Change::Received { client, delivery: queued_message }
            }
            broker::Change::Done { queued_message } => {
                Change::Done { client, deliveries: vec![queued_message] }
            }
            broker::Change::Unreleased { packet_id } => Change::Unreleased { client, packet_id },
            broker::Change::Released { packet_id } => Change::Released { client, packet_id },
        }
    }

    pub fn keep(self, keep: &broker::Keep<'_>, origin: Option<Origin>) -> Change {
        let receiver = |one: &broker::Receiver<'_>| Receiver {
            client: one.client_id.into(),
            delivery: one.queued_message,
            qos: one.qos as u8,
            retain: one.retain,
            shared: one.shared.number(),
            ids: one.ids.into(),
        };
        Change::Keep(Box::new(Keep {
            message: self.kept_message(keep.publication),
            receivers: keep.receivers.iter().map(receiver).collect(),
            origin,
            publisher: keep.publisher.map(Into::into),
        }))
    }

    /// A session as the broker takes it back.
    pub fn restored(self, image: SessionImage) -> Restored<()> {
        let connect = image.connect;
        let subscriptions = image.subscriptions.into_iter().map(|kept| RestoredSubscription {
            filter: kept.filter.into(),
            options: SubscriptionOptions::from_byte(kept.options).expect("options that a client asked for"),
            id: kept.id,
            shared: SharedId::from_number(kept.shared),
        });
        let queued = image.owed.into_iter().map(|owed| RestoredMessage {
            number: owed.delivery,
            publication: owed.message.as_ref().map(|message| self.publication(message)),
            qos: if owed.qos == 2 { QoS::ExactlyOnce } else { QoS::AtLeastOnce },
            retain: owed.retain,
            shared: SharedId::from_number(owed.shared),
            ids: owed.ids,
        });
        Restored {
            client_id: connect.client.into(),
            identity: (),
            incarnation: connect.incarnation,
            version: if connect.version == 5 { Version::V5 } else { Version::V311 },
            expiry_s: connect.expiry_s,
            will: connect.will.map(|will| RestoredWill {
                id: will.id,
                publication: self.publication(&will.message),
                delay_s: will.delay_s,
                expiry_s: will.expiry_s,
            }),
            away: match image.presence {
                Presence::Here => None,
                Presence::Away { ends_at, will_at, sent_below } => Some(Away {
                    ends_at_ms: ends_at.map(|at| self.node_ms(at)),
                    will_at_ms: will_at.map(|at| self.node_ms(at)),
                    sent_below,
                }),
            },
            subscriptions: subscriptions.collect(),
            unreleased: image.unreleased,
            queued_messages: queued.collect(),
        }
    }
}

/// The origin of a publish as shards know it.
pub fn kept_origin(origin: broker::Origin) -> Origin {
    Origin { incarnation: origin.incarnation, packet_id: origin.packet_id }
}

pub fn kept_withdraw(withdraw: &broker::Withdraw<'_>, origin: Option<Origin>) -> Change {
    Change::Withdraw(Box::new(Withdraw {
        receivers: withdraw
            .receivers
            .iter()
            .map(|&(client, queued_message)| (client.into(), queued_message))
            .collect(),
        origin,
        publisher: withdraw.publisher.map(Into::into),
    }))
}
