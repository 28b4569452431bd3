//! Topic names, topic filters and shared subscriptions (MQTT 5.0 sections 4.7 and 4.8.2).
//!
//! A [`TopicName`] or [`TopicFilter`] that exists obeys its rules. Matching many filters at once is the
//! subscription tree's business, see [`crate::broker`].

use std::fmt;

use memchr::{memchr, memchr_iter, memchr2, memchr2_iter};

/// Levels that a server takes by default in a topic name or filter.
///
/// The specification bounds them by the length alone (section 4.7.3). A tree of subscriptions has a node for each level
/// of a filter; 128 is far beyond any real hierarchy and keeps a hostile `////...` of 65,536 levels out of it.
pub const TOPIC_LEVELS_DEFAULT: usize = 128;

/// Why a string is no topic name or filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopicError {
    /// Zero characters [MQTT-4.7.3-1].
    Empty,
    /// A null character [MQTT-4.7.3-2].
    Nul,
    /// More than 65,535 bytes [MQTT-4.7.3-3].
    TooLong,
    /// `+` or `#` in a topic name [MQTT-4.7.1-1].
    WildcardInName,
    /// `#` that is not the last level on its own, or `+` beside other characters [MQTT-4.7.1-1, MQTT-4.7.1-2].
    MisplacedWildcard,
    /// `$share/` with an empty group, one with a wildcard, or without a filter [MQTT-4.8.2-1, MQTT-4.8.2-2].
    BadShare,
}

impl fmt::Display for TopicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the topic is empty",
            Self::Nul => "the topic holds a null character",
            Self::TooLong => "the topic has more than 65,535 bytes",
            Self::WildcardInName => "a topic name holds + or #",
            Self::MisplacedWildcard => "a wildcard does not stand alone in its level, or # is not last",
            Self::BadShare => "a shared subscription needs $share/GROUP/FILTER, with no + or # in GROUP",
        })
    }
}

impl std::error::Error for TopicError {}

/// A valid topic name: 1 to 65,535 bytes, no wildcard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicName<'a>(&'a str);

impl<'a> TopicName<'a> {
    /// Checks the rules of section 4.7.
    pub fn parse(name: &'a str) -> Result<Self, TopicError> {
        check_string(name)?;
        if memchr2(b'+', b'#', name.as_bytes()).is_some() {
            return Err(TopicError::WildcardInName);
        }
        Ok(Self(name))
    }

    /// The name as it was written.
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// Its levels, first to last; an empty level is `""`.
    pub fn levels(self) -> Levels<'a> {
        levels(self.0)
    }

    /// Whether it starts with `$`, so that a leading wildcard doesn't match it [MQTT-4.7.2-1].
    pub fn is_system(self) -> bool {
        self.0.starts_with('$')
    }
}

/// A valid topic filter, not a shared one: wildcards only where the specification allows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicFilter<'a>(&'a str);

impl<'a> TopicFilter<'a> {
    /// Checks the rules of section 4.7. `$share/...` is taken literally here: see [`Subscribed::parse`].
    pub fn parse(filter: &'a str) -> Result<Self, TopicError> {
        check_string(filter)?;
        let bytes = filter.as_bytes();
        for at in memchr2_iter(b'+', b'#', bytes) {
            let opens = at == 0 || bytes[at - 1] == b'/';
            let closes = match bytes.get(at + 1) {
                None => true,
                Some(next) => *next == b'/' && bytes[at] == b'+',
            };
            if !(opens && closes) {
                return Err(TopicError::MisplacedWildcard);
            }
        }
        Ok(Self(filter))
    }

    /// The filter as it was written.
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// Its levels, first to last.
    pub fn levels(self) -> Levels<'a> {
        levels(self.0)
    }

    /// Whether it holds a wildcard.
    pub fn has_wildcard(self) -> bool {
        memchr2(b'+', b'#', self.0.as_bytes()).is_some()
    }

    /// Whether it selects `topic`.
    pub fn matches(self, topic: TopicName<'_>) -> bool {
        matches(self.0, topic.0)
    }

    /// Whether it selects every topic that `inner` selects.
    pub fn covers(self, inner: TopicFilter<'_>) -> bool {
        covers(self.0, inner.0)
    }
}

