//! What things are called: apps, devices, tags, attributes, users, and the fields that have a standard.
//!
//! Checked where they are made, so that nothing behind them has to look again. Codes with several
//! standard spellings (`DE-de`, `europe/berlin`) are kept in one.

use std::fmt;
use std::str::FromStr;

use stadium_state_machine::{CompactString, InvalidName, name};

name!(
    /// An app's name: small letters, digits, `-`, `_`, `.`; at most 64 bytes.
    AppName,
    "app",
    64,
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.'),
    "small letters, digits, -, _ and . are allowed"
);
impl AppName {
    /// The app that is always there.
    pub const DEFAULT: &str = "default";
}
impl Default for AppName {
    fn default() -> Self {
        AppName::new(AppName::DEFAULT).expect("it is a name")
    }
}

name!(
    /// A device's id within its app: any text that can stand in a topic, at most 128 bytes.
    DeviceId,
    "device",
    128,
    |c| !c.is_control() && !matches!(c, '/' | '+' | '#'),
    "/, +, # and control characters are not allowed"
);
/// The MQTT client ids that a device may have, the usual one first: `APP/DEVICE`, and in the app `default` its id alone before it.
pub fn client_ids(app: &AppName, device: &DeviceId) -> impl Iterator<Item = String> {
    let alone = (app.as_str() == AppName::DEFAULT).then(|| device.to_string());
    alone.into_iter().chain(std::iter::once(format!("{app}/{device}")))
}

name!(
    /// A tag within its group: any text without control characters, at most 128 bytes.
    TagName,
    "tag",
    128,
    |c| !c.is_control(),
    "control characters are not allowed"
);
name!(
    /// A group of tags: any text without `:` and control characters, at most 64 bytes.
    TagGroup,
    "tag group",
    64,
    |c| !c.is_control() && c != ':',
    "colons and control characters are not allowed"
);
name!(
    /// A static list of devices: letters, digits, `-`, `_`, `.`; at most 64 bytes.
    ListName,
    "list",
    64,
    |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'),
    "letters, digits, -, _ and . are allowed"
);
name!(
    /// An attribute's name: letters, digits, `-`, `_`, `.`; at most 64 bytes.
    AttributeName,
    "attribute",
    64,
    |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'),
    "letters, digits, -, _ and . are allowed"
);
name!(
    /// A named user, who may have many devices: any text without control characters, at most 128 bytes.
    UserName,
    "named user",
    128,
    |c| !c.is_control(),
    "control characters are not allowed"
);
name!(
    /// A platform, as `ios`, `android`, `web`, `huawei`: small letters, digits, `-`, `_`, `.`; at most 32 bytes.
    Platform,
    "platform",
    32,
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.'),
    "small letters, digits, -, _ and . are allowed"
);
name!(
    /// The version of the app on a device: printable ASCII without spaces, at most 64 bytes. Compared by [`crate::compare_versions`].
    AppVersion,
    "app version",
    64,
    |c| c.is_ascii_graphic(),
    "printable ASCII without spaces is allowed"
);

