//! Rules as an operator writes them, and their compilation.
//!
//! A file holds `[[rule]]` tables, each with `allow` or `deny` (actions), `topics`, and whom it is for, as
//! examples/rules.toml shows. The first rule that speaks about an action and a topic
//! decides; when none does, it is denied. Rules are compiled once; a mistake in one is reported
//! with its number.

use std::collections::HashSet;

use serde::Deserialize;

use super::Via;
use super::pattern::Pattern;
use super::policy::{Action, Principal};

/// One rule as it is written. Either `allow` or `deny` is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleConfig {
    /// Actions that it allows: `publish`, `subscribe`.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Actions that it denies.
    #[serde(default)]
    pub deny: Vec<String>,
    /// Topic filters with `%u` for the principal's name and `%c` for the client identifier.
    pub topics: Vec<String>,
    /// Principals that it speaks about; everybody when empty.
    #[serde(default)]
    pub users: Vec<String>,
    /// Groups that it speaks about: one of them is enough.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Whether it speaks about messages with RETAIN only, or about those without only; about both
    /// when absent. It concerns `publish`.
    #[serde(default)]
    pub retain: Option<bool>,
    /// Proofs of identity that it speaks about: `anonymous`, `password`, `token`, `certificate`, `callback`, `registry`.
    #[serde(default)]
    pub via: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    #[serde(default)]
    rule: Vec<RuleConfig>,
}

/// What a rule does with what it speaks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is allowed.
    Allow,
    /// It is denied.
    Deny,
}

/// How much of a filter a rule speaks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
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
    /// The effect of this rule, or `None` when it does not speak about this.
    pub(super) fn effect_on(&self, who: &Principal<'_>, action: Action, asked: &str) -> Option<Effect> {
        let speaks = match action {
            Action::Publish => self.publish,
            Action::Retain => self.retain,
            Action::Subscribe => self.subscribe,
        };
        if !speaks {
            return None;
        }
        let matched = match self.effect {
            Effect::Allow => self.patterns.iter().any(|pattern| pattern.covers(asked, who)),
            Effect::Deny => self.patterns.iter().any(|pattern| pattern.overlaps(asked, who)),
        };
        (matched && self.is_about(who)).then_some(self.effect)
    }

    /// The effect of this rule on a filter, and on how much of it; `None` when it does not speak
    /// about it. A rule that allows does so for a whole filter only.
    pub(super) fn share_of(&self, who: &Principal<'_>, filter: &str) -> Option<(Effect, Share)> {
        if !self.subscribe {
            return None;
        }
        let covers = || self.patterns.iter().any(|pattern| pattern.covers(filter, who));
        let share = match self.effect {
            Effect::Allow => covers().then_some(Share::All),
            Effect::Deny if !self.patterns.iter().any(|pattern| pattern.overlaps(filter, who)) => None,
            Effect::Deny if covers() => Some(Share::All),
            Effect::Deny => Some(Share::Part),
        }?;
        self.is_about(who).then_some((self.effect, share))
    }

    fn is_about(&self, who: &Principal<'_>) -> bool {
        (self.via.is_empty() || self.via.contains(&who.via))
            && (self.users.is_empty() || self.users.contains(who.user))
            && (self.groups.is_empty()
                || who.groups.iter().any(|group| self.groups.iter().any(|named| **named == **group)))
    }
}

/// Compiles rules in their order, or returns which one is wrong, and why.
pub(super) fn compile(rules: &[RuleConfig]) -> Result<Box<[Rule]>, String> {
    let compiled = rules.iter().enumerate();
    compiled
        .map(|(at, rule)| compile_one(rule).map_err(|problem| format!("rule {}: {problem}", at + 1)))
        .collect()
}

/// Reads the TOML of a rules file and compiles it.
pub(super) fn parse(text: &str) -> Result<Box<[Rule]>, String> {
    let file: RulesFile = toml::from_str(text).map_err(|error| error.to_string())?;
    compile(&file.rule)
}

fn compile_one(rule: &RuleConfig) -> Result<Rule, String> {
    let (effect, actions) = match (&rule.allow[..], &rule.deny[..]) {
        ([], []) => return Err("says neither allow nor deny".to_owned()),
        (actions, []) => (Effect::Allow, actions),
        ([], actions) => (Effect::Deny, actions),
        _ => return Err("says both allow and deny; write two rules".to_owned()),
    };
    if let Some(odd) = actions.iter().find(|action| !["publish", "subscribe"].contains(&action.as_str())) {
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
    Ok(Rule {
        effect,
        publish: publishes && rule.retain != Some(true),
        retain: publishes && rule.retain != Some(false),
        subscribe: actions.iter().any(|action| action == "subscribe"),
        patterns: rule.topics.iter().map(pattern).collect::<Result<_, _>>()?,
        users: rule.users.iter().map(|user| user.as_str().into()).collect(),
        groups: rule.groups.iter().map(|group| group.as_str().into()).collect(),
        via: rule.via.iter().map(|word| parse_via(word)).collect::<Result<_, _>>()?,
    })
}

fn parse_via(word: &str) -> Result<Via, String> {
    [Via::Anonymous, Via::Password, Via::Token, Via::Certificate, Via::Callback, Via::Registry]
        .into_iter()
        .find(|via| via.as_str() == word)
        .ok_or_else(|| format!("{word:?} is no proof of identity"))
}

/// The rules of [`RulesConfig::Default`](super::RulesConfig::Default).
pub(super) fn default_rules() -> Vec<RuleConfig> {
    let allow = |action: &str, topics: &[&str]| RuleConfig {
        allow: vec![action.to_owned()],
        topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
        ..RuleConfig::default()
    };
    vec![allow("subscribe", &["inbox/%c", "inbox/%c/#", "channels/+"]), allow("publish", &["uplink/%c/#"])]
}
