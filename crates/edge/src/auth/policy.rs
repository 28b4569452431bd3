//! The rules over topics that are in force, for every path that moves a message: publish,
//! subscribe, deliver, retained, will, replay.
//!
//! [`stadium_grants::topics`] decides. Delivery asks for `stream.subscribe` of the message's own
//! topic: who may subscribe to a topic may read it, and whenever a filter is allowed, so is each
//! topic that it matches.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use serde::Deserialize;
use stadium_grants::Verb;
use stadium_grants::topics::{Granted, Principal, TopicDecision, TopicRule, TopicRules};
use stadium_mqtt::broker::{Action, Grant};

use super::{Error, RulesConfig};

/// The rules in force. Shared by all loops, replaced as a whole by [`Policy::reload`].
#[derive(Debug)]
pub struct Policy {
    source: RulesConfig,
    rules: ArcSwap<TopicRules>,
    version: AtomicU64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    #[serde(default)]
    rule: Vec<TopicRule>,
}

impl Policy {
    /// Reads and compiles the rules.
    ///
    /// # Errors
    /// The file cannot be read, or a rule is wrong.
    pub fn open(source: RulesConfig) -> Result<Self, Error> {
        let rules = ArcSwap::from_pointee(read(&source)?);
        Ok(Self { source, rules, version: AtomicU64::new(1) })
    }

    /// The policy of the trial mode.
    pub fn everything() -> Self {
        Self {
            source: RulesConfig::Everything,
            rules: ArcSwap::from_pointee(TopicRules::everything()),
            version: AtomicU64::new(1),
        }
    }

    /// Reads the rules again.
    ///
    /// # Errors
    /// As [`Self::open`]; the rules in force stay.
    pub fn reload(&self) -> Result<(), Error> {
        let rules = read(&self.source)?;
        // First the rules, then their number: a thread that sees the number decides by its rules.
        self.rules.store(Arc::new(rules));
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// A number that changes with the rules, for callers that keep verdicts. Read it before asking.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The decision of [`TopicRules::decide`].
    pub fn decide(&self, who: &Principal<'_>, verb: Verb, asked: &str) -> TopicDecision {
        self.rules.load().decide(who, verb, asked)
    }

    /// Whether `who` may do this.
    pub fn allows(&self, who: &Principal<'_>, verb: Verb, asked: &str) -> bool {
        self.decide(who, verb, asked).is_allowed()
    }

    /// The part of a filter that `who` is granted ([`TopicRules::granted`]).
    pub fn grant(&self, who: &Principal<'_>, asked: &str) -> Grant {
        match self.rules.load().granted(who, asked) {
            Granted::Whole => Grant::Whole,
            Granted::Partly => Grant::Partly,
            Granted::Nothing => Grant::Denied,
        }
    }
}

/// The verb that an action of the broker asks for.
pub(crate) fn verb_of(action: Action) -> Verb {
    match action {
        Action::Publish => Verb::StreamPublish,
        Action::Retain => Verb::StreamRetain,
        Action::Subscribe => Verb::StreamSubscribe,
    }
}

fn read(source: &RulesConfig) -> Result<TopicRules, Error> {
    let (path, rules) = match source {
        RulesConfig::Everything => return Ok(TopicRules::everything()),
        RulesConfig::Default => (None, TopicRules::default_rules()),
        RulesConfig::Inline(rules) => (None, rules.clone()),
        RulesConfig::File(path) => (Some(path), read_file(path)?),
    };
    TopicRules::new(&rules).map_err(|problem| Error::Rules { path: path.cloned(), problem })
}

fn read_file(path: &PathBuf) -> Result<Vec<TopicRule>, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::File { path: path.clone(), source })?;
    let file: RulesFile = toml::from_str(&text)
        .map_err(|error| Error::Rules { path: Some(path.clone()), problem: error.to_string() })?;
    Ok(file.rule)
}
