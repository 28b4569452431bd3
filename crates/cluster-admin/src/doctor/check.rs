//! A check of the doctor: what it is about, what was found, and the remedy.
//!
//! The areas collect theirs in [`Findings`].

use std::fmt;

use serde::Serialize;

/// The subject of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Area {
    /// The members of etcd, and the cluster's keys.
    Etcd,
    /// The brokers and the topic.
    Kafka,
    /// The nodes that are alive.
    Nodes,
    /// Owners and standbys.
    Shards,
    /// The addresses that nodes publish.
    Links,
}

impl Area {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Kafka => "kafka",
            Self::Nodes => "nodes",
            Self::Shards => "shards",
            Self::Links => "links",
        }
    }
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// The cluster works, and less well or less safely than it could.
    Warning,
    /// Something does not work, or the next failure breaks it.
    Problem,
}

impl Verdict {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its subject.
    pub area: Area,
    /// Its result.
    pub verdict: Verdict,
    /// The fact that was found.
    pub finding: String,
    /// The remedy; none if all is as it should be.
    pub remedy: Option<String>,
}

/// Checks as they are made.
#[derive(Debug, Default)]
pub(super) struct Findings(pub(super) Vec<Check>);

impl Findings {
    pub(super) fn ok(&mut self, area: Area, finding: impl fmt::Display) {
        self.add(area, Verdict::Ok, finding, None);
    }

    pub(super) fn warning(&mut self, area: Area, finding: impl fmt::Display, remedy: impl Into<String>) {
        self.add(area, Verdict::Warning, finding, Some(remedy.into()));
    }

    pub(super) fn problem(&mut self, area: Area, finding: impl fmt::Display, remedy: impl Into<String>) {
        self.add(area, Verdict::Problem, finding, Some(remedy.into()));
    }

    fn add(&mut self, area: Area, verdict: Verdict, finding: impl fmt::Display, remedy: Option<String>) {
        self.0.push(Check { area, verdict, finding: finding.to_string(), remedy });
    }
}
