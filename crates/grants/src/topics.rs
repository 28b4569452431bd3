//! Rights over topics: the rules that grant devices the verbs `stream.*`.
//!
//! A fleet has too many devices for a list of grants each. A rule grants or denies topics to all
//! principals that it names, and the first rule about a verb and a topic decides
//! ([`TopicRules::decide`]). A rule's topics are MQTT topic filters with placeholders for the
//! principal. Nothing is allowed unless a rule states it. A decision takes tens of nanoseconds for
//! a few rules, and allocates nothing.

mod pattern;
mod principal;
mod rule;

use std::fmt;

pub use principal::{Principal, Via};
pub use rule::{Effect, TopicRule};
use rule::{Extent, Rule};

use crate::Verb;

/// First level of the topics by which a device asks about itself.
pub const OWN_PREFIX: &str = "me";

/// Rules over topics, compiled. The first that applies decides.
#[derive(Debug)]
pub struct TopicRules(Option<Box<[Rule]>>);

/// The decision about a topic or filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicDecision {
    /// The rule of this place, counted from 1, allows or denies it.
    Rule(usize, Effect),
    /// A device's request about itself, which no rule denies.
    Own,
    /// There are no rules in trial mode.
    Trial,
    /// No rule applies.
    NoRule,
    /// Nobody may do it: `$SYS` is the server's, `me/...` is read by nobody, or the text is no
    /// topic, or no filter.
    Nobody,
}

impl TopicDecision {
    /// Whether it may be done.
    pub fn is_allowed(self) -> bool {
        matches!(self, Self::Rule(_, Effect::Allow) | Self::Own | Self::Trial)
    }
}

impl fmt::Display for TopicDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(place, Effect::Allow) => write!(f, "allowed by rule {place}"),
            Self::Rule(place, Effect::Deny) => write!(f, "denied by rule {place}"),
            Self::Own => f.write_str("allowed: a device's request about itself, and no rule denies it"),
            Self::Trial => f.write_str("allowed: trial mode has no rules"),
            Self::NoRule => f.write_str("denied: no rule applies"),
            Self::Nobody => f.write_str("denied to everybody"),
        }
    }
}

/// The part of a filter that is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// Every topic that it matches.
    Whole,
    /// All but some, which are asked for at each delivery.
    Partly,
    /// None.
    Nothing,
}

impl TopicRules {
    /// Compiles rules, in their order.
    ///
    /// # Errors
    /// The place of a rule that is wrong, counted from 1, and the mistake.
    pub fn new(rules: &[TopicRule]) -> Result<Self, String> {
        let compiled = rules.iter().enumerate();
        let compiled = compiled
            .map(|(at, rule)| Rule::compile(rule).map_err(|problem| format!("rule {}: {problem}", at + 1)));
        Ok(Self(Some(compiled.collect::<Result<_, _>>()?)))
    }

    /// The rules that allow every well-formed topic and filter, but nobody to publish to `$SYS`:
    /// trial mode.
    pub fn everything() -> Self {
        Self(None)
    }

    /// The default: a device reads its inbox and channels, and writes its uplink.
    pub fn default_rules() -> Vec<TopicRule> {
        let allow = |action: &str, topics: &[&str]| TopicRule {
            allow: vec![action.to_owned()],
            topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
            ..TopicRule::default()
        };
        vec![
            allow("subscribe", &["inbox/%c", "inbox/%c/#", "channels/+"]),
            allow("publish", &["uplink/%c/#"]),
        ]
    }

    /// Decides whether `who` may do this.
    ///
    /// `asked` is a topic name for `stream.publish` and `stream.retain`, and a topic name or filter
    /// for `stream.subscribe`; there `$share/group/filter` is checked as `filter`. Malformed text
    /// and other verbs are denied. Topics that start with `$` are denied unless a rule names their
    /// first level, and publishing to `$SYS` always. Publishing to `me/...` is allowed unless a
    /// rule denies it; subscribing there is denied.
    pub fn decide(&self, who: &Principal<'_>, verb: Verb, asked: &str) -> TopicDecision {
        let (asked, is_own) = match verb {
            Verb::StreamPublish | Verb::StreamRetain if is_servers_own(asked) => {
                return TopicDecision::Nobody;
            }
            Verb::StreamPublish | Verb::StreamRetain if pattern::is_name(asked) => (asked, is_own(asked)),
            // Nobody reads a device's own requests.
            Verb::StreamSubscribe => match unshared(asked) {
                Some(filter) if pattern::is_filter(filter) && !is_own(filter) => (filter, false),
                _ => return TopicDecision::Nobody,
            },
            _ => return TopicDecision::Nobody,
        };
        let Some(rules) = &self.0 else {
            return TopicDecision::Trial;
        };
        // A device's own requests are its right: rules can only take it away.
        let decides =
            rules.iter().enumerate().find_map(|(at, rule)| Some((at, rule.effect_on(who, verb, asked)?)));
        match decides {
            Some((_, Effect::Allow)) | None if is_own => TopicDecision::Own,
            Some((at, effect)) => TopicDecision::Rule(at + 1, effect),
            None => TopicDecision::NoRule,
        }
    }

