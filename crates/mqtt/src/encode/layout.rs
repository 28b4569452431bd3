//! What follows the fixed header of each packet, field by field in the order of MQTT 5.0 chapter 3.
//!
//! Written once against [`Sink`], so that lengths and bytes cannot disagree.

use super::sink::{Length, Sink};
use crate::packet::{
    Ack, Auth, Connack, Connect, Disconnect, Packet, Publish, PublishProperties, QoS, Suback, Subscribe,
    Unsubscribe, Version, Will,
};
use crate::property::{UserProperties, id};
use crate::reason::ReasonCode;

/// What to leave out so that a packet fits its receiver's Maximum Packet Size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    Nothing,
    UserProperties,
    UserPropertiesAndReason,
}

impl Leave {
    fn reason(self, reason: Option<&str>) -> Option<&str> {
        reason.filter(|_| self != Self::UserPropertiesAndReason)
    }

    fn user<'a>(self, properties: &UserProperties<'a>) -> UserProperties<'a> {
        match self {
            Self::Nothing => *properties,
            Self::UserProperties | Self::UserPropertiesAndReason => UserProperties::default(),
        }
    }
}

impl Packet<'_> {
    /// Writes everything after the fixed header. `None` if the version has no such packet.
    pub(super) fn lay_out<S: Sink>(&self, version: Version, leave: Leave, sink: &mut S) -> Option<()> {
        match self {
            Self::Connect(connect) => lay_out_connect(connect, version, sink),
            Self::Connack(connack) => return lay_out_connack(connack, version, leave, sink),
            Self::Publish(publish) => lay_out_publish(publish, version, sink),
            Self::Puback(ack) | Self::Pubrec(ack) | Self::Pubrel(ack) | Self::Pubcomp(ack) => {
                lay_out_ack(ack, version, leave, sink);
            }
            Self::Subscribe(subscribe) => lay_out_subscribe(subscribe, version, sink),
            Self::Suback(suback) => {
                lay_out_reasons_head(suback, version, leave, sink);
                for &code in suback.reasons {
                    // 3.1.1 has one word for every failure (its section 3.9.3).
                    sink.byte(if version == Version::V311 && code >= 0x80 { 0x80 } else { code });
                }
            }
            Self::Unsubscribe(unsubscribe) => lay_out_unsubscribe(unsubscribe, version, sink),
            Self::Unsuback(unsuback) => {
                lay_out_reasons_head(unsuback, version, leave, sink);
                if version == Version::V5 {
                    sink.bytes(unsuback.reasons);
                }
            }
            Self::Pingreq | Self::Pingresp => {}
            Self::Disconnect(disconnect) => lay_out_disconnect(disconnect, version, leave, sink),
            Self::Auth(_) if version == Version::V311 => return None,
            Self::Auth(auth) => lay_out_auth(auth, leave, sink),
        }
        Some(())
    }
}

/// Writes a property block: its length, then what `write` writes.
fn block<S: Sink>(sink: &mut S, properties: &impl Properties) {
    let mut length = Length(0);
    properties.write(&mut length);
    sink.varint(length.0);
    properties.write(sink);
}

/// The properties of one packet, which can be counted and written.
trait Properties {
    fn write<S: Sink>(&self, sink: &mut S);

    fn is_empty(&self) -> bool {
        let mut length = Length(0);
        self.write(&mut length);
        length.0 == 0
    }
}

impl Properties for Connect<'_> {
    fn write<S: Sink>(&self, sink: &mut S) {
        sink.optional_four_bytes(id::SESSION_EXPIRY_INTERVAL, self.session_expiry_s);
        sink.optional_two_bytes(id::RECEIVE_MAXIMUM, self.receive_maximum);
        sink.optional_four_bytes(id::MAXIMUM_PACKET_SIZE, self.maximum_packet_size);
        sink.optional_two_bytes(id::TOPIC_ALIAS_MAXIMUM, self.topic_alias_maximum);
        if self.request_response_information {
            sink.bytes(&[id::REQUEST_RESPONSE_INFORMATION, 1]);
        }
        if !self.request_problem_information {
            sink.bytes(&[id::REQUEST_PROBLEM_INFORMATION, 0]);
        }
        sink.optional_string(id::AUTHENTICATION_METHOD, self.authentication_method);
        sink.optional_binary(id::AUTHENTICATION_DATA, self.authentication_data);
        sink.user_properties(&self.user_properties);
    }
}

