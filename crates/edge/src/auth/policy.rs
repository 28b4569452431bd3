//! The rules over topics that are in force, for every path that moves a message: publish,
//! subscribe, deliver, retained, will, replay.
//!
//! [`stadium_grants::topics`] decides. Delivery asks for `stream.subscribe` of the message's own
//! topic: who may subscribe to a topic may read it, and whenever a filter is allowed, so is each
//! topic that it matches.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use stadium_grants::Verb;
use stadium_grants::topics::{Granted, Principal, TopicDecision, TopicRule, TopicRules};
use stadium_mqtt::broker::{Action, Grant};

use super::rules_file::{self, Read, RuleMistake};
use super::{Error, RulesConfig};

/// The rules in force. Shared by all loops, replaced as a whole by [`Policy::reload`] and
/// [`Policy::set`].
#[derive(Debug)]
pub struct Policy {
    source: RulesConfig,
    rules: ArcSwap<InForce>,
    version: AtomicU64,
    /// Held while they are replaced.
    changing: Mutex<()>,
}

#[derive(Debug)]
struct InForce {
    compiled: TopicRules,
    written: Vec<TopicRule>,
    /// The text of the file that they were read from, if any.
    of_file: Option<String>,
}

/// The rules in force, as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesInForce {
    /// The file that they are in; none where they are the default rules, or where there are none.
    pub file: Option<PathBuf>,
    /// Whether everything is allowed: trial mode without a rules file.
    pub is_trial: bool,
    /// Names this state of them; the same rules have the same name.
    pub fingerprint: String,
    /// The rules, in their order.
    pub rules: Vec<TopicRule>,
}

/// New rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewRules {
    /// As a list.
    List(Vec<TopicRule>),
    /// As the text of a rules file, which is kept with its comments.
    Text(String),
}

/// Reasons for which rules were not replaced; nothing was changed.
#[derive(Debug)]
pub enum NotSet {
    /// A rule is wrong.
    Mistake(RuleMistake),
    /// The rules in force are others than the caller expects: the name of theirs.
    Changed(String),
    /// The file was edited since it was read.
    Edited(PathBuf),
    /// The rules are no file: trial mode, or rules of the configuration.
    NoFile,
    /// The file cannot be written.
    File(PathBuf, io::Error),
}

impl Policy {
    /// Reads and compiles the rules.
    ///
    /// # Errors
    /// The file cannot be read, or a rule is wrong.
    pub fn open(source: RulesConfig) -> Result<Self, Error> {
        let rules = ArcSwap::from_pointee(read(&source)?);
        Ok(Self { source, rules, version: AtomicU64::new(1), changing: Mutex::default() })
    }

    /// The policy of the trial mode.
    pub fn everything() -> Self {
        Self {
            source: RulesConfig::Everything,
            rules: ArcSwap::from_pointee(InForce::everything()),
            version: AtomicU64::new(1),
            changing: Mutex::default(),
        }
    }

    /// Reads the rules again.
    ///
    /// # Errors
    /// As [`Self::open`]; the rules in force stay.
    pub fn reload(&self) -> Result<(), Error> {
        let _changing = self.changing.lock();
        self.replace(read(&self.source)?);
        Ok(())
    }

    /// The rules in force.
    pub fn in_force(&self) -> RulesInForce {
        let rules = self.rules.load();
        RulesInForce {
            file: self.file().filter(|_| rules.of_file.is_some()).map(Path::to_path_buf),
            is_trial: matches!(self.source, RulesConfig::Everything),
            fingerprint: rules.fingerprint(),
            rules: rules.written.clone(),
        }
    }

    /// Writes new rules to their file and puts them into force. Where `expected` is given, the rules
    /// in force must have one of these names. Blocks on the disk.
    ///
    /// # Errors
    /// [`NotSet`]; the rules in force stay, and the file too.
    pub fn set(&self, new: NewRules, expected: Option<&[String]>) -> Result<RulesInForce, NotSet> {
        let path = self.file().ok_or(NotSet::NoFile)?;
        let (read, text) = match new {
            NewRules::List(rules) => {
                let read = rules_file::compile(rules).map_err(NotSet::Mistake)?;
                let text = rules_file::text(&read.written);
                (read, text)
            }
            NewRules::Text(text) => (rules_file::parse(&text).map_err(NotSet::Mistake)?, text),
        };
        let changing = self.changing.lock();
        let present = self.rules.load();
        let name = present.fingerprint();
        if expected.is_some_and(|expected| !expected.contains(&name)) {
            return Err(NotSet::Changed(name));
        }
        let there = match std::fs::read_to_string(path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(NotSet::File(path.to_owned(), error)),
        };
        if there != present.of_file {
            return Err(NotSet::Edited(path.to_owned()));
        }
        rules_file::replace(path, &text).map_err(|error| NotSet::File(path.to_owned(), error))?;
        self.replace(InForce::of(read, Some(text)));
        drop(changing);
        Ok(self.in_force())
    }

    /// The file that holds the rules, or would.
    fn file(&self) -> Option<&Path> {
        match &self.source {
            RulesConfig::File(path) | RulesConfig::Kept(path) => Some(path),
            RulesConfig::Default | RulesConfig::Everything | RulesConfig::Inline(_) => None,
        }
    }

    fn replace(&self, rules: InForce) {
        // First the rules, then their number: a thread that sees the number decides by its rules.
        self.rules.store(Arc::new(rules));
        self.version.fetch_add(1, Ordering::Release);
    }

    /// A number that changes with the rules, for callers that keep verdicts. Read it before asking.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The decision of [`TopicRules::decide`].
    pub fn decide(&self, who: &Principal<'_>, verb: Verb, asked: &str) -> TopicDecision {
        self.rules.load().compiled.decide(who, verb, asked)
    }

    /// Whether `who` may do this.
    pub fn allows(&self, who: &Principal<'_>, verb: Verb, asked: &str) -> bool {
        self.decide(who, verb, asked).is_allowed()
    }

    /// The part of a filter that `who` is granted ([`TopicRules::granted`]).
    pub fn grant(&self, who: &Principal<'_>, asked: &str) -> Grant {
        match self.rules.load().compiled.granted(who, asked) {
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

impl InForce {
    fn of(read: Read, of_file: Option<String>) -> Self {
        Self { compiled: read.compiled, written: read.written, of_file }
    }

    fn everything() -> Self {
        Self { compiled: TopicRules::everything(), written: Vec::new(), of_file: None }
    }

    fn fingerprint(&self) -> String {
        rules_file::fingerprint(&rules_file::text(&self.written))
    }
}

fn read(source: &RulesConfig) -> Result<InForce, Error> {
    let rules = match source {
        RulesConfig::Everything => return Ok(InForce::everything()),
        RulesConfig::Default => TopicRules::default_rules(),
        RulesConfig::Inline(rules) => rules.clone(),
        RulesConfig::File(path) => return read_file(path),
        RulesConfig::Kept(path) => match read_file(path) {
            Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                TopicRules::default_rules()
            }
            read => return read,
        },
    };
    let read = rules_file::compile(rules)
        .map_err(|mistake| Error::Rules { path: None, problem: mistake.to_string() })?;
    Ok(InForce::of(read, None))
}

fn read_file(path: &Path) -> Result<InForce, Error> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
    let read = rules_file::parse(&text)
        .map_err(|mistake| Error::Rules { path: Some(path.to_owned()), problem: mistake.to_string() })?;
    Ok(InForce::of(read, Some(text)))
}
