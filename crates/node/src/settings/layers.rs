//! Where values come from, and which one wins.
//!
//! Lowest to highest: the default, trial mode, the file, the environment, the flags. A value keeps its origin
//! (file and line, variable, flag) through to every error and to `config show`. The meaning of the
//! values is the business of [`super::value`] and the sections.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::problem::{Code, Problem};
use super::value::Raw;

/// What every environment variable that is a setting begins with.
const ENVIRONMENT_PREFIX: &str = "STADIUM_";

/// Variables of OpenTelemetry's specification that stand for a setting, below all other sources.
const STANDARD: [(&str, &str); 8] = [
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "telemetry.endpoint"),
    ("OTEL_EXPORTER_OTLP_PROTOCOL", "telemetry.protocol"),
    ("OTEL_EXPORTER_OTLP_CERTIFICATE", "telemetry.authorities"),
    ("OTEL_EXPORTER_OTLP_TIMEOUT", "telemetry.timeout_ms"),
    ("OTEL_SERVICE_NAME", "telemetry.service_name"),
    ("OTEL_RESOURCE_ATTRIBUTES", "telemetry.resource_attributes"),
    ("OTEL_TRACES_SAMPLER_ARG", "telemetry.sample_ratio"),
    ("OTEL_BSP_MAX_QUEUE_SIZE", "telemetry.queue_spans_max"),
];

/// Has a word for a ratio of 0 and of 1.
const SAMPLER: &str = "OTEL_TRACES_SAMPLER";

/// Switches the variables of OpenTelemetry off.
const STANDARD_OFF: &str = "OTEL_SDK_DISABLED";

/// Bytes of a configuration file we are willing to read; the whole sample is under 64 KB.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nothing set it.
    Default,
    /// `--trial` implies it.
    Trial,
    /// A file; line 0 means the file as a whole.
    File {
        /// As it was named.
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// An environment variable, by name.
    Environment(String),
    /// A flag, as it is spelt on the command line.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Trial => f.write_str("trial mode"),
            Self::File { path, line: 0 } => write!(f, "{}", path.display()),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

/// A value that a flag gives to a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The flag as it is spelt, such as `--mqtt`.
    pub flag: String,
    /// The setting's full name.
    pub setting: String,
    /// The value as text.
    pub value: String,
}

/// Raw values by full name, the highest layer's only.
#[derive(Debug, Default)]
pub(super) struct Layers {
    values: BTreeMap<String, (Raw, Origin)>,
}

impl Layers {
    /// Puts a value above everything given so far.
    pub(super) fn put(&mut self, setting: impl Into<String>, raw: Raw, origin: Origin) {
        self.values.insert(setting.into(), (raw, origin));
    }

    /// Puts a value only where no layer has given one.
    pub(super) fn put_below(&mut self, setting: impl Into<String>, raw: Raw, origin: Origin) {
        self.values.entry(setting.into()).or_insert((raw, origin));
    }

    /// The winning value of a setting, if any layer gave one.
    #[must_use]
    pub(super) fn winner(&self, setting: &str) -> Option<&(Raw, Origin)> {
        self.values.get(setting)
    }