    /// The part of a filter, `$share/group/filter` included, that `who` is granted. It is granted
    /// where one rule allows all of it before another one denies all of it. A rule before that,
    /// which denies a part, holds at delivery.
    pub fn granted(&self, who: &Principal<'_>, asked: &str) -> Granted {
        let Some(filter) = unshared(asked).filter(|filter| pattern::is_filter(filter) && !is_own(filter))
        else {
            return Granted::Nothing;
        };
        let Some(rules) = &self.0 else { return Granted::Whole };
        let mut granted = Granted::Whole;
        for rule in rules {
            match rule.effect_on_filter(who, filter) {
                None => {}
                Some((Effect::Allow, _)) => return granted,
                Some((Effect::Deny, Extent::All)) => return Granted::Nothing,
                Some((Effect::Deny, Extent::Part)) => granted = Granted::Partly,
            }
        }
        Granted::Nothing
    }
}

/// Whether a topic, or all that a filter selects, belongs to devices' requests about themselves.
pub fn is_own(topic: &str) -> bool {
    topic.strip_prefix(OWN_PREFIX).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether it is a topic in which a server speaks of itself (MQTT 5.0, 4.7.2).
fn is_servers_own(topic: &str) -> bool {
    topic.strip_prefix("$SYS").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The filter of a shared subscription (MQTT 5.0, 4.8.2), or the filter itself; `None` for a shared
/// subscription without a group or filter, or with a wildcard in the group.
fn unshared(asked: &str) -> Option<&str> {
    let Some(shared) = asked.strip_prefix("$share/") else {
        return (asked != "$share").then_some(asked);
    };
    let (group, filter) = shared.split_once('/')?;
    (!group.is_empty() && !group.contains(['+', '#'])).then_some(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_and_filters_below_the_prefix_are_devices_own() {
        for (topic, own) in [
            ("me/opened", true),
            ("me/#", true),
            ("me/+", true),
            ("me/", true),
            ("me", false),
            ("mean/opened", false),
            ("uplink/me/opened", false),
            ("#", false),
            ("+/opened", false),
        ] {
            assert_eq!(is_own(topic), own, "{topic}");
        }
    }

    #[test]
    fn the_rule_that_decides_is_named() {
        let rule = |allow: &str, deny: &str, topics: &str| TopicRule {
            allow: allow.split_whitespace().map(str::to_owned).collect(),
            deny: deny.split_whitespace().map(str::to_owned).collect(),
            topics: vec![topics.to_owned()],
            ..TopicRule::default()
        };
        let rules = [rule("", "subscribe", "plant/secret"), rule("publish subscribe", "", "plant/#")];
        let rules = TopicRules::new(&rules).expect("rules");
        let who = Principal { user: "", client_id: "d1", groups: &[], via: Via::Anonymous };
        let cases = [
            (Verb::StreamSubscribe, "plant/secret", "denied by rule 1"),
            (Verb::StreamPublish, "plant/secret", "allowed by rule 2"),
            (Verb::StreamRetain, "plant/x", "allowed by rule 2"),
            (Verb::StreamSubscribe, "$share/g/plant/x", "allowed by rule 2"),
            (Verb::StreamPublish, "other", "denied: no rule applies"),
            (Verb::StreamPublish, "plant/+", "denied to everybody"),
            (Verb::StreamSubscribe, "me/opened", "denied to everybody"),
            (Verb::QueuePut, "plant/x", "denied to everybody"),
        ];
        for (verb, topic, says) in cases {
            assert_eq!(rules.decide(&who, verb, topic).to_string(), says, "{verb} {topic}");
        }
        let named = TopicRules::new(&[rule("publish subscribe", "", "$SYS/#")]).expect("rules");
        assert_eq!(named.decide(&who, Verb::StreamPublish, "$SYS/x"), TopicDecision::Nobody);
        assert!(named.decide(&who, Verb::StreamSubscribe, "$SYS/#").is_allowed());
        let own = rules.decide(&who, Verb::StreamPublish, "me/opened");
        assert_eq!(own, TopicDecision::Own);
        let trial = TopicRules::everything();
        assert_eq!(trial.decide(&who, Verb::StreamPublish, "$SYS/x"), TopicDecision::Nobody);
        assert_eq!(trial.decide(&who, Verb::StreamPublish, "x"), TopicDecision::Trial);
    }
}
