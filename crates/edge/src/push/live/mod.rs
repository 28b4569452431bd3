//! Live pushes at the edge: to topics and inboxes, and the records that count all of them.
//!
//! [`record`] holds the outcomes of each push, [`receipts`] is a loop's side of that, [`elsewhere`]
//! counts those that other nodes accepted, and [`route`] takes a push to its sessions. The rules of live pushes are in `stadium_push::live`.

mod elsewhere;
mod receipts;
mod record;
mod route;

use std::time::Duration;

use compact_str::CompactString;
use stadium_mqtt::broker::TRANSIENT_RECEIPT;
use stadium_mqtt::packet::PublishProperties;
use stadium_mqtt::property::UserPropertiesBuffer;
use stadium_push::live::Away;

pub(crate) use receipts::Receipts;
pub use record::PushRecord;
pub(crate) use record::Pushes;

/// Why a push was not accepted; nothing happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A loop's mailbox is full: try again after this time.
    Busy {
        /// When.
        retry_after: Duration,
    },
    /// The topic made of the audience is not valid.
    Audience(String),
    /// The node drains.
    Draining,
}

/// Properties of a message as a PUBLISH passes them on, without their length.
pub(crate) fn forwardable(
    content_type: Option<&str>,
    properties: &[(CompactString, CompactString)],
) -> Vec<u8> {
    let mut user_properties = UserPropertiesBuffer::default();
    for (name, value) in properties {
        user_properties.push(name, value);
    }
    let properties = PublishProperties {
        content_type,
        user_properties: user_properties.properties(),
        ..PublishProperties::default()
    };
    let mut bytes = Vec::new();
    properties.encode_forwardable(&mut bytes);
    bytes
}

/// The bit of a receipt token that distinguishes live pushes, which no session keeps, from
/// deliveries that a shard of the push platform owns.
const LIVE_RECEIPT: u64 = 1 << 62;

/// The receipt token of the deliveries of a push with this number.
pub(crate) fn receipt(number: u32, away: Away) -> u64 {
    match away {
        Away::Skip => TRANSIENT_RECEIPT | LIVE_RECEIPT | u64::from(number),
        Away::Queue(_) => number.into(),
    }
}

/// The number of a receipt token's push; `None` where a shard owns the delivery.
pub(crate) fn number(receipt: u64) -> Option<u32> {
    match receipt & (TRANSIENT_RECEIPT | LIVE_RECEIPT) {
        TRANSIENT_RECEIPT => None,
        _ => Some(receipt as u32),
    }
}
