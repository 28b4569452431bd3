//! One metric as it is defined: name, type, unit, labels, and the text for operators.
//!
//! The server encodes its series from these rows, so a metric cannot be exported under a name, a
//! type or a help text that the reference page does not have.

/// A metric of the server. All its texts are sentences for the reference page.
#[derive(Debug)]
pub struct Definition {
    /// The name without prefix, unit and `_total`.
    pub name: &'static str,
    /// The type that Prometheus sees.
    pub kind: Kind,
    /// The unit, which is part of the exported name.
    pub unit: Option<Unit>,
    /// The labels of each of its series, in the order in which they are exported.
    pub labels: &'static [&'static str],
    /// The servers that export it.
    pub when: When,
    /// The thing that is counted or measured; also the text of `# HELP`.
    pub help: &'static str,
    /// The meaning of a rising value; for a gauge that should be 1, of a value of 0.
    pub rises: &'static str,
    /// The operator's remedy.
    pub act: &'static str,
    /// The settings that bound it or decide it.
    pub settings: &'static [&'static str],
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only rises, and begins at zero when the process does.
    Counter,
    /// The value of now.
    Gauge,
    /// Cumulative buckets with a sum and a count.
    Histogram,
    /// Quantiles that the server computed, under the label `quantile`.
    Summary,
    /// Always 1; its labels have the information.
    Info,
}

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// A part of a whole, 0 to 1.
    Ratio,
}

/// The servers that export a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Every server.
    Always,
    /// Servers whose callback's answers are shared through memcached: `cache.servers` is set.
    AuthCache,
    /// Servers with services: `rpc.listen` is set.
    Services,
    /// Servers that take the locations of devices from a service: `push.locations.service` is set.
    Locations,
    /// Servers that back themselves up: `backup.to` is set.
    Backup,
    /// Servers whose certificate comes from an ACME server: `acme.domains` is set.
    Acme,
    /// Servers that export telemetry: `telemetry.endpoint` is set.
    Telemetry,
    /// Nodes of a cluster.
    Cluster,
    /// Nodes of a cluster with an object store: `cluster.store` is set.
    Store,
}

impl Definition {
    /// The name of the metric's family in the text format 0.0.4, which for counters is also that of
    /// its series.
    pub fn family(&self) -> String {
        let prefix = if self.name.starts_with("process_") { "" } else { "stadium_" };
        let unit = self.unit.map_or(String::new(), |unit| format!("_{}", unit.suffix()));
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            _ => "",
        };
        format!("{prefix}{}{unit}{suffix}", self.name)
    }

    /// The names of its series: several for a histogram and a summary.
    pub fn series(&self) -> Vec<String> {
        let family = self.family();
        let parts: &[&str] = match self.kind {
            Kind::Histogram => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        parts.iter().map(|part| format!("{family}{part}")).collect()
    }
}

impl Kind {
    /// The word for it in the text format.
    pub fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Summary => "summary",
            Self::Info => "info",
        }
    }
}

impl Unit {
    /// Its part of the exported name.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Seconds => "seconds",
            Self::Ratio => "ratio",
        }
    }
}

impl When {
    /// A word for the condition, for programs.
    pub fn condition(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::AuthCache => "auth_cache",
            Self::Services => "services",
            Self::Locations => "locations",
            Self::Backup => "backup",
            Self::Acme => "acme",
            Self::Telemetry => "telemetry",
            Self::Cluster => "cluster",
            Self::Store => "store",
        }
    }

    /// The servers in words, after *exported by*.
    pub fn words(self) -> &'static str {
        match self {
            Self::Always => "every server",
            Self::AuthCache => "servers that share the callback's answers: `cache.servers` is set",
            Self::Services => "servers with services: `rpc.listen` is set",
            Self::Locations => "servers that follow devices' locations: `push.locations.service` is set",
            Self::Backup => "servers that back themselves up: `backup.to` is set",
            Self::Acme => "servers with a certificate from an ACME server: `acme.domains` is set",
            Self::Telemetry => "servers that export telemetry: `telemetry.endpoint` is set",
            Self::Cluster => "nodes of a cluster",
            Self::Store => "nodes of a cluster with an object store: `cluster.store` is set",
        }
    }
}

/// A section of the table: its title, its rows as constants, and all of them in their order.
macro_rules! section {
    ($title:literal $(
        $constant:ident = $kind:ident $name:literal $(in $unit:ident)? $(by $($label:literal)+)?
        $(when $when:ident)? : $help:literal, rises $rises:literal, act $act:literal
        $(, set by $($setting:literal)+)? ;
    )+) => {
        use $crate::definition::{Definition, Kind, Section};
        $(
            #[doc = $help]
            pub const $constant: &Definition = &Definition {
                name: $name,
                kind: Kind::$kind,
                unit: $crate::definition::section!(@option $($crate::definition::Unit::$unit)?),
                labels: &[$($($label),+)?],
                when: $crate::definition::section!(@when $($when)?),
                help: $help,
                rises: $rises,
                act: $act,
                settings: &[$($($setting),+)?],
            };
        )+
        /// All rows, in the order of the reference page.
        pub const SECTION: Section = Section { title: $title, rows: &[$($constant),+] };
    };
    (@option) => { None };
    (@option $value:expr) => { Some($value) };
    (@when) => { $crate::definition::When::Always };
    (@when $when:ident) => { $crate::definition::When::$when };
}
pub(crate) use section;

/// Rows that belong together.
#[derive(Debug)]
pub struct Section {
    /// Its heading on the reference page.
    pub title: &'static str,
    /// The metrics.
    pub rows: &'static [&'static Definition],
}
