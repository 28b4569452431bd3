//! One rule as an operator writes it, and compiled.
//!
//! A rule has `allow` or `deny` with actions, topic filters, and the principals to whom it applies.
//! The action `publish` stands for the verbs `stream.publish` and `stream.retain`, `subscribe` for
//! `stream.subscribe`.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::Via;
use super::pattern::Pattern;
use super::principal::Principal;
use crate::Verb;

/// One rule as it is written. Either `allow` or `deny` is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TopicRule {
    /// Actions that it allows: `publish`, `subscribe`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Actions that it denies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Topic filters with `%u` for the principal's name and `%c` for the client identifier.
    pub topics: Vec<String>,
    /// Principals to whom it applies; everybody when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
    /// Groups to which it applies: one of them is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Whether `publish` means messages with RETAIN only, or those without only; both when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retain: Option<bool>,
    /// Proofs of identity to which it applies: `anonymous`, `password`, `token`, `certificate`,
    /// `callback`, `registry`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
}

/// The effect of a rule on what it applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is allowed.
    Allow,
    /// It is denied.
    Deny,
}

/// The part of a filter that a rule applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Every topic that it matches.
    All,
    /// Some of them.
    Part,
}

/// A compiled rule.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    effect: Effect,
    publish: bool,
    /// To publish with RETAIN.
    retain: bool,
    subscribe: bool,
    patterns: Box<[Pattern]>,
    users: HashSet<Box<str>>,
    groups: Box<[Box<str>]>,
    via: Box<[Via]>,
}

impl Rule {
    /// The effect of this rule, or `None` when it does not apply.
    pub(super) fn effect_on(&self, who: &Principal<'_>, verb: Verb, asked: &str) -> Option<Effect> {
        let applies = match verb {
            Verb::StreamPublish => self.publish,
            Verb::StreamRetain => self.retain,
            Verb::StreamSubscribe => self.subscribe,
            _ => false,
        };
        if !applies {
            return None;
        }
        let matched = match self.effect {
            Effect::Allow => self.patterns.iter().any(|pattern| pattern.covers(asked, who)),
            Effect::Deny => self.patterns.iter().any(|pattern| pattern.overlaps(asked, who)),
        };
        (matched && self.means(who)).then_some(self.effect)
    }

    /// The effect of this rule on a filter, and on how much of it; `None` when it does not apply.
    /// A rule that allows does so for a whole filter only.
    pub(super) fn effect_on_filter(&self, who: &Principal<'_>, filter: &str) -> Option<(Effect, Extent)> {
        if !self.subscribe {
            return None;
        }
        let covers = || self.patterns.iter().any(|pattern| pattern.covers(filter, who));
        let extent = match self.effect {
            Effect::Allow => covers().then_some(Extent::All),
            Effect::Deny if !self.patterns.iter().any(|pattern| pattern.overlaps(filter, who)) => None,
            Effect::Deny if covers() => Some(Extent::All),
            Effect::Deny => Some(Extent::Part),
        }?;
        self.means(who).then_some((self.effect, extent))
    }

    /// Compiles it, or returns the mistake in it.
    pub(super) fn compile(rule: &TopicRule) -> Result<Self, String> {
        let (effect, actions) = match (&rule.allow[..], &rule.deny[..]) {
            ([], []) => return Err("says neither allow nor deny".to_owned()),
            (actions, []) => (Effect::Allow, actions),
            ([], actions) => (Effect::Deny, actions),
            _ => return Err("says both allow and deny; write two rules".to_owned()),
        };
        if let Some(odd) = actions.iter().find(|action| !["publish", "subscribe"].contains(&action.as_str()))
        {
            return Err(format!("{odd:?} is no action; there are \"publish\" and \"subscribe\""));
        }
        let publishes = actions.iter().any(|action| action == "publish");
        if rule.retain.is_some() && !publishes {
            return Err("says retain, which is for the action \"publish\"".to_owned());
        }
        if rule.topics.is_empty() {
            return Err("names no topics".to_owned());
        }
        let pattern =
            |text: &String| Pattern::parse(text).map_err(|problem| format!("topic {text:?}: {problem}"));
        Ok(Self {
            effect,
            publish: publishes && rule.retain != Some(true),
            retain: publishes && rule.retain != Some(false),
            subscribe: actions.iter().any(|action| action == "subscribe"),
            patterns: rule.topics.iter().map(pattern).collect::<Result<_, _>>()?,
            users: rule.users.iter().map(|user| user.as_str().into()).collect(),
            groups: rule.groups.iter().map(|group| group.as_str().into()).collect(),
            via: rule.via.iter().map(|word| word.parse()).collect::<Result<_, _>>()?,
        })
    }

    fn means(&self, who: &Principal<'_>) -> bool {
        (self.via.is_empty() || self.via.contains(&who.via))
            && (self.users.is_empty() || self.users.contains(who.user))
            && (self.groups.is_empty()
                || who.groups.iter().any(|group| self.groups.iter().any(|named| **named == **group)))
    }
}