fn lay_out_connect<S: Sink>(connect: &Connect<'_>, version: Version, sink: &mut S) {
    sink.string("MQTT");
    sink.byte(version as u8);
    let will_flags =
        connect.will.as_ref().map_or(0, |will| 0b100 | (will.qos as u8) << 3 | u8::from(will.retain) << 5);
    sink.byte(
        u8::from(connect.clean_start) << 1
            | will_flags
            | u8::from(connect.password.is_some()) << 6
            | u8::from(connect.username.is_some()) << 7,
    );
    sink.two_bytes(connect.keep_alive_s);
    if version == Version::V5 {
        block(sink, connect);
    }
    sink.string(connect.client_id);
    if let Some(will) = &connect.will {
        if version == Version::V5 {
            block(sink, will);
        }
        sink.string(will.topic);
        sink.binary(will.payload);
    }
    if let Some(username) = connect.username {
        sink.string(username);
    }
    if let Some(password) = connect.password {
        sink.binary(password);
    }
}

impl Properties for Will<'_> {
    fn write<S: Sink>(&self, sink: &mut S) {
        if self.delay_s != 0 {
            sink.optional_four_bytes(id::WILL_DELAY_INTERVAL, Some(self.delay_s));
        }
        sink.optional_four_bytes(id::MESSAGE_EXPIRY_INTERVAL, self.properties.message_expiry_s);
        self.properties.write_forwardable(sink);
    }
}

struct ConnackProperties<'p, 'a>(&'p Connack<'a>, Leave);

impl Properties for ConnackProperties<'_, '_> {
    fn write<S: Sink>(&self, sink: &mut S) {
        let Self(connack, leave) = self;
        sink.optional_four_bytes(id::SESSION_EXPIRY_INTERVAL, connack.session_expiry_s);
        sink.optional_two_bytes(id::RECEIVE_MAXIMUM, connack.receive_maximum);
        sink.optional_byte(id::MAXIMUM_QOS, connack.maximum_qos);
        sink.optional_flag(id::RETAIN_AVAILABLE, connack.retain_available);
        sink.optional_four_bytes(id::MAXIMUM_PACKET_SIZE, connack.maximum_packet_size);
        sink.optional_string(id::ASSIGNED_CLIENT_IDENTIFIER, connack.assigned_client_id);
        sink.optional_two_bytes(id::TOPIC_ALIAS_MAXIMUM, connack.topic_alias_maximum);
        sink.optional_string(id::REASON_STRING, leave.reason(connack.reason_string));
        sink.user_properties(&leave.user(&connack.user_properties));
        sink.optional_flag(id::WILDCARD_SUBSCRIPTION_AVAILABLE, connack.wildcard_subscription_available);
        sink.optional_flag(id::SUBSCRIPTION_IDENTIFIER_AVAILABLE, connack.subscription_ids_available);
        sink.optional_flag(id::SHARED_SUBSCRIPTION_AVAILABLE, connack.shared_subscription_available);
        sink.optional_two_bytes(id::SERVER_KEEP_ALIVE, connack.server_keep_alive_s);
        sink.optional_string(id::RESPONSE_INFORMATION, connack.response_information);
        sink.optional_string(id::SERVER_REFERENCE, connack.server_reference);
        sink.optional_string(id::AUTHENTICATION_METHOD, connack.authentication_method);
        sink.optional_binary(id::AUTHENTICATION_DATA, connack.authentication_data);
    }
}

fn lay_out_connack<S: Sink>(
    connack: &Connack<'_>,
    version: Version,
    leave: Leave,
    sink: &mut S,
) -> Option<()> {
    let present = u8::from(connack.session_present);
    match version {
        Version::V311 => sink.bytes(&[present, connack.reason.v311_return_code()?]),
        Version::V5 => {
            sink.bytes(&[present, connack.reason as u8]);
            block(sink, &ConnackProperties(connack, leave));
        }
    }
    Some(())
}

impl Properties for PublishProperties<'_> {
    fn write<S: Sink>(&self, sink: &mut S) {
        sink.optional_four_bytes(id::MESSAGE_EXPIRY_INTERVAL, self.message_expiry_s);
        sink.optional_two_bytes(id::TOPIC_ALIAS, self.topic_alias);
        sink.subscription_ids(&self.subscription_ids);
        self.write_forwardable(sink);
    }
}

fn lay_out_publish<S: Sink>(publish: &Publish<'_>, version: Version, sink: &mut S) {
    sink.string(publish.topic);
    if publish.qos != QoS::AtMostOnce {
        sink.two_bytes(publish.packet_id);
    }
    if version == Version::V5 {
        block(sink, &publish.properties);
    }
    sink.bytes(publish.payload);
}

