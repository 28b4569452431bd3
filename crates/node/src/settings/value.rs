//! What a setting can hold, and how each kind is read, checked and shown.
//!
//! A value comes either typed, from a TOML file, or as text, from the environment or a flag; both ways end in
//! the same type or in a sentence that names what was expected. Which layer wins is decided in
//! [`super::layers`].

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

/// A value as its source gave it, before it has a type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Raw {
    /// Text from the environment or a flag: may spell any type.
    Text(String),
    /// A TOML string.
    Word(String),
    /// A TOML integer.
    Integer(i64),
    /// A TOML float.
    Decimal(f64),
    /// A TOML boolean.
    Boolean(bool),
    /// A TOML array.
    List(Vec<Raw>),
    /// A TOML table, of a setting whose value is one or within such a value.
    Table(Vec<(String, Raw)>),
    /// Anything no setting takes (a date), by its TOML name.
    Other(&'static str),
}

impl From<&DeValue<'_>> for Raw {
    fn from(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(word) => Self::Word(word.to_string()),
            DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
                .map_or(Self::Other("integer beyond 64 bits"), Self::Integer),
            DeValue::Boolean(boolean) => Self::Boolean(*boolean),
            DeValue::Array(items) => Self::List(items.iter().map(|item| item.get_ref().into()).collect()),
            DeValue::Float(decimal) => {
                decimal.as_str().parse().map_or(Self::Other("decimal number"), Self::Decimal)
            }
            DeValue::Datetime(_) => Self::Other("date"),
            DeValue::Table(rows) => Self::from(rows),
        }
    }
}

impl From<&DeTable<'_>> for Raw {
    fn from(rows: &DeTable<'_>) -> Self {
        let rows = rows.iter().map(|(key, value)| (key.get_ref().to_string(), value.get_ref().into()));
        Self::Table(rows.collect())
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Word(word) => write!(f, "{word:?}"),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Decimal(decimal) => write!(f, "{decimal}"),
            Self::Boolean(boolean) => write!(f, "{boolean}"),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_str("]")
            }
            Self::Table(rows) => {
                f.write_str("{ ")?;
                for (index, (key, value)) in rows.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{key:?} = {value}")?;
                }
                f.write_str(" }")
            }
            Self::Other(kind) => write!(f, "<{kind}>"),
        }
    }
}

/// The limits a value must keep, as data, so that the reference and the errors agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bounds {
    /// Anything its type can hold.
    Free,
    /// A whole number within this range, both ends included.
    Number(RangeInclusive<u64>),
}

impl From<RangeInclusive<u64>> for Bounds {
    fn from(range: RangeInclusive<u64>) -> Self {
        Self::Number(range)
    }
}

/// Why a raw value is not a value of the setting's type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// The wrong kind of thing; the text names what was expected.
    Kind(String),
    /// The right kind, too small or too large; the text names the bounds.
    Bounds(String),
}

/// A type a setting can have.
pub(crate) trait Value: Sized + Clone {
    /// Whether it is a TOML table, whose keys are no settings.
    const IS_TABLE: bool = false;

    /// Reads a raw value and checks it.
    fn read(raw: &Raw, bounds: &Bounds) -> Result<Self, Misfit>;

    /// The value as a TOML value, for `config show`, the sample and the reference.
    fn shown(&self) -> toml::Value;

    /// The type in words, as the reference prints it.
    fn kind() -> String;
}

macro_rules! whole_numbers {
    ($($number:ty),*) => {$(
        impl Value for $number {
            fn read(raw: &Raw, bounds: &Bounds) -> Result<Self, Misfit> {
                let expected = || Misfit::Kind("expected a whole number".to_owned());
                let wide = match raw {
                    Raw::Integer(integer) => i128::from(*integer),
                    Raw::Text(text) => text.trim().replace('_', "").parse().map_err(|_| expected())?,
                    _ => return Err(expected()),
                };
                let range = match bounds {
                    Bounds::Number(range) => range.clone(),
                    Bounds::Free => 0..=u64::from(<$number>::MAX),
                };
                let outside = || {
                    Misfit::Bounds(format!("must be {} to {}", grouped(*range.start()), grouped(*range.end())))
                };
                let number = u64::try_from(wide).ok().filter(|number| range.contains(number)).ok_or_else(outside)?;
                <$number>::try_from(number).map_err(|_| outside())
            }

            fn shown(&self) -> toml::Value {
                toml::Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }

            fn kind() -> String {
                "whole number".to_owned()
            }
        }
    )*};
}

whole_numbers!(u16, u32, u64);

