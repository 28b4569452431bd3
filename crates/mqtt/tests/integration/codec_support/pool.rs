//! Builds any valid packet out of a pool of numbers, strings and bytes.
//!
//! The pool is what a property test draws and shrinks; the same pool always builds the same packet. Both
//! versions are covered: what 3.1.1 doesn't carry is left absent.

use std::cell::Cell;

use stadium_mqtt::packet::*;
use stadium_mqtt::property::{SubscriptionIds, UserProperties, UserPropertiesBuffer};
use stadium_mqtt::reason::ReasonCode;
use stadium_mqtt::topic::Subscribed;

/// What packets are built from; each list has at least one entry.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    pub(crate) numbers: Vec<u32>,
    pub(crate) strings: Vec<String>,
    pub(crate) topics: Vec<String>,
    pub(crate) filters: Vec<String>,
    pub(crate) blobs: Vec<Vec<u8>>,
}

struct Draw<'p> {
    pool: &'p Pool,
    at: Cell<usize>,
}

impl<'p> Draw<'p> {
    fn number(&self) -> u32 {
        let at = self.at.get();
        self.at.set(at + 1);
        // Going round the pool gives other values, not the same again.
        let round = (at / self.pool.numbers.len()) as u32;
        self.pool.numbers[at % self.pool.numbers.len()].wrapping_add(round.wrapping_mul(0x9E37_79B9))
    }

    fn below(&self, limit: usize) -> usize {
        self.number() as usize % limit
    }

    fn flag(&self) -> bool {
        self.below(2) == 1
    }

    fn not_zero(&self) -> u16 {
        (self.number() as u16).max(1)
    }

    fn maybe<T>(&self, value: impl FnOnce() -> T) -> Option<T> {
        self.flag().then(value)
    }

    fn string(&self) -> &'p str {
        &self.pool.strings[self.below(self.pool.strings.len())]
    }

    fn topic(&self) -> &'p str {
        &self.pool.topics[self.below(self.pool.topics.len())]
    }

    fn filter(&self) -> &'p str {
        &self.pool.filters[self.below(self.pool.filters.len())]
    }

    fn blob(&self) -> &'p [u8] {
        &self.pool.blobs[self.below(self.pool.blobs.len())]
    }

    fn qos(&self) -> QoS {
        [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce][self.below(3)]
    }

    fn one_of(&self, reasons: &[ReasonCode]) -> ReasonCode {
        reasons[self.below(reasons.len())]
    }
}

use ReasonCode as R;

const ACK: &[R] = &[
    R::Success,
    R::NoMatchingSubscribers,
    R::UnspecifiedError,
    R::ImplementationSpecificError,
    R::NotAuthorized,
    R::TopicNameInvalid,
    R::PacketIdentifierInUse,
    R::QuotaExceeded,
    R::PayloadFormatInvalid,
];
const RELEASE: &[R] = &[R::Success, R::PacketIdentifierNotFound];
const CONNACK_311: &[R] = &[
    R::Success,
    R::UnsupportedProtocolVersion,
    R::ClientIdentifierNotValid,
    R::ServerUnavailable,
    R::BadUserNameOrPassword,
    R::NotAuthorized,
];
const CONNACK_5: &[R] = &[
    R::Success,
    R::MalformedPacket,
    R::Banned,
    R::ServerBusy,
    R::BadAuthenticationMethod,
    R::UseAnotherServer,
    R::ConnectionRateExceeded,
    R::RetainNotSupported,
    R::QosNotSupported,
];
const DISCONNECT: &[R] = &[
    R::Success,
    R::DisconnectWithWill,
    R::SessionTakenOver,
    R::KeepAliveTimeout,
    R::ServerShuttingDown,
    R::MaximumConnectTime,
    R::WildcardSubscriptionsNotSupported,
];
const SUBACK_311: &[u8] = &[0, 1, 2, 0x80];
const SUBACK_5: &[u8] = &[0, 1, 2, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2];
const UNSUBACK_5: &[u8] = &[0, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91];