macro_rules! normalised {
    ($(#[$docs:meta])* $name:ident, $what:literal, $bytes_max:literal, $normalise:path) => {
        $(#[$docs])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(CompactString);

        impl $name {
            /// Bytes that one has at most.
            pub const BYTES_MAX: usize = $bytes_max;

            /// The name in its usual form, where the text is one.
            ///
            /// # Errors
            ///
            /// A text that is none.
            pub fn new(text: &str) -> Result<Self, InvalidName> {
                let usual = (text.len() <= Self::BYTES_MAX).then(|| $normalise(text)).flatten();
                usual.map(Self).ok_or_else(|| {
                    let shown: String = text.chars().take(40).collect();
                    InvalidName { what: $what, reason: format!("{shown:?} is none") }
                })
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                Self::new(text)
            }
        }
    };
}

normalised!(
    /// A language tag (BCP 47) as `de`, `de-AT`, `zh-Hant-TW`.
    Language,
    "language (BCP 47, as de or de-AT)",
    35,
    usual_language
);
normalised!(
    /// A country (ISO 3166 alpha-2) as `DE`.
    Country,
    "country (ISO 3166 alpha-2, as DE)",
    2,
    usual_country
);
normalised!(
    /// A time zone (IANA) as `Europe/Berlin`.
    ZoneName,
    "time zone (IANA, as Europe/Berlin)",
    64,
    usual_zone
);

/// RFC 5646, 2.1.1: the language small, a script with one capital, a region in capitals, all else small.
fn usual_language(text: &str) -> Option<CompactString> {
    let mut usual = CompactString::default();
    let mut behind_single = false;
    for (place, part) in text.split(['-', '_']).enumerate() {
        let fits = (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let leads = part.len() >= 2 && part.bytes().all(|byte| byte.is_ascii_alphabetic());
        if !fits || place == 0 && !leads {
            return None;
        }
        if place > 0 {
            usual.push('-');
        }
        let begin = usual.len();
        usual.push_str(&part.to_ascii_lowercase());
        let alphabetic = part.bytes().all(|byte| byte.is_ascii_alphabetic());
        if place > 0 && !behind_single && alphabetic {
            match part.len() {
                2 => usual.truncate(begin),
                4 => usual.truncate(begin),
                _ => {}
            }
            match part.len() {
                2 => usual.push_str(&part.to_ascii_uppercase()),
                4 => {
                    usual.push_str(&part[..1].to_ascii_uppercase());
                    usual.push_str(&part[1..].to_ascii_lowercase());
                }
                _ => {}
            }
        }
        behind_single |= part.len() == 1;
    }
    Some(usual)
}

fn usual_country(text: &str) -> Option<CompactString> {
    let fits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    fits.then(|| text.to_ascii_uppercase().into())
}

fn usual_zone(text: &str) -> Option<CompactString> {
    let zone = jiff::tz::TimeZone::get(text).ok()?;
    zone.iana_name().map(CompactString::from)
}

impl ZoneName {
    /// One that another version accepted and the time zone database of this one may not know: its
    /// devices live by UTC then.
    ///
    /// # Errors
    ///
    /// A text that is too long, or not of visible ASCII characters.
    pub fn recorded(text: &str) -> Result<Self, InvalidName> {
        let fits =
            (1..=Self::BYTES_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self(text.into())) } else { Self::new(text) }
    }
}

/// A tag: its name and the group that it belongs to. Written `NAME`, or `GROUP:NAME`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    /// The group; none is the default one.
    pub group: Option<TagGroup>,
    /// The name.
    pub name: TagName,
}

impl Tag {
    /// The group whose tags are the static lists that a device is on.
    pub const LIST: &str = "list";

    /// A tag of a group; `""` is the default group.
    ///
    /// # Errors
    ///
    /// A text that is no name.
    pub fn new(group: &str, name: &str) -> Result<Self, InvalidName> {
        let group = if group.is_empty() { None } else { Some(TagGroup::new(group)?) };
        Ok(Self { group, name: TagName::new(name)? })
    }

    /// Membership of a static list.
    pub fn list(list: &ListName) -> Self {
        Self::new(Self::LIST, list.as_str()).expect("a list's name is a tag's")
    }

    /// The group's text; `""` is the default group.
    pub fn group(&self) -> &str {
        self.group.as_ref().map_or("", TagGroup::as_str)
    }

    /// Whether it puts a device on a static list.
    pub fn is_list(&self) -> bool {
        self.group() == Self::LIST
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.group {
            Some(group) => write!(f, "{group}:{}", self.name),
            // A name with a colon would be read as a group's.
            None if self.name.as_str().contains(':') => write!(f, ":{}", self.name),
            None => self.name.fmt(f),
        }
    }
}

impl FromStr for Tag {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        match text.split_once(':') {
            Some((group, name)) => Self::new(group, name),
            None => Self::new("", text),
        }
    }
}

macro_rules! as_text {
    ($($name:ident)*) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

as_text! {
    AppName DeviceId TagName TagGroup ListName AttributeName UserName Platform AppVersion Language Country ZoneName Tag
}