/// `$share/GROUP/FILTER` taken apart (section 4.8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedFilter<'a> {
    /// The ShareName, not empty, without `/`, `+` and `#`.
    pub group: &'a str,
    /// What its members subscribe to.
    pub filter: TopicFilter<'a>,
}

impl<'a> SharedFilter<'a> {
    /// `None` if `filter` does not start with `$share/`.
    pub fn parse(filter: &'a str) -> Option<Result<Self, TopicError>> {
        let rest = filter.strip_prefix("$share/")?;
        Some(match rest.split_once('/') {
            None | Some(("", _) | (_, "")) => Err(TopicError::BadShare),
            Some((group, _)) if memchr2(b'+', b'#', group.as_bytes()).is_some() => Err(TopicError::BadShare),
            Some((group, filter)) => TopicFilter::parse(filter).map(|filter| Self { group, filter }),
        })
    }
}

/// A filter as it stands in a SUBSCRIBE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subscribed<'a> {
    /// An ordinary subscription.
    Own(TopicFilter<'a>),
    /// A shared one.
    Shared(SharedFilter<'a>),
}

impl<'a> Subscribed<'a> {
    /// Distinguishes a shared filter from an ordinary one and checks its rules.
    pub fn parse(filter: &'a str) -> Result<Self, TopicError> {
        match SharedFilter::parse(filter) {
            Some(shared) => Ok(Self::Shared(shared?)),
            None => Ok(Self::Own(TopicFilter::parse(filter)?)),
        }
    }

    /// Whether the filter, without `$share/GROUP/`, has at most so many levels.
    pub fn has_levels_within(self, levels_max: usize) -> bool {
        let (Self::Own(filter) | Self::Shared(SharedFilter { filter, .. })) = self;
        has_levels_within(filter.as_str(), levels_max)
    }
}

/// Whether a topic is one, or a filter names only such, in which a server speaks of itself:
/// `$SYS/...` (section 4.7.2).
pub fn is_of_server(topic: &str) -> bool {
    topic.strip_prefix("$SYS").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn check_string(topic: &str) -> Result<(), TopicError> {
    let bytes = topic.as_bytes();
    if bytes.is_empty() {
        return Err(TopicError::Empty);
    }
    if bytes.len() > usize::from(u16::MAX) {
        return Err(TopicError::TooLong);
    }
    if memchr(0, bytes).is_some() {
        return Err(TopicError::Nul);
    }
    Ok(())
}

/// The levels of a topic name or filter, see [`levels`].
pub type Levels<'a> = std::str::Split<'a, char>;

/// Whether a topic name or filter has at most so many levels.
pub fn has_levels_within(topic: &str, levels_max: usize) -> bool {
    // As many separators as levels would be one level too many; a shorter string cannot have them.
    topic.len() < levels_max || memchr_iter(b'/', topic.as_bytes()).count() < levels_max
}

/// Splits at `/`.
pub fn levels(topic: &str) -> Levels<'_> {
    topic.split('/')
}

/// Whether the valid filter selects the valid topic name: `sport/#` also selects `sport`, and a leading
/// wildcard selects no topic that starts with `$` [MQTT-4.7.2-1].
pub fn matches(filter: &str, topic: &str) -> bool {
    if topic.starts_with('$') && filter.starts_with(['+', '#']) {
        return false;
    }
    let mut topic_levels = levels(topic);
    for wanted in levels(filter) {
        if wanted == "#" {
            return true;
        }
        match topic_levels.next() {
            Some(level) if wanted == "+" || wanted == level => {}
            _ => return false,
        }
    }
    topic_levels.next().is_none()
}

/// Whether every topic that the valid filter `inner` selects is selected by the valid filter `outer` too.
pub fn covers(outer: &str, inner: &str) -> bool {
    if inner.starts_with('$') && outer.starts_with(['+', '#']) {
        return false;
    }
    // A filter that ends in `#` selects its parent as well, but no topic is empty: so `#` selects no more
    // than `+/#`, nor `/#` more than `/+/#`.
    if matches!((outer, inner), ("+/#", "#") | ("/+/#" | "+/+/#", "/#")) {
        return true;
    }
    let mut inner_levels = levels(inner);
    for wanted in levels(outer) {
        if wanted == "#" {
            return true;
        }
        match inner_levels.next() {
            Some("#") | None => return false,
            Some(level) if wanted == "+" || wanted == level => {}
            Some(_) => return false,
        }
    }
    inner_levels.next().is_none()
}
