//! Reason codes (MQTT 5.0 section 2.4) and what 3.1.1 has in their place.
//!
//! One enumeration serves all packets; which packet may carry which code is checked where it is decoded.

macro_rules! reason_codes {
    ($(#[doc = $text:literal] $name:ident = $value:literal,)*) => {
        /// A reason code (MQTT 5.0, table 2-6). Codes of 0x80 and above report failure.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[repr(u8)]
        pub enum ReasonCode {
            #[default]
            /// Success, Normal disconnection, Granted QoS 0.
            Success = 0x00,
            $(#[doc = $text] $name = $value,)*
        }

        impl ReasonCode {
            /// The code of this byte, or `None` where the specification defines none.
            pub const fn from_byte(byte: u8) -> Option<Self> {
                match byte {
                    0x00 => Some(Self::Success),
                    $($value => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// What the specification calls it, for people to read.
            pub fn name(self) -> &'static str {
                match self {
                    Self::Success => "Success",
                    $(Self::$name => $text.trim().trim_end_matches('.'),)*
                }
            }
        }
    };
}

reason_codes! {
    /// Granted QoS 1.
    GrantedQos1 = 0x01,
    /// Granted QoS 2.
    GrantedQos2 = 0x02,
    /// Disconnect with Will Message.
    DisconnectWithWill = 0x04,
    /// No matching subscribers.
    NoMatchingSubscribers = 0x10,
    /// No subscription existed.
    NoSubscriptionExisted = 0x11,
    /// Continue authentication.
    ContinueAuthentication = 0x18,
    /// Re-authenticate.
    ReAuthenticate = 0x19,
    /// Unspecified error.
    UnspecifiedError = 0x80,
    /// Malformed Packet.
    MalformedPacket = 0x81,
    /// Protocol Error.
    ProtocolError = 0x82,
    /// Implementation specific error.
    ImplementationSpecificError = 0x83,
    /// Unsupported Protocol Version.
    UnsupportedProtocolVersion = 0x84,
    /// Client Identifier not valid.
    ClientIdentifierNotValid = 0x85,
    /// Bad User Name or Password.
    BadUserNameOrPassword = 0x86,
    /// Not authorized.
    NotAuthorized = 0x87,
    /// Server unavailable.
    ServerUnavailable = 0x88,
    /// Server busy.
    ServerBusy = 0x89,
    /// Banned.
    Banned = 0x8A,
    /// Server shutting down.
    ServerShuttingDown = 0x8B,
    /// Bad authentication method.
    BadAuthenticationMethod = 0x8C,
    /// Keep Alive timeout.
    KeepAliveTimeout = 0x8D,
    /// Session taken over.
    SessionTakenOver = 0x8E,
    /// Topic Filter invalid.
    TopicFilterInvalid = 0x8F,
    /// Topic Name invalid.
    TopicNameInvalid = 0x90,
    /// Packet Identifier in use.
    PacketIdentifierInUse = 0x91,
    /// Packet Identifier not found.
    PacketIdentifierNotFound = 0x92,
    /// Receive Maximum exceeded.
    ReceiveMaximumExceeded = 0x93,
    /// Topic Alias invalid.
    TopicAliasInvalid = 0x94,
    /// Packet too large.
    PacketTooLarge = 0x95,
    /// Message rate too high.
    MessageRateTooHigh = 0x96,
    /// Quota exceeded.
    QuotaExceeded = 0x97,
    /// Administrative action.
    AdministrativeAction = 0x98,
    /// Payload format invalid.
    PayloadFormatInvalid = 0x99,
    /// Retain not supported.
    RetainNotSupported = 0x9A,
    /// QoS not supported.
    QosNotSupported = 0x9B,
    /// Use another server.
    UseAnotherServer = 0x9C,
    /// Server moved.
    ServerMoved = 0x9D,
    /// Shared Subscriptions not supported.
    SharedSubscriptionsNotSupported = 0x9E,
    /// Connection rate exceeded.
    ConnectionRateExceeded = 0x9F,
    /// Maximum connect time.
    MaximumConnectTime = 0xA0,
    /// Subscription Identifiers not supported.
    SubscriptionIdentifiersNotSupported = 0xA1,
    /// Wildcard Subscriptions not supported.
    WildcardSubscriptionsNotSupported = 0xA2,
}

impl ReasonCode {
    /// Whether the code reports failure (0x80 and above).
    pub const fn is_error(self) -> bool {
        self as u8 >= 0x80
    }

    /// The reason that is equal to a CONNACK return code of MQTT 3.1.1 (table 3.1); `None` for
    /// those it reserves.
    pub const fn from_v311_return_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Success),
            1 => Some(Self::UnsupportedProtocolVersion),
            2 => Some(Self::ClientIdentifierNotValid),
            3 => Some(Self::ServerUnavailable),
            4 => Some(Self::BadUserNameOrPassword),
            5 => Some(Self::NotAuthorized),
            _ => None,
        }
    }

    /// The CONNACK return code of MQTT 3.1.1 (table 3.1) that means this, or `None` where 3.1.1 has
    /// no word for it and the connection is closed without a CONNACK.
    pub const fn v311_return_code(self) -> Option<u8> {
        match self {
            Self::Success => Some(0),
            Self::UnsupportedProtocolVersion => Some(1),
            Self::ClientIdentifierNotValid => Some(2),
            Self::ServerUnavailable
            | Self::ServerBusy
            | Self::ServerShuttingDown
            | Self::UseAnotherServer
            | Self::ServerMoved
            | Self::ConnectionRateExceeded
            | Self::QuotaExceeded => Some(3),
            Self::BadUserNameOrPassword => Some(4),
            Self::NotAuthorized | Self::Banned | Self::BadAuthenticationMethod => Some(5),
            _ => None,
        }
    }
}