impl Value for bool {
    fn read(raw: &Raw, _: &Bounds) -> Result<Self, Misfit> {
        match raw {
            Raw::Boolean(boolean) => Ok(*boolean),
            Raw::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "on" | "yes" | "1" => Ok(true),
                "false" | "off" | "no" | "0" => Ok(false),
                _ => Err(Misfit::Kind("expected true or false".to_owned())),
            },
            _ => Err(Misfit::Kind("expected true or false".to_owned())),
        }
    }

    fn shown(&self) -> toml::Value {
        toml::Value::Boolean(*self)
    }

    fn kind() -> String {
        "true or false".to_owned()
    }
}

impl Value for String {
    fn read(raw: &Raw, _: &Bounds) -> Result<Self, Misfit> {
        match raw {
            Raw::Word(text) | Raw::Text(text) => Ok(text.clone()),
            _ => Err(Misfit::Kind("expected text in quotes".to_owned())),
        }
    }

    fn shown(&self) -> toml::Value {
        toml::Value::String(self.clone())
    }

    fn kind() -> String {
        "text".to_owned()
    }
}

impl Value for PathBuf {
    fn read(raw: &Raw, bounds: &Bounds) -> Result<Self, Misfit> {
        let text = String::read(raw, bounds)?;
        if text.is_empty() {
            return Err(Misfit::Kind("expected a path".to_owned()));
        }
        Ok(Self::from(text))
    }

    fn shown(&self) -> toml::Value {
        toml::Value::String(self.display().to_string())
    }

    fn kind() -> String {
        "path".to_owned()
    }
}

/// Empty text means that the setting is not set.
impl Value for Option<PathBuf> {
    fn read(raw: &Raw, bounds: &Bounds) -> Result<Self, Misfit> {
        let text = String::read(raw, bounds)?;
        Ok((!text.is_empty()).then(|| PathBuf::from(text)))
    }

    fn shown(&self) -> toml::Value {
        toml::Value::String(self.as_ref().map(|path| path.display().to_string()).unwrap_or_default())
    }

    fn kind() -> String {
        "path".to_owned()
    }
}

/// Empty text means that the setting is not set.
impl Value for Option<String> {
    fn read(raw: &Raw, bounds: &Bounds) -> Result<Self, Misfit> {
        let text = String::read(raw, bounds)?;
        Ok((!text.is_empty()).then_some(text))
    }

    fn shown(&self) -> toml::Value {
        toml::Value::String(self.clone().unwrap_or_default())
    }

    fn kind() -> String {
        "text".to_owned()
    }
}

impl<Item: Value> Value for Vec<Item> {
    fn read(raw: &Raw, bounds: &Bounds) -> Result<Self, Misfit> {
        match raw {
            Raw::List(items) => items.iter().map(|item| Item::read(item, bounds)).collect(),
            Raw::Text(text) => text
                .trim()
                .trim_start_matches('[')
                .trim_end_matches(']')
                .split(',')
                .map(|item| item.trim().trim_matches('"'))
                .filter(|item| !item.is_empty())
                .map(|item| Item::read(&Raw::Text(item.to_owned()), bounds))
                .collect(),
            single => Ok(vec![Item::read(single, bounds)?]),
        }
    }

    fn shown(&self) -> toml::Value {
        toml::Value::Array(self.iter().map(Value::shown).collect())
    }

    fn kind() -> String {
        format!("list of {}", Item::kind())
    }
}

/// Where a listener listens: any number of addresses, none meaning that it is off.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Addresses(pub Vec<SocketAddr>);

impl Addresses {
    /// Nothing listens.
    #[must_use]
    pub fn off() -> Self {
        Self(Vec::new())
    }

    /// One loopback port.
    #[must_use]
    pub fn loopback(port: u16) -> Self {
        Self(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))])
    }

    /// Whether nothing listens.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.0.is_empty()
    }
}

impl Value for Addresses {
    fn read(raw: &Raw, bounds: &Bounds) -> Result<Self, Misfit> {
        if let Raw::Word(text) | Raw::Text(text) = raw
            && matches!(text.trim(), "off" | "")
        {
            return Ok(Self::off());
        }
        Ok(Self(Vec::<SocketAddr>::read(raw, bounds)?))
    }

    fn shown(&self) -> toml::Value {
        match self.0.as_slice() {
            [] => toml::Value::String("off".to_owned()),
            [address] => address.shown(),
            _ => self.0.shown(),
        }
    }

    fn kind() -> String {
        "address, list of addresses, or \"off\"".to_owned()
    }
}

/// `"off"` and empty text mean that nothing listens.
impl Value for Option<SocketAddr> {
    fn read(raw: &Raw, bounds: &Bounds) -> Result<Self, Misfit> {
        match Addresses::read(raw, bounds)?.0.as_slice() {
            [] => Ok(None),
            [address] => Ok(Some(*address)),
            _ => Err(Misfit::Kind("expected one address, or \"off\"".to_owned())),
        }
    }

    fn shown(&self) -> toml::Value {
        self.as_ref().map_or_else(|| Addresses::off().shown(), Value::shown)
    }

