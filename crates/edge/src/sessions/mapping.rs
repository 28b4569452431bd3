//! The broker's words about sessions in those of the shards, and back.
//!
//! A message's bytes are shared with the broker's publication. Timestamps are the wall clock's, so
//! that they go on across a restart.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use stadium_mqtt::broker::{self, Head, Publication};
use stadium_mqtt::packet::{QoS, Version};
use stadium_session::{
    Change, Connect, Keep, Message, Origin, Presence, Receiver, Subscription, Will, Withdraw,
};

use crate::auth::Identity;
use crate::turn::{Shared, Who};

/// A publication whose bytes somebody shares.
struct Owned(Arc<Publication>);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl Shared {
    pub(crate) fn kept_message(&self, publication: &Arc<Publication>) -> Arc<Message> {
        let message = publication.message();
        let topic_bytes =
            u16::try_from(message.topic.len()).expect("a topic's length fits two bytes on the wire");
        let properties_bytes = u32::try_from(message.properties.len())
            .expect("a property block fits a packet of at most 256 MB");
        let bytes = Bytes::from_owner(Owned(Arc::clone(publication)));
        let mut kept = Message::new(bytes, topic_bytes, properties_bytes)
            .expect("the lengths are those of the publication's parts");
        kept.qos = message.head.qos as u8;
        kept.retain = message.head.retain;
        kept.expires_at = message.head.expires_at_ms.map(|at_ms| self.clock.wall_time(at_ms));
        Arc::new(kept)
    }

    pub(super) fn publication(&self, message: &Message) -> Arc<Publication> {
        let head = Head {
            qos: QoS::from_byte(message.qos).unwrap_or(QoS::AtMostOnce),
            retain: message.retain,
            expires_at_ms: message.expires_at.map(|at| self.clock.node_ms(at)),
            ..Head::default()
        };
        Arc::new(Publication::new(&broker::Message {
            topic: message.topic(),
            properties: message.properties(),
            payload: message.payload(),
            head,
        }))
    }

    pub(crate) fn change(&self, client_id: &str, change: broker::Change<'_, Who>) -> Change {
        let client = client_id.into();
        match change {
            broker::Change::Connect(connected) => Change::Connect(Box::new(Connect {
                client,
                incarnation: connected.incarnation,
                version: if connected.version == Version::V5 { 5 } else { 4 },
                expiry_s: connected.expiry_s,
                identity: written(connected.identity),
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
                    ends_at: away.ends_at_ms.map(|at_ms| self.clock.wall_time(at_ms)),
                    will_at: away.will_at_ms.map(|at_ms| self.clock.wall_time(at_ms)),
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

    pub(crate) fn keep(&self, keep: &broker::Keep<'_>) -> Change {
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
            origin: keep.origin.map(kept_origin),
            publisher: keep.publisher.map(Into::into),
        }))
    }
}

fn kept_origin(origin: broker::Origin) -> Origin {
    Origin { incarnation: origin.incarnation, packet_id: origin.packet_id }
}

pub(crate) fn withdraw(withdraw: &broker::Withdraw<'_>) -> Change {
    Change::Withdraw(Box::new(Withdraw {
        receivers: withdraw
            .receivers
            .iter()
            .map(|&(client, queued_message)| (client.into(), queued_message))
            .collect(),
        origin: withdraw.origin.map(kept_origin),
        publisher: withdraw.publisher.map(Into::into),
    }))
}

pub(crate) fn ask(origin: broker::Origin) -> Change {
    Change::Ask { origin: kept_origin(origin) }
}

pub(crate) fn forget(origin: broker::Origin) -> Change {
    Change::Forget { origin: kept_origin(origin) }
}

/// An identity as it is kept. An anonymous device's is empty.
#[derive(Serialize, Deserialize)]
struct Written {
    principal: String,
    via: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    groups: Vec<String>,
}

fn written(who: &Who) -> Bytes {
    let Some(identity) = who else { return Bytes::new() };
    let written = Written {
        principal: identity.principal.to_string(),
        via: identity.via.as_str().to_owned(),
        expires_at_ms: identity.expires_at.map(|at| {
            u64::try_from(at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
        }),
        groups: identity.groups.iter().map(ToString::to_string).collect(),
    };
    serde_json::to_vec(&written).expect("texts and numbers have a form in JSON").into()
}

/// Whose a session is, as it was kept. `None` inside is an anonymous device; `Err` is nobody that we know of.
pub(super) fn read(identity: &[u8]) -> Result<Who, String> {
    if identity.is_empty() {
        return Ok(None);
    }
    let written: Written = serde_json::from_slice(identity).map_err(|error| error.to_string())?;
    let expires_at: Option<SystemTime> =
        written.expires_at_ms.and_then(|ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms)));
    Ok(Some(Arc::new(Identity {
        principal: written.principal.into(),
        via: written.via.parse()?,
        expires_at,
        groups: written.groups.into_iter().map(Arc::from).collect(),
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Via;

    #[test]
    fn the_owner_of_a_session_is_read_back_whatever_the_proof_was() {
        for via in Via::ALL {
            let groups = Arc::from([Arc::from("staff")]);
            let identity = Identity { principal: "ada".into(), via, expires_at: None, groups };
            let owner = read(&written(&Some(Arc::new(identity)))).expect("it was written");
            let owner = owner.expect("it is somebody");
            assert_eq!((&*owner.principal, owner.via, owner.groups.len()), ("ada", via, 1));
        }
        assert!(read(&written(&None)).expect("it was written").is_none());
        assert!(read(br#"{"principal": "ada", "via": "oath"}"#).is_err());
    }
}
