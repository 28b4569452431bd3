//! Why bytes are not a packet: one row for each rule, with the statement it comes from and the reason
//! code that reports it.
//!
//! The numbers are those of MQTT 5.0; where only 3.1.1 has the rule, the number is its own.

use std::fmt;

use crate::reason::ReasonCode;

macro_rules! decode_errors {
    ($($name:ident, $reason:ident, $normative:literal, $text:literal;)*) => {
        /// Why bytes are not a packet. All of them end the connection (MQTT 5.0 section 4.13).
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum DecodeError {
            /// The protocol level is this one, neither 4 nor 5.
            ProtocolLevel(u8),
            $(#[doc = $text] $name,)*
        }

        impl DecodeError {
            /// The reason code of a DISCONNECT or CONNACK about it.
            pub const fn reason_code(self) -> ReasonCode {
                match self {
                    Self::ProtocolLevel(_) => ReasonCode::UnsupportedProtocolVersion,
                    $(Self::$name => ReasonCode::$reason,)*
                }
            }

            /// The statement of the specification that was broken, e.g. `MQTT-2.2.1-3`. Where the text has
            /// no number for the rule, the one that makes the receiver close the connection.
            pub const fn normative(self) -> &'static str {
                match self {
                    Self::ProtocolLevel(_) => "MQTT-3.1.2-2",
                    $(Self::$name => $normative,)*
                }
            }
        }

        impl fmt::Display for DecodeError {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::ProtocolLevel(level) => write!(f, "protocol level {level} is neither 4 nor 5"),
                    $(Self::$name => f.write_str($text),)*
                }
            }
        }
    };
}

decode_errors! {
    PacketType, MalformedPacket, "MQTT-4.13.1-1", "packet type 0 is reserved";
    FixedHeaderFlags, MalformedPacket, "MQTT-2.1.3-1", "the flags of the fixed header are not those of the packet type";
    QosThree, MalformedPacket, "MQTT-3.3.1-4", "both QoS bits of a PUBLISH are set";
    DupAtQosZero, MalformedPacket, "MQTT-3.3.1-2", "DUP is set in a PUBLISH of QoS 0";
    LengthEncoding, MalformedPacket, "MQTT-1.5.5-1", "a variable byte integer has more than four bytes, or more than it needs";
    PacketTooLarge, PacketTooLarge, "MQTT-3.2.2-15", "the packet is larger than the receiver allows";
    Truncated, MalformedPacket, "MQTT-4.13.1-1", "a field runs past the end of the packet";
    TrailingBytes, MalformedPacket, "MQTT-4.13.1-1", "bytes follow the last field of the packet";
    Utf8, MalformedPacket, "MQTT-1.5.4-1", "a string is not well-formed UTF-8";
    NulInString, MalformedPacket, "MQTT-1.5.4-2", "a string holds U+0000";
    ProtocolName, UnsupportedProtocolVersion, "MQTT-3.1.2-1", "the protocol name is not MQTT";
    ConnectFlagReserved, MalformedPacket, "MQTT-3.1.2-3", "the reserved bit of the connect flags is set";
    WillQosThree, MalformedPacket, "MQTT-3.1.2-12", "the will's QoS is 3";
    WillFlags, MalformedPacket, "MQTT-3.1.2-11", "will QoS or will retain is set without the will flag";
    PasswordWithoutUserName, MalformedPacket, "MQTT-3.1.2-22", "MQTT 3.1.1 allows no password without a user name";
    ConnackFlags, MalformedPacket, "MQTT-3.2.2-1", "reserved bits of the connect acknowledge flags are set";
    PacketIdZero, ProtocolError, "MQTT-2.2.1-3", "the packet identifier is 0";
    PropertyUnknown, MalformedPacket, "MQTT-4.13.1-1", "a property has an identifier that is not defined";
    PropertyMisplaced, ProtocolError, "MQTT-4.13.1-1", "a property does not belong to this packet";
    PropertyRepeated, ProtocolError, "MQTT-4.13.1-1", "a property that may stand once stands twice";
    TopicAliasZero, TopicAliasInvalid, "MQTT-3.3.2-8", "the topic alias is 0";
    PropertyValue, ProtocolError, "MQTT-4.13.1-1", "a property has a value that is not allowed";
    TopicEmpty, ProtocolError, "MQTT-4.7.3-1", "the topic is empty";
    TopicWildcard, TopicNameInvalid, "MQTT-3.3.2-2", "a topic name holds a wildcard";
    ResponseTopicWildcard, ProtocolError, "MQTT-3.3.2-14", "the response topic holds a wildcard";
    SubscribeWithoutFilter, ProtocolError, "MQTT-3.8.3-2", "a SUBSCRIBE names no topic filter";
    UnsubscribeWithoutFilter, ProtocolError, "MQTT-3.10.3-2", "an UNSUBSCRIBE names no topic filter";
    SubscriptionOptions, MalformedPacket, "MQTT-3.8.3-5", "reserved bits of the subscription options are set";
    SubscriptionQosThree, ProtocolError, "MQTT-3.8.3-5", "a subscription asks for QoS 3";
    RetainHandling, ProtocolError, "MQTT-3.8.3-5", "a subscription's retain handling is 3";
    NoLocalOnShared, ProtocolError, "MQTT-3.8.3-4", "a shared subscription sets No Local";
    ReasonCodeUnknown, MalformedPacket, "MQTT-4.13.1-1", "a reason code is not defined";
    ReasonCodeMisplaced, ProtocolError, "MQTT-4.13.1-1", "a reason code does not belong to this packet";
    AuthenticationMethodMissing, ProtocolError, "MQTT-4.12.0-1", "authentication data or an AUTH comes without an authentication method";
    NotInVersion, ProtocolError, "MQTT-4.8.0-1", "MQTT 3.1.1 has no such packet";
    WrongSender, ProtocolError, "MQTT-4.13.1-1", "the other side alone may send this packet or property";
    SubscriptionIdFromClient, ProtocolError, "MQTT-3.3.4-6", "a client's PUBLISH carries a subscription identifier";
}

impl std::error::Error for DecodeError {}
