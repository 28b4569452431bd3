//! What a device shows, and the answer it gets.
//!
//! [`Credentials`] hold secrets and therefore never print them. A [`DenyReason`] is as precise as an
//! operator needs; the device gets only the coarse reason code, so that it cannot probe which half
//! of a credential was right.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use stadium_grants::topics::{Principal, Via};

/// Everything that a connection has shown about itself when its CONNECT packet has been read.
#[derive(Clone)]
pub struct Credentials {
    /// The client identifier of the CONNECT packet; empty where the server shall assign one.
    pub client_id: String,
    /// The User Name of the CONNECT packet.
    pub username: Option<String>,
    /// The Password of the CONNECT packet, which carries a token where tokens are configured.
    pub password: Option<Vec<u8>>,
    /// The DER of the leaf certificate, only after the TLS layer has verified its chain.
    pub certificate: Option<Vec<u8>>,
    /// The address of the device, from the PROXY header where the listener trusts one.
    pub peer: SocketAddr,
    /// The Authentication Method of an MQTT 5.0 CONNECT (section 3.1.2.11.9). None is offered by this
    /// server, so a value is always refused with Bad authentication method.
    pub method: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("client_id", &self.client_id)
            .field("username", &self.username)
            .field("password", &self.password.as_ref().map(|_| "(hidden)"))
            .field("certificate", &self.certificate.as_ref().map(Vec::len))
            .field("peer", &self.peer)
            .field("method", &self.method)
            .finish()
    }
}

/// Who a device turned out to be. Cheap to clone and to keep with a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// What `%u` stands for in a rule: 1 to [`PRINCIPAL_BYTES_MAX`] bytes, or empty for an anonymous device,
    /// in which case a rule that names `%u` allows it nothing.
    pub principal: Arc<str>,
    /// How it was proved.
    pub via: Via,
    /// When the proof ends (`exp` of the token and its leeway, the certificate's last second). The edge
    /// cuts the connection then.
    pub expires_at: Option<SystemTime>,
    /// Groups that rules may name, at most [`GROUPS_MAX`].
    pub groups: Arc<[Arc<str>]>,
}

impl Identity {
    /// The identity of a device that showed nothing.
    pub fn anonymous() -> Self {
        Self { principal: Arc::from(""), via: Via::Anonymous, expires_at: None, groups: Arc::from([]) }
    }

    /// The principal as rules over topics see it, for a session of this client identifier.
    pub fn principal_of<'a>(&'a self, client_id: &'a str) -> Principal<'a> {
        Principal { user: &self.principal, client_id, groups: &self.groups, via: self.via }
    }
}

/// Bytes of a principal's name. The same bound as an X.509 name's attribute of the upper kind, and room
/// for a UUID with a tenant in front; longer names are refused.
pub const PRINCIPAL_BYTES_MAX: usize = 256;

/// Groups of one identity. More are refused, because each check may look at all of them.
pub const GROUPS_MAX: usize = 32;

/// The answer to [`Authenticator::check`](super::Authenticator::check).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The device is this one.
    Allow(Identity),
    /// It is not let in, and the same credentials will not be let in when it reconnects.
    Deny(DenyReason),
    /// Nothing was decided: too many wait already, or the callback or the registry does not answer.
    Busy {
        /// When the device should reconnect. The edge adds jitter so that no herd forms.
        retry_after: Duration,
    },
}

macro_rules! deny_reasons {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $code:ident, $text:literal;)*) => {
        /// Why a device was not let in.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum DenyReason {
            $($(#[$doc])* $name,)*
        }

        impl DenyReason {
            /// All reasons, in the order of their counters.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The word of metrics and audit records.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// The reason code of the CONNACK (MQTT 5.0, table 3-1). Deliberately coarser than the
            /// reason.
            pub fn answer(self) -> Answer {
                match self { $(Self::$name => Answer::$code,)* }
            }
        }

        impl fmt::Display for DenyReason {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $text,)* })
            }
        }
    };
}