    fn kind() -> String {
        "address, or \"off\"".to_owned()
    }
}

impl Value for SocketAddr {
    fn read(raw: &Raw, bounds: &Bounds) -> Result<Self, Misfit> {
        let text = String::read(raw, bounds).unwrap_or_else(|_| raw.to_string());
        let text = text.trim();
        let numeric = match text.rsplit_once(':') {
            Some(("localhost", port)) => format!("127.0.0.1:{port}"),
            Some(("", port)) | Some(("*", port)) => format!("0.0.0.0:{port}"),
            _ => text.to_owned(),
        };
        numeric.parse().map_err(|_| {
            Misfit::Kind(
                "expected an address such as \"127.0.0.1:1883\" or \"[::]:1883\" (port 0: any free one)"
                    .into(),
            )
        })
    }

    fn shown(&self) -> toml::Value {
        toml::Value::String(self.to_string())
    }

    fn kind() -> String {
        "address".to_owned()
    }
}

/// Defines a setting's type that is one of a few words.
macro_rules! words {
    ($(#[$doc:meta])* pub enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $crate::settings::value::Value for $name {
            fn read(
                raw: &$crate::settings::value::Raw,
                bounds: &$crate::settings::value::Bounds,
            ) -> Result<Self, $crate::settings::value::Misfit> {
                let text = <String as $crate::settings::value::Value>::read(raw, bounds).unwrap_or_else(|_| raw.to_string());
                match text.as_str() {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::settings::value::Misfit::Kind(
                        format!("expected one of {}", [$(concat!("\"", $word, "\"")),+].join(", ")),
                    )),
                }
            }

            fn shown(&self) -> toml::Value {
                toml::Value::String(match self { $(Self::$variant => $word),+ }.to_owned())
            }

            fn kind() -> String {
                format!("one of {}", [$(concat!("\"", $word, "\"")),+].join(", "))
            }
        }
    };
}
pub(crate) use words;

/// A number with thousands set apart, as the reference and the errors print it.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Raw {
        Raw::Text(text.to_owned())
    }

    #[test]
    fn numbers_keep_their_bounds() {
        let bounds = Bounds::from(10..=1_000);
        assert_eq!(u32::read(&Raw::Integer(1_000), &bounds), Ok(1_000));
        assert_eq!(u32::read(&text(" 1_000 "), &bounds), Ok(1_000));
        for bad in [9, 1_001, -1] {
            assert_eq!(
                u32::read(&Raw::Integer(bad), &bounds),
                Err(Misfit::Bounds("must be 10 to 1,000".to_owned()))
            );
        }
        assert!(matches!(u32::read(&Raw::Word("10".to_owned()), &bounds), Err(Misfit::Kind(_))));
        assert!(matches!(u16::read(&Raw::Integer(70_000), &Bounds::Free), Err(Misfit::Bounds(_))));
    }

    #[test]
    fn addresses_come_alone_in_lists_or_not_at_all() {
        let read = |raw: Raw| Addresses::read(&raw, &Bounds::Free);
        assert_eq!(read(text("127.0.0.1:1883")), Ok(Addresses::loopback(1883)));
        assert_eq!(read(text("localhost:1883")), Ok(Addresses::loopback(1883)));
        assert_eq!(read(text("off")), Ok(Addresses::off()));
        assert_eq!(read(text("127.0.0.1:1, [::1]:2")).map(|addresses| addresses.0.len()), Ok(2));
        assert_eq!(read(Raw::List(vec![Raw::Word("127.0.0.1:1".into())])), Ok(Addresses::loopback(1)));
        assert!(matches!(read(text("example")), Err(Misfit::Kind(_))));
        assert!(matches!(read(Raw::Integer(1883)), Err(Misfit::Kind(_))));
    }

    #[test]
    fn shown_values_read_back_the_same() {
        fn round<T: Value + PartialEq + fmt::Debug>(value: T) {
            let raw = match value.shown() {
                toml::Value::String(word) => Raw::Word(word),
                toml::Value::Integer(integer) => Raw::Integer(integer),
                toml::Value::Boolean(boolean) => Raw::Boolean(boolean),
                toml::Value::Array(items) => Raw::List(
                    items
                        .iter()
                        .map(|item| Raw::Word(item.as_str().unwrap_or_default().to_owned()))
                        .collect(),
                ),
                _ => Raw::Other("unexpected"),
            };
            assert_eq!(T::read(&raw, &Bounds::Free), Ok(value));
        }
        round(17_u64);
        round(true);
        round("a \"quoted\" word".to_owned());
        round(None::<PathBuf>);
        round(Some(PathBuf::from("/etc/key.pem")));
        round(Addresses::off());
        round(Addresses(vec![([127, 0, 0, 1], 1).into(), ([127, 0, 0, 1], 2).into()]));
    }

    #[test]
    fn large_numbers_are_grouped() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
    }
}
