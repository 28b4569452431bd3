//! Selectors: a selector selects the devices of an audience.
//!
//! As JSON it has the shape that push users know (docs/audiences.md).

use crate::{
    AppVersion, AttributeName, Country, DeviceId, Language, ListName, Location, Platform, Tag, UserName,
    Value, ZoneName,
};

/// Which devices one means.
#[derive(Debug, Clone, PartialEq)]
pub enum Selector {
    /// All of them.
    All,
    /// Those with a tag.
    Tag(Tag),
    /// Those of a named user.
    User(UserName),
    /// This one.
    Device(DeviceId),
    /// These.
    Devices(Vec<DeviceId>),
    /// Those on a static list.
    List(ListName),
    /// Those whose attribute is so.
    Attribute {
        /// The attribute.
        name: AttributeName,
        /// What its value must be.
        is: Comparison,
    },
    /// Those of a platform.
    Platform(Platform),
    /// Those with an app version in a range.
    Version(VersionRange),
    /// Those of a language; `de` means `de-AT` as well.
    Language(Language),
    /// Those of a country.
    Country(Country),
    /// Those of a time zone.
    TimeZone(ZoneName),
    /// Those that were connected last in a span. One that never was is in none.
    LastSeen(Span),
    /// Those that were registered in a span.
    Registered(Span),
    /// Those whose last location is in a circle.
    Within(Circle),
    /// Those that want pushes, or don't.
    OptedIn(bool),
    /// Those that all of these mean.
    And(Vec<Selector>),
    /// Those that one of these means.
    Or(Vec<Selector>),
    /// All others.
    Not(Box<Selector>),
}

/// What an attribute's value must be. A device without the attribute is in none but `Exists(false)`.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparison {
    /// This, of the same type.
    Equals(Value),
    /// Another than this, of whatever type.
    NotEquals(Value),
    /// A number or a date in a range.
    Range {
        /// Its lower edge.
        from: Option<Edge>,
        /// Its upper edge, of the same type.
        to: Option<Edge>,
    },
    /// A text with this in it, letters as they are.
    Contains(String),
    /// A date between so many seconds ago and now.
    WithinSeconds(u64),
    /// Any, or none.
    Exists(bool),
}

/// The edge of a range.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// A number or a date.
    pub value: Value,
    /// Whether the edge itself belongs to the range.
    pub included: bool,
}

/// App versions from one to another. Both none means any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VersionRange {
    /// The lower edge, and whether it belongs to the range.
    pub from: Option<(AppVersion, bool)>,
    /// The upper edge, and whether it belongs to the range.
    pub to: Option<(AppVersion, bool)>,
}

/// When something was, in whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// At most so many seconds ago.
    WithinSeconds(u64),
    /// In a span of time.
    Between {
        /// Not before this second since 1970.
        from: Option<u64>,
        /// Before this second since 1970.
        to: Option<u64>,
    },
}

/// A circle on Earth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circle {
    /// Its centre.
    pub centre: Location,
    /// Its radius in metres.
    pub radius_m: u32,
}

impl Selector {
    /// Levels of and, or, not within each other.
    pub const DEPTH_MAX: usize = 16;
    /// Clauses, those within others included.
    pub const CLAUSES_MAX: usize = 200;
    /// Devices that one names, all in all.
    pub const DEVICES_MAX: usize = 10_000;
}
