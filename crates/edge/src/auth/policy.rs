//! The one authorisation function.
//!
//! [`Policy::allows`] is asked by every path that moves a message: publish, subscribe, deliver, retained,
//! will, replay. Delivery asks for [`Action::Subscribe`] of the message's own topic: what may be subscribed to
//! may be read, and whenever a filter is allowed, so is each topic that it matches. Nothing is allowed unless
//! a rule states it. A check takes tens of nanoseconds for a few rules, and never allocates.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use stadium_mqtt::broker::Grant;

use super::rules::{self, Effect, Rule, RuleConfig, Share};
use super::{Error, RulesConfig, Via, pattern};
use crate::requests;

/// Who asks.
#[derive(Debug, Clone, Copy)]
pub struct Principal<'a> {
    /// What `%u` stands for; empty for an anonymous device.
    pub user: &'a str,
    /// What `%c` stands for.
    pub client_id: &'a str,
    /// Groups of the identity.
    pub groups: &'a [Arc<str>],
    /// How the identity was proved.
    pub via: Via,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// To publish to a topic without RETAIN, by a PUBLISH packet or by a will.
    Publish,
    /// The same with RETAIN: to set or remove the topic's retained message.
    Retain,
    /// To subscribe to a filter, or to be handed a message of a topic.
    Subscribe,
}

/// The rules in force. Shared by all loops, replaced as a whole by [`Policy::reload`].
#[derive(Debug)]
pub struct Policy {
    source: RulesConfig,
    rules: ArcSwap<Compiled>,
    version: AtomicU64,
}

#[derive(Debug)]
enum Compiled {
    Everything,
    Rules(Box<[Rule]>),
}

impl Policy {
    /// Reads and compiles the rules.
    pub fn open(source: RulesConfig) -> Result<Self, Error> {
        let rules = ArcSwap::from_pointee(Compiled::read(&source)?);
        Ok(Self { source, rules, version: AtomicU64::new(1) })
    }

    /// A policy that allows every well-formed topic and filter, but nobody to publish to `$SYS`. For the trial mode.
    pub fn everything() -> Self {
        Self {
            source: RulesConfig::Everything,
            rules: ArcSwap::from_pointee(Compiled::Everything),
            version: AtomicU64::new(1),
        }
    }

    /// Reads the rules again. On an error the rules in force stay.
    pub fn reload(&self) -> Result<(), Error> {
        let rules = Compiled::read(&self.source)?;
        // First the rules, then their number: a thread that sees the new number decides by the new
        // rules.
        self.rules.store(Arc::new(rules));
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// A number that changes with the rules, for callers that keep verdicts. Read it before asking.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether `who` may do this.
    ///
    /// `asked` is a topic name for [`Action::Publish`] and [`Action::Retain`], and a topic name or
    /// filter for [`Action::Subscribe`]; there `$share/group/filter` is checked as `filter`.
    /// Malformed text is denied. Topics that start with `$` are denied unless a rule names their
    /// first level. Publishing to `me/...` is allowed unless a rule denies it;
    /// subscribing there is denied.
    pub fn allows(&self, who: &Principal<'_>, action: Action, asked: &str) -> bool {
        let asked = match action {
            Action::Publish | Action::Retain if pattern::is_name(asked) => asked,
            Action::Publish | Action::Retain => return false,
            Action::Subscribe => match unshared(asked) {
                Some(filter) if pattern::is_filter(filter) => filter,
                _ => return false,
            },
        };
        // A device's own requests are its right: rules can only take it away. Nobody reads them.
        let is_own = requests::is_own(asked);
        if is_own && action == Action::Subscribe {
            return false;
        }
        match &**self.rules.load() {
            Compiled::Everything => action == Action::Subscribe || !is_servers_own(asked),
            Compiled::Rules(rules) => {
                let effect = rules.iter().find_map(|rule| rule.effect_on(who, action, asked));
                if is_own { effect != Some(Effect::Deny) } else { effect == Some(Effect::Allow) }
            }
        }
    }

    /// What `who` is granted of a filter, `$share/group/filter` included. It is granted where one rule allows all of
    /// it before another one denies all of it. A rule before that, which denies a part, holds at delivery.
    pub fn grant(&self, who: &Principal<'_>, asked: &str) -> Grant {
        let Some(filter) = unshared(asked).filter(|filter| pattern::is_filter(filter)) else {
            return Grant::Denied;
        };
        if requests::is_own(filter) {
            return Grant::Denied;
        }
        let rules = self.rules.load();
        let Compiled::Rules(rules) = &**rules else { return Grant::Whole };
        let mut granted = Grant::Whole;
        for rule in rules {
            match rule.share_of(who, filter) {
                None => {}
                Some((Effect::Allow, _)) => return granted,
                Some((Effect::Deny, Share::All)) => return Grant::Denied,
                Some((Effect::Deny, Share::Part)) => granted = Grant::Partly,
            }
        }
        Grant::Denied
    }
}

impl Compiled {
    fn read(source: &RulesConfig) -> Result<Self, Error> {
        let in_configuration = |rules: &[RuleConfig]| {
            rules::compile(rules).map_err(|problem| Error::Rules { path: None, problem })
        };
        Ok(Self::Rules(match source {
            RulesConfig::Everything => return Ok(Self::Everything),
            RulesConfig::Default => in_configuration(&rules::default_rules())?,
            RulesConfig::Inline(rules) => in_configuration(rules)?,
            RulesConfig::File(path) => read_file(path)?,
        }))
    }
}

fn read_file(path: &PathBuf) -> Result<Box<[Rule]>, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::File { path: path.clone(), source })?;
    rules::parse(&text).map_err(|problem| Error::Rules { path: Some(path.clone()), problem })
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
