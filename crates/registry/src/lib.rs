//! The devices of one app on one shard, and audiences over them, without I/O.
//!
//! A [`Registry`] holds devices by number ([`Slot`]), each packed into few bytes, and beside them what makes an audience fast: a bitmap
//! for each tag, platform, version, language, country and time zone, and columns for attributes. [`Changes`] change a device, a
//! [`Selector`] says whom one means. Nothing here reads a clock: the same calls make the same registry.

mod changes;
mod device;
mod json;
mod limits;
mod name;
pub mod refusal;
mod registry;
mod selector;
mod value;

pub use changes::Changes;
pub use device::Device;
pub use json::Mistake;
pub use limits::Limits;
pub use name::{
    AppName, AppVersion, AttributeName, Country, DeviceId, Language, ListName, Platform, Tag, TagGroup,
    TagName, UserName, ZoneName,
};
pub use refusal::CODES;
pub use registry::{ClauseCount, Excluded, Filter, Registry, Slot};
pub use roaring::RoaringBitmap;
pub use selector::{Circle, Comparison, Edge, Selector, Span, VersionRange};
pub use stadium_machine::{Corrupt, InvalidName, Milliseconds, Refusal, Time};
pub use value::{Location, QuietHours, Value};
