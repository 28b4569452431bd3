//! Requests of devices, to services and about themselves, and the answers on their way back.
//!
//! An MQTT 5.0 PUBLISH to `rpc/SERVICE/METHOD` is a request. The broker has asked the authorisation
//! function when it reaches the [`gate`] of its loop, which holds it to the bounds and hands it to
//! the code that knows the services, behind [`Requests`]: the edge itself knows none. A [`Reply`]
//! may be answered on any thread; its answer comes back through the loop's [`outbox`] and is
//! delivered to the session that asked, and to nobody else. An answer has its outcome in the user
//! property `status`: `ok`, `busy` with `retry-after-ms`, `rejected` with `code` and `reason`,
//! `deadline`, or `unknown` with `reason`. Requests about the device itself (`me/...`) need no
//! service: [`own`].

mod gate;
mod outbox;
mod own;
mod reply;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use stadium_mqtt::property::UserProperties;
use stadium_mqtt::reason::ReasonCode;

pub(crate) use gate::RequestGate;
pub(crate) use own::OwnRequests;
pub use reply::Reply;

/// First level of the topics that are requests.
pub const REQUEST_PREFIX: &str = "rpc";

/// Takes requests of devices to services.
pub trait Requests: Send + Sync {
    /// Takes a request over, to answer it by `reply` later or at once, or returns why it is
    /// refused; then nothing happened. Called on a loop of the edge: it must not block.
    fn request(&self, request: &DeviceRequest<'_>, reply: Reply) -> Result<(), Refused>;
}

/// A device's request. Its client was allowed to make it.
#[derive(Clone, Copy, Debug)]
pub struct DeviceRequest<'a> {
    /// Client Identifier.
    pub client_id: &'a str,
    /// The principal it was authenticated as; `None` for an anonymous device.
    pub user: Option<&'a str>,
    /// `SERVICE/METHOD`, at most 255 bytes.
    pub route: &'a str,
    /// The request's bytes, in the format that the service reads.
    pub payload: &'a [u8],
    /// How long the device has use for the answer. Never zero.
    pub deadline: Duration,
    /// User Properties of the PUBLISH, e.g. `traceparent`.
    pub user_properties: UserProperties<'a>,
}

impl DeviceRequest<'_> {
    /// What stands before the slash.
    pub fn service(&self) -> &str {
        self.route.split_once('/').map_or(self.route, |(service, _)| service)
    }

    /// What stands after the slash.
    pub fn method(&self) -> &str {
        self.route.split_once('/').map_or("", |(_, method)| method)
    }
}

/// Why a request was not taken. Nothing happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Too much is under way; PUBACK carries Quota exceeded (0x97).
    Busy {
        /// When trying again makes sense.
        retry_after: Duration,
    },
    /// No service of this name, or it has no such method; PUBACK carries Topic Name invalid (0x90).
    NoSuchService,
    /// The method is there and is not for devices; PUBACK carries Not authorized (0x87).
    NotForDevices,
}

impl Refused {
    fn reason(&self) -> ReasonCode {
        match self {
            Self::Busy { .. } => ReasonCode::QuotaExceeded,
            Self::NoSuchService => ReasonCode::TopicNameInvalid,
            Self::NotForDevices => ReasonCode::NotAuthorized,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after } => Some(*retry_after),
            Self::NoSuchService | Self::NotForDevices => None,
        }
    }
}

impl From<Refused> for Answer {
    /// For a request that no PUBACK answers: one at QoS 0, or one that was taken before it was known.
    fn from(refused: Refused) -> Self {
        let rejected = |code: &'static str, reason: &'static str| Self::Rejected {
            code: code.into(),
            reason: reason.into(),
        };
        match refused {
            Refused::Busy { retry_after } => {
                Self::Busy { retry_after, reason: "too many requests are under way".into() }
            }
            Refused::NoSuchService => rejected("RPC-NO-SERVICE", "no such service or method"),
            Refused::NotForDevices => rejected("RPC-NOT-AUTHORISED", "this method is not for devices"),
        }
    }
}

/// The answer of a service to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `status` is `ok`.
    Ok(Vec<u8>),
    /// `status` is `busy`: nothing happened, and it may be tried again.
    Busy {
        /// In the user property `retry-after-ms`.
        retry_after: Duration,
        /// In the user property `reason`.
        reason: Cow<'static, str>,
    },
    /// `status` is `rejected`: it will never work.
    Rejected {
        /// In the user property `code`.
        code: Cow<'static, str>,
        /// In the user property `reason`.
        reason: Cow<'static, str>,
    },
    /// `status` is `deadline`: no answer came in time. Whether the work was done is unknown.
    Deadline,
    /// `status` is `unknown`: whether the work was done is unknown, e.g. because a connection broke.
    Unknown {
        /// In the user property `reason`.
        reason: Cow<'static, str>,
    },
}

/// Where the edge takes devices' requests, and the bounds it keeps.
#[derive(Clone)]
pub struct Services {
    /// Who takes them.
    pub requests: Arc<dyn Requests>,
    /// The bounds.
    pub limits: RequestLimits,
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Services").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Bounds of devices' requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Requests of the node whose answer has not left; divided by loops. One more is refused as busy.
    pub in_flight_max: usize,
    /// The same for one device.
    pub per_device_max: u32,
    /// The time that a request has without a limit of its own (no Message Expiry Interval).
    pub deadline: Duration,
    /// The longest that a request can have.
    pub deadline_max: Duration,
    /// How long an answer is kept for a device that is away or slow.
    pub answer_expiry: Duration,
    /// The delay that a device over its bound, or the node's, gets.
    pub retry_after: Duration,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            in_flight_max: 10_000,
            per_device_max: 16,
            deadline: Duration::from_secs(5),
            deadline_max: Duration::from_secs(60),
            answer_expiry: Duration::from_secs(60),
            retry_after: Duration::from_millis(500),
        }
    }
}