    /// Every name that was given a value.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, &Origin)> {
        self.values.iter().map(|(name, (_, origin))| (name.as_str(), origin))
    }

    /// Reads a file on top of what is there.
    pub(super) fn read_file(&mut self, path: &Path) -> Result<(), Problem> {
        let problem = |line, message: String| Problem {
            code: Code::File,
            setting: String::new(),
            origin: Origin::File { path: path.to_owned(), line },
            message,
        };
        let length =
            std::fs::metadata(path).map_err(|error| problem(0, format!("cannot be read: {error}")))?.len();
        if length > FILE_BYTES_MAX {
            return Err(problem(
                0,
                format!("has {length} bytes; a configuration has at most {FILE_BYTES_MAX}"),
            ));
        }
        let text =
            std::fs::read_to_string(path).map_err(|error| problem(0, format!("cannot be read: {error}")))?;
        self.read_toml(&text, path)
    }

    /// Reads TOML text on top of what is there; `path` is what errors call it.
    pub(super) fn read_toml(&mut self, text: &str, path: &Path) -> Result<(), Problem> {
        let line_at = |offset: usize| {
            1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|&&b| b == b'\n').count()
        };
        let root = DeTable::parse(text).map_err(|error| Problem {
            code: Code::File,
            setting: String::new(),
            origin: Origin::File {
                path: path.to_owned(),
                line: error.span().map_or(0, |span| line_at(span.start)),
            },
            message: format!("is not valid TOML: {}", error.message()),
        })?;
        let values: Vec<String> = super::table_values().collect();
        self.take_table("", root.get_ref(), &values, &|offset| Origin::File {
            path: path.to_owned(),
            line: line_at(offset),
        });
        Ok(())
    }

    /// Takes each setting of a table. A table that is in `values` is one setting's value.
    fn take_table(
        &mut self,
        prefix: &str,
        table: &DeTable<'_>,
        values: &[String],
        origin: &dyn Fn(usize) -> Origin,
    ) {
        for (key, value) in table {
            let name = if prefix.is_empty() {
                key.get_ref().to_string()
            } else {
                format!("{prefix}.{}", key.get_ref())
            };
            match value.get_ref() {
                DeValue::Table(rows) if values.contains(&name) => {
                    self.put(name, Raw::from(rows), origin(key.span().start));
                }
                DeValue::Table(inner) => self.take_table(&name, inner, values, origin),
                leaf => self.put(name, Raw::from(leaf), origin(key.span().start)),
            }
        }
    }

    /// Reads the environment on top of what is there: `STADIUM_SECTION__KEY`, a double underscore for each dot.
    ///
    /// A variable without a double underscore (`STADIUM_URL`, `STADIUM_KEY`) belongs to the command line.
    pub(super) fn read_environment(&mut self, variables: impl Iterator<Item = (String, String)>) {
        for (variable, value) in variables {
            let Some(name) = variable.strip_prefix(ENVIRONMENT_PREFIX).filter(|name| name.contains("__"))
            else {
                continue;
            };
            let name = name.to_ascii_lowercase().replace("__", ".");
            self.put(name, Raw::Text(value), Origin::Environment(variable));
        }
    }

    /// Reads variables that OpenTelemetry's specification defines, below what is there. Empty ones
    /// count as unset, as it demands.
    pub(super) fn read_standard_environment(&mut self, variables: &[(String, String)]) {
        let value = |name: &str| {
            let found = variables.iter().find(|(variable, _)| variable == name);
            found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
        };
        if value(STANDARD_OFF).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return;
        }
        let mut put = |setting: &str, value: &str, variable: &str| {
            self.put_below(setting, Raw::Text(value.to_owned()), Origin::Environment(variable.to_owned()));
        };
        match value(SAMPLER) {
            Some("always_on" | "parentbased_always_on") => put("telemetry.sample_ratio", "1", SAMPLER),
            Some("always_off" | "parentbased_always_off") => put("telemetry.sample_ratio", "0", SAMPLER),
            _ => {}
        }
        for (variable, setting) in STANDARD {
            if let Some(value) = value(variable) {
                put(setting, value, variable);
            }
        }
    }

    /// Puts the flags on top of what is there.
    pub(super) fn read_flags(&mut self, flags: &[Override]) {
        for Override { flag, setting, value } in flags {
            self.put(setting.clone(), Raw::Text(value.clone()), Origin::Flag(flag.clone()));
        }
    }
}

/// The environment variable of a setting.
#[must_use]
pub fn environment_name(setting: &str) -> String {
    format!("{ENVIRONMENT_PREFIX}{}", setting.replace('.', "__").to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_values_know_their_line() {
        let mut layers = Layers::default();
        layers
            .read_toml(
                "# a comment\n[mqtt]\nlisten = \"127.0.0.1:1\"\n\n[limits]\nconnections_max = 5\n",
                Path::new("s.toml"),
            )
            .expect("the text is TOML");
        let (raw, origin) = layers.winner("limits.connections_max").expect("it was given");
        assert_eq!((raw, origin.to_string().as_str()), (&Raw::Integer(5), "s.toml:6"));
    }

    #[test]
    fn broken_toml_names_the_line() {
        let problem = Layers::default()
            .read_toml("[mqtt]\nlisten = \n", Path::new("s.toml"))
            .expect_err("a value is missing");
        assert!(problem.to_string().starts_with("s.toml:2: "), "{problem}");
    }

    #[test]
    fn variables_of_opentelemetry_are_below_all_else() {
        let variables = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let mut layers = Layers::default();
        layers
            .read_toml("[telemetry]\nservice_name = \"arena\"", Path::new("s.toml"))
            .expect("the text is TOML");
        layers.read_standard_environment(&variables(&[
            ("OTEL_SERVICE_NAME", "other"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
            ("OTEL_TRACES_SAMPLER", "parentbased_always_on"),
            ("OTEL_TRACES_SAMPLER_ARG", ""),
        ]));
        let given: Vec<_> = layers.names().map(|(name, origin)| format!("{name} {origin}")).collect();
        assert_eq!(
            given,
            [
                "telemetry.endpoint environment OTEL_EXPORTER_OTLP_ENDPOINT",
                "telemetry.sample_ratio environment OTEL_TRACES_SAMPLER",
                "telemetry.service_name s.toml:2"
            ]
        );
        let mut layers = Layers::default();
        let off = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"), ("OTEL_SDK_DISABLED", "true")];
        layers.read_standard_environment(&variables(&off));
        assert_eq!(layers.names().count(), 0);
    }

    #[test]
    fn flags_win_over_environment_over_file() {
        let mut layers = Layers::default();
        layers
            .read_toml("[server]\nloops = 1\ndata = \"a\"\nlog = \"b\"", Path::new("s.toml"))
            .expect("the text is TOML");
        let variables =
            [("STADIUM_SERVER__LOOPS", "2"), ("STADIUM_SERVER__DATA", "c"), ("STADIUM_URL", "http://x")];
        layers
            .read_environment(variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
        layers.read_flags(&[Override {
            flag: "--loops".into(),
            setting: "server.loops".into(),
            value: "3".into(),
        }]);
        let origins: Vec<_> = layers.names().map(|(name, origin)| format!("{name} {origin}")).collect();
        assert_eq!(
            origins,
            [
                "server.data environment STADIUM_SERVER__DATA",
                "server.log s.toml:4",
                "server.loops flag --loops"
            ]
        );
    }
}