impl Pool {
    /// Builds a packet of `version` and lends it to `then`.
    pub(crate) fn with_packet<T>(&self, version: Version, then: impl FnOnce(&Packet<'_>) -> T) -> T {
        let draw = Draw { pool: self, at: Cell::new(0) };
        let v5 = version == Version::V5;
        let mut words = UserPropertiesBuffer::default();
        let mut will_words = UserPropertiesBuffer::default();
        if v5 {
            for _ in 0..draw.below(4) {
                words.push(draw.string(), draw.string());
                will_words.push(draw.string(), draw.string());
            }
        }
        let user = words.properties();
        let ids: Vec<u32> = (0..draw.below(4)).map(|_| 1 + draw.number() % 268_435_455).collect();
        let codes = |codes: &[u8], least: usize| -> Vec<u8> {
            (0..least + draw.below(5)).map(|_| codes[draw.below(codes.len())]).collect()
        };
        let suback_codes = codes(if v5 { SUBACK_5 } else { SUBACK_311 }, 1);
        let unsuback_codes = if v5 { codes(UNSUBACK_5, 1) } else { Vec::new() };
        let mut rows = FiltersBuffer::new(version);
        let mut names = FilterNamesBuffer::default();
        for _ in 0..1 + draw.below(4) {
            let filter = draw.filter();
            let shared = matches!(Subscribed::parse(filter), Ok(Subscribed::Shared(_)));
            let options = SubscriptionOptions {
                qos: draw.qos(),
                no_local: v5 && !shared && draw.flag(),
                retain_as_published: v5 && draw.flag(),
                retain_handling: match draw.below(3) {
                    1 if v5 => RetainHandling::SendIfNew,
                    2 if v5 => RetainHandling::DontSend,
                    _ => RetainHandling::Send,
                },
            };
            rows.push(filter, options).expect("a filter of the pool is short");
            names.push(filter).expect("a filter of the pool is short");
        }
        let packet = match draw.below(if v5 { 15 } else { 14 }) {
            0 => Packet::Connect(connect(&draw, version, user, will_words.properties())),
            1 => Packet::Connack(connack(&draw, version, user)),
            2 => Packet::Publish(publish(&draw, version, user, &ids)),
            3 => Packet::Puback(ack(&draw, version, user, ACK)),
            4 => Packet::Pubrec(ack(&draw, version, user, ACK)),
            5 => Packet::Pubrel(ack(&draw, version, user, RELEASE)),
            6 => Packet::Pubcomp(ack(&draw, version, user, RELEASE)),
            7 => Packet::Subscribe(Subscribe {
                packet_id: draw.not_zero(),
                subscription_id: if v5 { ids.first().copied() } else { None },
                user_properties: user,
                filters: rows.filters(),
            }),
            8 => Packet::Suback(suback(&draw, version, user, &suback_codes)),
            9 => Packet::Unsubscribe(Unsubscribe {
                packet_id: draw.not_zero(),
                user_properties: user,
                filters: names.filters(),
            }),
            10 => Packet::Unsuback(suback(&draw, version, user, &unsuback_codes)),
            11 => Packet::Pingreq,
            12 => Packet::Pingresp,
            13 if v5 => Packet::Disconnect(Disconnect {
                reason: draw.one_of(DISCONNECT),
                session_expiry_s: draw.maybe(|| draw.number()),
                reason_string: draw.maybe(|| draw.string()),
                server_reference: draw.maybe(|| draw.string()),
                user_properties: user,
            }),
            13 => Packet::Disconnect(Disconnect::default()),
            _ => Packet::Auth(Auth {
                reason: draw.one_of(&[R::Success, R::ContinueAuthentication, R::ReAuthenticate]),
                method: Some(draw.string()),
                data: draw.maybe(|| draw.blob()),
                reason_string: draw.maybe(|| draw.string()),
                user_properties: user,
            }),
        };
        then(&packet)
    }
}

fn connect<'a>(
    draw: &Draw<'a>,
    version: Version,
    user: UserProperties<'a>,
    will_user: UserProperties<'a>,
) -> Connect<'a> {
    let v5 = version == Version::V5;
    let username = draw.maybe(|| draw.string());
    let method = draw.maybe(|| draw.string()).filter(|_| v5);
    Connect {
        version,
        clean_start: draw.flag(),
        keep_alive_s: draw.number() as u16,
        client_id: draw.string(),
        will: draw.maybe(|| Will {
            topic: draw.topic(),
            payload: draw.blob(),
            qos: draw.qos(),
            retain: draw.flag(),
            delay_s: if v5 { draw.number() } else { 0 },
            properties: if v5 { message(draw, will_user) } else { PublishProperties::default() },
        }),
        username,
        password: draw.maybe(|| draw.blob()).filter(|_| v5 || username.is_some()),
        session_expiry_s: draw.maybe(|| draw.number()).filter(|_| v5),
        receive_maximum: draw.maybe(|| draw.not_zero()).filter(|_| v5),
        maximum_packet_size: draw.maybe(|| draw.number().max(1)).filter(|_| v5),
        topic_alias_maximum: draw.maybe(|| draw.number() as u16).filter(|_| v5),
        request_response_information: v5 && draw.flag(),
        request_problem_information: !v5 || draw.flag(),
        authentication_method: method,
        authentication_data: draw.maybe(|| draw.blob()).filter(|_| method.is_some()),
        user_properties: user,
    }
}

