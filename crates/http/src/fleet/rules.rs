//! The rules over topics, as they cross the port.

use stadium_grants::topics::TopicRule;

/// The rules in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RulesReport {
    /// The file that they are in; none where they are the default rules, or in trial mode.
    pub file: Option<String>,
    /// Whether everything is allowed, because the server is in trial mode and has no rules file.
    pub is_trial: bool,
    /// Names this state of the rules.
    pub name: String,
    /// In their order.
    pub rules: Vec<TopicRule>,
}

/// Rules that are to be in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewRules {
    /// A list.
    List(Vec<TopicRule>),
    /// The text of a rules file.
    Text(String),
}

/// A mistake in rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleMistake {
    /// The rule, from 1, where one is wrong.
    pub rule: Option<usize>,
    /// The mistake, with the line where rules came as a text.
    pub words: String,
}

/// Reasons for which rules were not replaced; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotSet {
    /// A rule is wrong.
    Mistake(RuleMistake),
    /// Those in force are others than expected; their name.
    Changed(String),
    /// They cannot be set at this server, and why.
    Fixed(String),
    /// Their file cannot be written, and why.
    NotWritten(String),
    /// The server is ending.
    Ending,
}
