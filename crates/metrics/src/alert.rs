//! Alert rules: when they fire, what they mean, and the series with which their tests let them fire.

/// An alert rule for Prometheus.
#[derive(Debug)]
pub struct Alert {
    /// Its name, which is also its heading on the page of alerts.
    pub name: &'static str,
    /// The condition, in PromQL.
    pub condition: &'static str,
    /// How long the condition must hold before the alert fires.
    pub lasting: &'static str,
    /// How soon someone should look.
    pub severity: Severity,
    /// One line for the person on call. Labels of the condition's result are written `{label}`.
    pub summary: &'static str,
    /// The event, and its effect on users.
    pub meaning: &'static str,
    /// The remedy.
    pub act: &'static str,
    /// Series, with values a minute apart, with which it fires after [`EVALUATED_AT`].
    pub fires: &'static [(&'static str, &'static str)],
    /// Series with which it does not.
    pub silent: &'static [(&'static str, &'static str)],
}

/// When the tests of the rules look, counted from the first value. Longer than each alert must last.
pub const EVALUATED_AT: &str = "90m";

/// How soon someone should look at an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// At once: users notice it, or data is at risk.
    Critical,
    /// In working hours: it becomes critical if it is left alone.
    Warning,
}

impl Severity {
    /// The value of the label `severity`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
        }
    }
}

/// The rows of a group of alerts.
macro_rules! alerts {
    ($title:literal $(
        $name:ident $severity:ident if $condition:literal for $lasting:literal: $summary:literal,
        means $meaning:literal, act $act:literal,
        fires $($fires:literal = $fired:literal)+, silent $($silent:literal = $quiet:literal)+;
    )+) => {
        use $crate::alert::{Alert, Group, Severity};
        /// The alerts of this group.
        pub(super) const GROUP: Group = Group { title: $title, alerts: &[$(Alert {
            name: stringify!($name),
            condition: $condition,
            lasting: $lasting,
            severity: Severity::$severity,
            summary: $summary,
            meaning: $meaning,
            act: $act,
            fires: &[$(($fires, $fired)),+],
            silent: &[$(($silent, $quiet)),+],
        }),+] };
    };
}
pub(crate) use alerts;

/// Alerts that belong together.
#[derive(Debug)]
pub struct Group {
    /// The name of the group of rules, and its heading on the page.
    pub title: &'static str,
    /// The rules.
    pub alerts: &'static [Alert],
}
