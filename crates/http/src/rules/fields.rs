//! Rules in the JSON of the API.

use serde::{Deserialize, Serialize};
use stadium_grants::topics::TopicRule;
use utoipa::ToSchema;

use crate::fleet::RulesReport;

/// A rule: what it allows or denies, where, and to whom. The first rule that applies decides.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleFields {
    /// Actions that it allows, `publish` and `subscribe`; or else `deny`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["subscribe"]))]
    allow: Vec<String>,
    /// Actions that it denies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    deny: Vec<String>,
    /// Topic filters, at least one; `%u` stands for the principal, `%c` for the client identifier.
    #[schema(example = json!(["plant/#"]))]
    topics: Vec<String>,
    /// Only for these principals; for all where it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    users: Vec<String>,
    /// Only for clients in one of these groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["staff"]))]
    groups: Vec<String>,
    /// `true`: for publishing with RETAIN only; `false`: without RETAIN only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retain: Option<bool>,
    /// Only for identities that were proved in one of these ways: `anonymous`, `password`, `token`,
    /// `certificate`, `callback`, `registry`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    via: Vec<String>,
}

/// All rules, in their order.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RulesFields {
    /// The rules. An empty list denies everything.
    #[schema(max_items = 10_000)]
    pub(crate) rules: Vec<RuleFields>,
}

/// The rules in force.
#[derive(Serialize, ToSchema)]
pub(crate) struct RulesView {
    /// The file of the server that they are in. Missing for the default rules, and in trial mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Whether everything is allowed, because the server is in trial mode and has no rules file.
    trial: bool,
    /// The rules, in their order.
    rules: Vec<RuleFields>,
}

impl RuleFields {
    fn of(rule: TopicRule) -> Self {
        let TopicRule { allow, deny, topics, users, groups, retain, via } = rule;
        Self { allow, deny, topics, users, groups, retain, via }
    }

    pub(crate) fn rule(self) -> TopicRule {
        let Self { allow, deny, topics, users, groups, retain, via } = self;
        TopicRule { allow, deny, topics, users, groups, retain, via }
    }
}

impl RulesView {
    pub(crate) fn of(report: RulesReport) -> Self {
        let rules = report.rules.into_iter().map(RuleFields::of).collect();
        Self { file: report.file, trial: report.is_trial, rules }
    }
}
