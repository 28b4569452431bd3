//! One grant: a verb, a pattern of resources, a limit.
//!
//! Its text is the form that people write, files keep and the API takes.

use std::fmt;
use std::str::FromStr;

use crate::invalid::Invalid;
use crate::limit::Limit;
use crate::verb::{Kind, Verb};

/// Bytes of a resource in a grant or a request.
pub const RESOURCE_BYTES_MAX: usize = 1_024;

/// The right to do something with some resources, at some rate.
///
/// Written `VERB`, `VERB:PATTERN` or `VERB:PATTERN LIMIT`. A pattern is a name, or the beginning of
/// names and `*`; without one the grant means every resource of the verb that is not reserved
/// ([`Verb::reserved`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    verb: Verb,
    pattern: String,
    limit: Option<Limit>,
}

impl Grant {
    /// A grant of a verb on the resources of a pattern, without a limit.
    ///
    /// # Errors
    /// The pattern is empty, too long, has spaces or control characters, a `*` before its end, or
    /// names no resource of the verb.
    pub fn new(verb: Verb, pattern: &str) -> Result<Self, Invalid> {
        let wrong = |reason: &str| Err(Invalid(format!("`{verb}:{pattern}`: {reason}")));
        if pattern.is_empty() || pattern.len() > RESOURCE_BYTES_MAX {
            return wrong(&format!("a pattern has 1 to {RESOURCE_BYTES_MAX} bytes"));
        }
        if pattern.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return wrong("a pattern has no spaces and no control characters");
        }
        let name = pattern.strip_suffix('*').unwrap_or(pattern);
        if name.contains('*') {
            return wrong("`*` stands at the end of a pattern");
        }
        match verb.kind() {
            Kind::Node if pattern != "*" => return wrong("the verb takes no resource"),
            Kind::App if name.contains('/') => return wrong("the resource is an app: `shop`"),
            Kind::OfApp if pattern == name && !name.contains('/') => {
                return wrong("the resource is `APP/NAME`, or `APP/*` for all of an app");
            }
            _ => {}
        }
        if verb == Verb::WalletTransfer && pattern != "*" && !name.starts_with("debit=") {
            return wrong("the resource is the wallet that pays: `debit=WALLET` or `debit=u-*`");
        }
        Ok(Self { verb, pattern: pattern.to_owned(), limit: None })
    }

    /// The same with a limit.
    #[must_use]
    pub fn limited(mut self, limit: Option<Limit>) -> Self {
        self.limit = limit;
        self
    }

    /// The verb.
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// The pattern of resources; `*` for all of them.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The limit of its use.
    pub fn limit(&self) -> Option<Limit> {
        self.limit
    }

    /// Whether it means this resource. A resource that ends with `*` stands for all that begin so,
    /// and is meant only as a whole; reserved names are not looked for in it.
    pub fn means(&self, resource: &str) -> bool {
        let fits = match self.pattern.strip_suffix('*') {
            Some(beginning) => resource.starts_with(beginning),
            None => resource == self.pattern,
        };
        fits && self
            .verb
            .reserved()
            .iter()
            .all(|reserved| !resource.starts_with(reserved) || self.pattern.starts_with(reserved))
    }

    /// Whether it means every resource of its verb that is not reserved.
    pub(crate) fn means_all(&self) -> bool {
        self.pattern == "*"
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.verb.fmt(f)?;
        if self.verb.kind() != Kind::Node {
            write!(f, ":{}", self.pattern)?;
        }
        self.limit.map_or(Ok(()), |limit| write!(f, " {limit}"))
    }
}

impl FromStr for Grant {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (right, limit) = match text.split_once(' ') {
            Some((right, limit)) => (right, Some(limit.parse()?)),
            None => (text, None),
        };
        let (verb, pattern) = right.split_once(':').unwrap_or((right, "*"));
        Ok(Self::new(verb.parse()?, pattern)?.limited(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(text: &str) -> Grant {
        text.parse().expect("a test's grant is right")
    }

    #[test]
    fn a_pattern_means_its_names_and_no_others() {
        let cases = [
            ("queue.put:votes", "votes", true),
            ("queue.put:votes", "votes2", false),
            ("queue.put:votes*", "votes2", true),
            ("queue.put:votes*", "vote", false),
            ("queue.put", "anything", true),
            ("device.read:shop/*", "shop/phone", true),
            ("device.read:shop/*", "shop/*", true),
            ("device.read:shop/*", "shop2/phone", false),
            ("device.read:shop/*", "*", false),
            ("device.read", "*", true),
            ("queue.put:a*", "*", false),
        ];
        for (text, resource, means) in cases {
            assert_eq!(grant(text).means(resource), means, "{text} and {resource}");
        }
    }

    #[test]
    fn reserved_names_are_meant_only_where_the_pattern_says_so() {
        let cases = [
            ("queue.put", "events.shop.crm", false),
            ("queue.put:*", "stadium.jobs", false),
            ("queue.put:e*", "events.shop.crm", false),
            ("queue.put:events.*", "events.shop.crm", true),
            ("queue.put:events.shop.*", "events.other.crm", false),
            ("queue.read", "events.shop.crm", true),
            ("wallet.transfer:debit=*", "debit=@bank", false),
            ("wallet.transfer", "debit=@bank", false),
            ("wallet.transfer:debit=@bank", "debit=@bank", true),
            ("wallet.transfer:debit=*", "debit=u-7", true),
        ];
        for (text, resource, means) in cases {
            assert_eq!(grant(text).means(resource), means, "{text} and {resource}");
        }
    }

    #[test]
    fn grants_are_read_and_written() {
        for (text, written) in [
            ("node.read", "node.read"),
            ("queue.put", "queue.put:*"),
            ("push.send:shop 50/s,1000B/s", "push.send:shop 50/s,1000B/s"),
        ] {
            assert_eq!(grant(text).to_string(), written);
            assert_eq!(grant(written), grant(text));
        }
        for wrong in [
            "",
            "queue.fly",
            "queue.put:",
            "queue.put:a*b",
            "queue.put:a b",
            "queue.put:a\u{7}",
            "node.read:x",
            "push.send:shop/phone",
            "device.read:shop",
            "wallet.transfer:alice",
            "queue.put:a 5",
        ] {
            assert!(wrong.parse::<Grant>().is_err(), "{wrong}");
        }
    }
}
