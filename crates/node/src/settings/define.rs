//! How a setting is defined: once, as a row of a table that is also a struct.
//!
//! [`group!`] turns rows (name, type, default, unit, bounds, cost, help) into a plain struct and its
//! description. Parsing, errors, `config show`, the sample and the reference all read that description, so
//! none of them can disagree. Which groups exist is in [`super::sections`].

use super::layers::{Layers, Origin};
use super::problem::{Code, Problem};
use super::value::{Bounds, Misfit, Value};

/// One setting as the reference describes it.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Full name, such as `limits.connections_max`.
    pub name: String,
    /// The type in words.
    pub kind: String,
    /// What it is when nothing sets it.
    pub default: toml::Value,
    /// Unit of the value; empty when it has none.
    pub unit: &'static str,
    /// Limits of the value.
    pub bounds: Bounds,
    /// What raising it (or turning it on) costs; empty when it costs nothing.
    pub cost: &'static str,
    /// What it does.
    pub help: String,
    /// Whether the value is itself a table, whose keys are no settings.
    pub is_table: bool,
}

/// A part of the reference: a table of the TOML file, or settings shared by several tables.
#[derive(Debug, Clone)]
pub struct Described {
    /// Table name, such as `auth.token`.
    pub table: String,
    /// What the table is about.
    pub help: String,
    /// Its settings, in the order of the definition.
    pub settings: Vec<Setting>,
}

/// One setting's effective value.
#[derive(Debug, Clone)]
pub struct Effective {
    /// Full name.
    pub name: String,
    /// The value in force.
    pub value: toml::Value,
    /// Where it came from.
    pub origin: Origin,
}

/// Takes values out of the layers one setting at a time and notes all that is wrong.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    layers: &'a Layers,
    /// What was wrong so far.
    pub(super) problems: Vec<Problem>,
    /// What was read so far.
    pub(super) effective: Vec<Effective>,
}

impl<'a> Reader<'a> {
    /// Reads from these layers.
    #[must_use]
    pub(super) fn new(layers: &'a Layers) -> Self {
        Self { layers, problems: Vec::new(), effective: Vec::new() }
    }

    /// The value of one setting: the winning layer's, or the default when there is none or it is wrong.
    pub(super) fn take<T: Value>(&mut self, name: String, default: T, unit: &str, bounds: &Bounds) -> T {
        let (value, origin) = match self.layers.winner(&name) {
            None => (default, Origin::Default),
            Some((raw, origin)) => match T::read(raw, bounds) {
                Ok(value) => (value, origin.clone()),
                Err(misfit) => {
                    let (code, expected) = match misfit {
                        Misfit::Kind(expected) => (Code::Kind, expected),
                        Misfit::Bounds(expected) if unit.is_empty() => (Code::Bounds, expected),
                        Misfit::Bounds(expected) => (Code::Bounds, format!("{expected} {unit}")),
                    };
                    let message = format!("= {raw}: {expected}");
                    self.problems.push(Problem {
                        code,
                        setting: name.clone(),
                        origin: origin.clone(),
                        message,
                    });
                    (default, origin.clone())
                }
            },
        };
        self.effective.push(Effective { name, value: value.shown(), origin });
        value
    }
}

/// A struct of settings.
pub(super) trait Group: Sized {
    /// Reads each setting below the table `prefix`.
    fn read(reader: &mut Reader<'_>, prefix: &str) -> Self;

    /// Describes each setting below the table `prefix`, tables within it after it.
    fn describe(prefix: &str) -> Vec<Described>;
}

/// `table.key`, or the key alone at the top.
#[must_use]
pub(super) fn full_name(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
}

/// Defines a [`Group`]: settings first, then groups that share its table (`with`), then tables within it.
macro_rules! group {
    (
        $(#[doc = $about:literal])+
        pub struct $group:ident {
            $(
                $(#[doc = $help:literal])+
                $name:ident : $type:ty = $default:expr
                    $(, unit $unit:literal)? $(, in $bounds:expr)? $(, cost $cost:literal)? ;
            )*
        }
        $(with { $($(#[doc = $with_help:literal])+ $with_name:ident : $with_type:ty),+ $(,)? })?
        $(tables { $($(#[doc = $table_help:literal])+ $table_name:ident : $table_type:ty),+ $(,)? })?
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone)]
        pub struct $group {
            $($(#[doc = $help])+ pub $name: $type,)*
            $($($(#[doc = $with_help])+ pub $with_name: $with_type,)+)?
            $($($(#[doc = $table_help])+ pub $table_name: $table_type,)+)?
        }

        impl $crate::settings::define::Group for $group {
            fn read(reader: &mut $crate::settings::define::Reader<'_>, prefix: &str) -> Self {
                Self {
                    $($name: {
                        let name = $crate::settings::define::full_name(prefix, stringify!($name));
                        reader.take(name, $default, concat!($($unit)?), &$crate::settings::define::bounds!($($bounds)?))
                    },)*
                    $($($with_name: <$with_type as $crate::settings::define::Group>::read(reader, prefix),)+)?
                    $($($table_name: {
                        let table = $crate::settings::define::full_name(prefix, stringify!($table_name));
                        <$table_type as $crate::settings::define::Group>::read(reader, &table)
                    },)+)?
                }
            }

            fn describe(prefix: &str) -> Vec<$crate::settings::define::Described> {
                #[allow(unused_mut)]
                let mut own = $crate::settings::define::Described {
                    table: prefix.to_owned(),
                    help: concat!($($about),+).trim().to_owned(),
                    settings: vec![$($crate::settings::define::Setting {
                        name: $crate::settings::define::full_name(prefix, stringify!($name)),
                        kind: <$type as $crate::settings::value::Value>::kind(),
                        default: <$type as $crate::settings::value::Value>::shown(&$default),
                        unit: concat!($($unit)?),
                        bounds: $crate::settings::define::bounds!($($bounds)?),
                        cost: concat!($($cost)?),
                        help: concat!($($help),+).trim().to_owned(),
                        is_table: <$type as $crate::settings::value::Value>::IS_TABLE,
                    }),*],
                };
                #[allow(unused_mut)]
                let mut tables: Vec<$crate::settings::define::Described> = Vec::new();
                $($(
                    let mut parts = <$with_type as $crate::settings::define::Group>::describe(prefix).into_iter();
                    own.settings.extend(parts.next().into_iter().flat_map(|part| part.settings));
                    tables.extend(parts);
                )+)?
                $($(tables.extend(<$table_type as $crate::settings::define::Group>::describe(
                    &$crate::settings::define::full_name(prefix, stringify!($table_name)),
                ));)+)?
                tables.insert(0, own);
                tables
            }
        }
    };
}

/// The bounds of a row, free when the row names none.
macro_rules! bounds {
    () => {
        $crate::settings::value::Bounds::Free
    };
    ($bounds:expr) => {
        $crate::settings::value::Bounds::from($bounds)
    };
}

pub(crate) use {bounds, group};