deny_reasons! {
    /// No method that is configured applies to what was shown.
    NoCredentials = "no_credentials", NotAuthorized, "the device showed nothing that a configured method accepts";
    /// The name is unknown or the password wrong; which of both is not reported, not even here.
    BadPassword = "bad_password", BadUserNameOrPassword, "unknown user name or wrong password";
    /// The token is malformed, its algorithm or key is not one of ours, or its signature is wrong.
    BadToken = "bad_token", BadUserNameOrPassword, "the token is malformed or not signed by a configured key";
    /// The token's `exp` has passed.
    TokenExpired = "token_expired", NotAuthorized, "the token has expired";
    /// The token's `nbf` has not come yet.
    TokenNotYetValid = "token_not_yet_valid", NotAuthorized, "the token is not valid yet";
    /// The token is genuine, but for another issuer, audience, user or without a claim that is required.
    TokenClaims = "token_claims", NotAuthorized, "a claim of the token is missing or not the one required";
    /// The certificate names no principal, or several.
    BadCertificate = "bad_certificate", NotAuthorized, "the certificate does not name exactly one principal";
    /// The registry has a credential for the device, and it showed another one.
    BadSecret = "bad_secret", BadUserNameOrPassword, "the password is not the device's credential in the registry";
    /// The registry reports that the device may not connect, and the device proved who it is.
    Revoked = "revoked", Banned, "the device is revoked in the registry";
    /// The same, and it showed another password than its credential: it gets the answer to a wrong
    /// password.
    RevokedWrongSecret = "revoked_wrong_secret", BadUserNameOrPassword, "the device is revoked in the registry, and its password is not its credential";
    /// The same, and it showed no password: it gets the answer to a device that showed nothing.
    RevokedNoSecret = "revoked_no_secret", NotAuthorized, "the device is revoked in the registry, and showed no password";
    /// The client id, or the principal, is the name of an app.
    NamedAsApp = "named_as_app", NotAuthorized, "the device has the name of an app, so its topics would be those of the app's devices";
    /// The HTTP callback refused it.
    Callback = "callback", NotAuthorized, "the HTTP callback refused the device";
    /// The identity is proved, but may not use this client identifier.
    ClientId = "client_id", NotAuthorized, "the identity may not use this client identifier";
    /// The device asked for enhanced authentication.
    Method = "method", BadAuthenticationMethod, "no enhanced authentication method is offered";
    /// The address has failed too often and is banned for a while.
    Banned = "banned", Banned, "too many failures from this address";
}

/// The classes of refusal that a device gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// 0x86; 0x04 in MQTT 3.1.1.
    BadUserNameOrPassword,
    /// 0x87; 0x05 in MQTT 3.1.1.
    NotAuthorized,
    /// 0x8A, by administrative action; 0x05 in MQTT 3.1.1, which has no word for it.
    Banned,
    /// 0x8C; MQTT 3.1.1 cannot ask for it, and would get 0x05.
    BadAuthenticationMethod,
}

impl Answer {
    /// The Connect Reason Code (MQTT 5.0, 3.2.2.2).
    pub fn reason_code(self) -> u8 {
        match self {
            Self::BadUserNameOrPassword => 0x86,
            Self::NotAuthorized => 0x87,
            Self::Banned => 0x8A,
            Self::BadAuthenticationMethod => 0x8C,
        }
    }

    /// The Connect Return code (MQTT 3.1.1, table 3.1).
    pub fn return_code_v3(self) -> u8 {
        match self {
            Self::BadUserNameOrPassword => 0x04,
            Self::NotAuthorized | Self::Banned | Self::BadAuthenticationMethod => 0x05,
        }
    }
}

/// Whether this may be the name of a principal: 1 to [`PRINCIPAL_BYTES_MAX`] bytes, no control characters.
pub(super) fn is_principal(name: &str) -> bool {
    !name.is_empty() && name.len() <= PRINCIPAL_BYTES_MAX && !name.contains(char::is_control)
}