/// Reason String and User Properties, all that acknowledgements carry.
struct Words<'a>(Option<&'a str>, UserProperties<'a>);

impl<'a> Words<'a> {
    fn left(reason: Option<&'a str>, user: &UserProperties<'a>, leave: Leave) -> Self {
        Self(leave.reason(reason), leave.user(user))
    }
}

impl Properties for Words<'_> {
    fn write<S: Sink>(&self, sink: &mut S) {
        sink.optional_string(id::REASON_STRING, self.0);
        sink.user_properties(&self.1);
    }
}

fn lay_out_ack<S: Sink>(ack: &Ack<'_>, version: Version, leave: Leave, sink: &mut S) {
    sink.two_bytes(ack.packet_id);
    if version == Version::V311 {
        return;
    }
    let words = Words::left(ack.reason_string, &ack.user_properties, leave);
    let wordless = words.is_empty();
    if ack.reason != ReasonCode::Success || !wordless {
        sink.byte(ack.reason as u8);
    }
    if !wordless {
        block(sink, &words);
    }
}

impl Properties for Subscribe<'_> {
    fn write<S: Sink>(&self, sink: &mut S) {
        if let Some(subscription) = self.subscription_id {
            sink.byte(id::SUBSCRIPTION_IDENTIFIER);
            sink.varint(subscription as usize);
        }
        sink.user_properties(&self.user_properties);
    }
}

fn lay_out_subscribe<S: Sink>(subscribe: &Subscribe<'_>, version: Version, sink: &mut S) {
    sink.two_bytes(subscribe.packet_id);
    if version == Version::V5 {
        block(sink, subscribe);
    }
    for row in subscribe.filters.iter() {
        sink.string(row.filter);
        sink.byte(row.options.to_byte(version));
    }
}

fn lay_out_reasons_head<S: Sink>(suback: &Suback<'_>, version: Version, leave: Leave, sink: &mut S) {
    sink.two_bytes(suback.packet_id);
    if version == Version::V5 {
        block(sink, &Words::left(suback.reason_string, &suback.user_properties, leave));
    }
}

fn lay_out_unsubscribe<S: Sink>(unsubscribe: &Unsubscribe<'_>, version: Version, sink: &mut S) {
    sink.two_bytes(unsubscribe.packet_id);
    if version == Version::V5 {
        block(sink, &Words(None, unsubscribe.user_properties));
    }
    for filter in unsubscribe.filters.iter() {
        sink.string(filter);
    }
}

struct DisconnectProperties<'p, 'a>(&'p Disconnect<'a>, Leave);

impl Properties for DisconnectProperties<'_, '_> {
    fn write<S: Sink>(&self, sink: &mut S) {
        let Self(disconnect, leave) = self;
        sink.optional_four_bytes(id::SESSION_EXPIRY_INTERVAL, disconnect.session_expiry_s);
        sink.optional_string(id::REASON_STRING, leave.reason(disconnect.reason_string));
        sink.user_properties(&leave.user(&disconnect.user_properties));
        sink.optional_string(id::SERVER_REFERENCE, disconnect.server_reference);
    }
}

fn lay_out_disconnect<S: Sink>(disconnect: &Disconnect<'_>, version: Version, leave: Leave, sink: &mut S) {
    if version == Version::V311 {
        return;
    }
    let properties = DisconnectProperties(disconnect, leave);
    let bare = properties.is_empty();
    if disconnect.reason != ReasonCode::Success || !bare {
        sink.byte(disconnect.reason as u8);
    }
    if !bare {
        block(sink, &properties);
    }
}

struct AuthProperties<'p, 'a>(&'p Auth<'a>, Leave);

impl Properties for AuthProperties<'_, '_> {
    fn write<S: Sink>(&self, sink: &mut S) {
        let Self(auth, leave) = self;
        sink.optional_string(id::AUTHENTICATION_METHOD, auth.method);
        sink.optional_binary(id::AUTHENTICATION_DATA, auth.data);
        sink.optional_string(id::REASON_STRING, leave.reason(auth.reason_string));
        sink.user_properties(&leave.user(&auth.user_properties));
    }
}

fn lay_out_auth<S: Sink>(auth: &Auth<'_>, leave: Leave, sink: &mut S) {
    let properties = AuthProperties(auth, leave);
    // Success without properties is an empty packet; any other reason names its method, so has a block.
    if auth.reason != ReasonCode::Success || !properties.is_empty() {
        sink.byte(auth.reason as u8);
        block(sink, &properties);
    }
}
