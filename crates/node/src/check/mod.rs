//! What a server of this configuration would meet on this machine: its files, its ports, its data folder, its limits.
//!
//! [`check`] opens, parses and tries everything that a start would, changes nothing, and finds all that is wrong in one go.
//! Settings that contradict each other are found before, by [`crate::settings::load`].

mod data;
mod files;
mod limits;
mod plain;
mod ports;

use std::fmt;
use std::path::PathBuf;

use crate::cluster;
use crate::running::{self, Running};
use crate::settings::{Code, Loaded, Origin};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// The server starts, and something will not be as expected.
    Warning,
    /// The server does not start, or nobody can use what it offers.
    Error,
}

impl Severity {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What kind it is.
    pub code: Code,
    /// The setting's full name, such as `mqtts.certificate`.
    pub setting: String,
    /// Its value.
    pub value: Option<toml::Value>,
    /// Where the value came from.
    pub origin: Origin,
    /// The file or folder concerned, where there is one.
    pub file: Option<PathBuf>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.setting)?;
        if let Some(value) = &self.value {
            write!(f, " = {value}")?;
        }
        write!(f, ": {}", self.message)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        write!(f, " ({})", self.code.id())
    }
}

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Files, the data folder, limits and ports of this machine.
    Machine,
    /// The same without ports: another server may have them now.
    WithoutPorts,
}

/// Everything that is found, the worst first.
#[must_use]
pub fn check(loaded: &Loaded, scope: Scope) -> Vec<Finding> {
    let mut findings = Findings { loaded, found: Vec::new() };
    files::check(&mut findings);
    let runs = data::check(&mut findings);
    let running = if runs { running::read(&loaded.settings.server.data) } else { None };
    if scope == Scope::Machine {
        ports::check(&mut findings, running.as_ref());
    }
    limits::check(&mut findings);
    plain::check(&mut findings);
    if loaded.settings.cluster.name.is_some() && !cfg!(feature = "cluster") {
        let message = "this `stadium` was built without clusters";
        let remedy = format!("build it with `{}`", cluster::BUILD);
        findings.add((Severity::Error, Code::Named), "cluster.name", None, message, remedy);
    }
    let mut found = findings.found;
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}

/// The findings so far.
struct Findings<'a> {
    loaded: &'a Loaded,
    found: Vec<Finding>,
}

impl Findings<'_> {
    fn add(
        &mut self,
        (severity, code): (Severity, Code),
        setting: &str,
        file: Option<PathBuf>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let effective = self.loaded.effective.iter().find(|effective| effective.name == setting);
        self.found.push(Finding {
            severity,
            code,
            setting: setting.to_owned(),
            value: effective.map(|effective| effective.value.clone()),
            origin: effective.map_or(Origin::Default, |effective| effective.origin.clone()),
            file,
            message: message.into(),
            remedy: remedy.into(),
        });
    }

    /// Whether somebody set it.
    fn is_set(&self, setting: &str) -> bool {
        let effective = self.loaded.effective.iter().find(|effective| effective.name == setting);
        effective.is_some_and(|effective| !matches!(effective.origin, Origin::Default | Origin::Trial))
    }
}

/// Whether the running server listens at this address.
fn listens(running: Option<&Running>, address: std::net::SocketAddr) -> bool {
    running.is_some_and(|running| running.listeners.iter().any(|listener| listener.address == address))
}