fn connack<'a>(draw: &Draw<'a>, version: Version, user: UserProperties<'a>) -> Connack<'a> {
    if version == Version::V311 {
        return Connack {
            session_present: draw.flag(),
            reason: draw.one_of(CONNACK_311),
            ..Connack::default()
        };
    }
    Connack {
        session_present: draw.flag(),
        reason: draw.one_of(CONNACK_5),
        session_expiry_s: draw.maybe(|| draw.number()),
        receive_maximum: draw.maybe(|| draw.not_zero()),
        maximum_qos: draw.maybe(|| draw.number() as u8 & 1),
        retain_available: draw.maybe(|| draw.flag()),
        maximum_packet_size: draw.maybe(|| draw.number().max(1)),
        assigned_client_id: draw.maybe(|| draw.string()),
        topic_alias_maximum: draw.maybe(|| draw.number() as u16),
        reason_string: draw.maybe(|| draw.string()),
        user_properties: user,
        wildcard_subscription_available: draw.maybe(|| draw.flag()),
        subscription_ids_available: draw.maybe(|| draw.flag()),
        shared_subscription_available: draw.maybe(|| draw.flag()),
        server_keep_alive_s: draw.maybe(|| draw.number() as u16),
        response_information: draw.maybe(|| draw.string()),
        server_reference: draw.maybe(|| draw.string()),
        authentication_method: draw.maybe(|| draw.string()),
        authentication_data: draw.maybe(|| draw.blob()),
    }
}

fn message<'a>(draw: &Draw<'a>, user: UserProperties<'a>) -> PublishProperties<'a> {
    PublishProperties {
        payload_format: draw.maybe(|| draw.number() as u8 & 1),
        message_expiry_s: draw.maybe(|| draw.number()),
        response_topic: draw.maybe(|| draw.topic()),
        correlation_data: draw.maybe(|| draw.blob()),
        content_type: draw.maybe(|| draw.string()),
        user_properties: user,
        ..PublishProperties::default()
    }
}

fn publish<'a>(draw: &Draw<'a>, version: Version, user: UserProperties<'a>, ids: &'a [u32]) -> Publish<'a> {
    let v5 = version == Version::V5;
    let qos = draw.qos();
    let topic_alias = draw.maybe(|| draw.not_zero()).filter(|_| v5);
    Publish {
        dup: qos != QoS::AtMostOnce && draw.flag(),
        qos,
        retain: draw.flag(),
        topic: if topic_alias.is_some() && draw.flag() { "" } else { draw.topic() },
        packet_id: if qos == QoS::AtMostOnce { 0 } else { draw.not_zero() },
        properties: match version {
            Version::V311 => PublishProperties::default(),
            Version::V5 => PublishProperties {
                topic_alias,
                subscription_ids: SubscriptionIds::list(ids),
                ..message(draw, user)
            },
        },
        payload: draw.blob(),
    }
}

fn ack<'a>(draw: &Draw<'a>, version: Version, user: UserProperties<'a>, reasons: &[R]) -> Ack<'a> {
    match version {
        Version::V311 => Ack { packet_id: draw.not_zero(), ..Ack::default() },
        Version::V5 => Ack {
            packet_id: draw.not_zero(),
            reason: draw.one_of(reasons),
            reason_string: draw.maybe(|| draw.string()),
            user_properties: user,
        },
    }
}

fn suback<'a>(draw: &Draw<'a>, version: Version, user: UserProperties<'a>, reasons: &'a [u8]) -> Suback<'a> {
    Suback {
        packet_id: draw.not_zero(),
        reason_string: draw.maybe(|| draw.string()).filter(|_| version == Version::V5),
        user_properties: user,
        reasons,
    }
}
