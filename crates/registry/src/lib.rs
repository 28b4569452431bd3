//! The devices of one app on one shard, and audiences over them, without I/O.
//!
//! A [`Registry`] holds devices by number ([`Slot`]), each packed into few bytes, and beside them
//! the indexes for audiences: a bitmap for each tag, platform, version, language, country and time
//! zone, and columns for attributes. [`Changes`] change a device, a [`Selector`] selects devices.
//! Nothing here reads a clock: the same calls make the same registry.

mod apply;
mod bytes;
mod changes;
mod changes_json;
mod check;
mod checkpoint;
mod circle;
mod columns;
mod device;
mod dictionary;
mod evaluate;
mod explain;
mod json;
mod labels;
mod limits;
mod name;
mod numbers;
mod packed;
mod quiet;
mod read;
pub mod refusal;
mod registry;
mod selector;
mod selector_json;
mod sighting;
mod value;
mod version;
mod words;

pub use changes::Changes;
pub use device::Device;
pub use explain::{ClauseCount, Excluded};
pub use json::Mistake;
pub use limits::Limits;
pub use name::{
    AppName, AppVersion, AttributeName, Country, DeviceId, Language, ListName, Platform, Tag, TagGroup,
    TagName, UserName, ZoneName, client_ids,
};
pub use read::{Field, Filter};
pub use refusal::CODES;
pub use registry::{Registry, Slot};
pub use roaring::RoaringBitmap;
pub use selector::{Circle, Comparison, Edge, Selector, Span, VersionRange};
pub use sighting::Sighted;
/// The reader of events.
pub use stadium_state_machine::encoding::Reader;
pub use stadium_state_machine::{Corrupt, InvalidName, Milliseconds, Refusal, Time};
pub use value::{Location, QuietHours, Value};
pub use version::compare_versions;
