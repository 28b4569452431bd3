//! The grants that a principal holds, and the decision.
//!
//! Every door asks here: [`Asking`] is one request, [`Grants::decide`] the one function.

use std::fmt;
use std::time::Duration;

use crate::grant::Grant;
use crate::invalid::Invalid;
use crate::limit::Bucket;
use crate::role::Role;
use crate::verb::{Kind, Verb};

/// Grants that one principal may hold.
pub const GRANTS_MAX: usize = 1_024;

/// The origin of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A role of the principal.
    Role(Role),
    /// The principal's own list.
    Own,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Role(role) => write!(f, "the role `{role}`"),
            Self::Own => f.write_str("a grant of its own"),
        }
    }
}

/// A grant of a principal, with its origin and its use.
#[derive(Debug)]
pub struct Held {
    grant: Grant,
    source: Source,
    bucket: Bucket,
}

impl Held {
    /// The grant.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Its origin.
    pub fn source(&self) -> Source {
        self.source
    }
}

/// The answer to: may this principal do that?
#[derive(Clone, Copy, Debug)]
pub enum Decision<'a> {
    /// This grant allows it.
    Allowed(&'a Held),
    /// This grant would allow it, after that time.
    Limited(&'a Held, Duration),
    /// No grant means it.
    Denied,
}

impl Decision<'_> {
    /// Whether it may be done now.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }
}

/// A request that was not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The verb that it asked for.
    pub verb: Verb,
    /// The resource that it named.
    pub resource: String,
    /// The time after which its grant has room again; none where there is no grant.
    pub after: Option<Duration>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, resource, after } = self;
        let name = match verb.kind() {
            Kind::Node => verb.word().to_owned(),
            _ => format!("{verb}:{resource}"),
        };
        match after {
            None => write!(f, "this needs the right `{name}`"),
            Some(_) => write!(f, "the limit of the grant for `{name}` is reached"),
        }
    }
}

impl std::error::Error for Refused {}

/// A request of a principal.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// The grants of the principal.
    pub grants: &'a Grants,
    /// Bytes of the request's body.
    pub bytes: u64,
    /// The time, of a clock that only goes forward and is the same for all requests of the
    /// principal.
    pub now: Duration,
}

impl Asking<'_> {
    /// Whether the request may do this.
    ///
    /// # Errors
    /// No grant means it, or the limits of those that do are reached.
    pub fn may(&self, verb: Verb, resource: &str) -> Result<(), Refused> {
        let after = match self.grants.decide(verb, resource, self.bytes, self.now) {
            Decision::Allowed(_) => return Ok(()),
            Decision::Limited(_, wait) => Some(wait),
            Decision::Denied => None,
        };
        Err(Refused { verb, resource: resource.to_owned(), after })
    }

    /// Whether the request may do this beside the thing for which it was counted.
    ///
    /// # Errors
    /// No grant means it.
    pub fn may_also(&self, verb: Verb, resource: &str) -> Result<(), Refused> {
        match self.grants.allows(verb, resource) {
            true => Ok(()),
            false => Err(Refused { verb, resource: resource.to_owned(), after: None }),
        }
    }

    /// Whether the request may do this to each of several resources. It counts once.
    ///
    /// # Errors
    /// As [`Self::may`], of the first that is not allowed.
    pub fn may_each<'r>(
        self,
        verb: Verb,
        resources: impl IntoIterator<Item = &'r str>,
    ) -> Result<(), Refused> {
        let mut parts = self.parts();
        resources.into_iter().try_for_each(|resource| parts.may(verb, resource))
    }
}

impl<'a> Asking<'a> {
    /// The request as one of several parts, which come to be known one by one.
    pub fn parts(self) -> Parts<'a> {
        Parts { asking: self, is_counted: false }
    }
}

/// A request of several parts: it counts once against the limits, for its first part.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    asking: Asking<'a>,
    is_counted: bool,
}

impl Parts<'_> {
    /// Whether the request may have this part.
    ///
    /// # Errors
    /// As [`Asking::may`] of the first part, and as [`Asking::may_also`] of each further one.
    pub fn may(&mut self, verb: Verb, resource: &str) -> Result<(), Refused> {
        match std::mem::replace(&mut self.is_counted, true) {
            false => self.asking.may(verb, resource),
            true => self.asking.may_also(verb, resource),
        }
    }
}

/// All grants of a principal, by verb.
#[derive(Debug, Default)]
pub struct Grants {
    held: Vec<Held>,
    /// Where the grants of each verb begin in `held`, and where the last ones end.
    begins: Vec<u16>,
}

impl Grants {
    /// The grants of roles, and further ones. Where `apps` is given, the roles mean these apps.
    ///
    /// # Errors
    /// The name of an app is no pattern, or there are more than [`GRANTS_MAX`] grants.
    pub fn new(roles: &[Role], apps: Option<&[String]>, own: &[Grant]) -> Result<Self, Invalid> {
        let held = |source| move |grant| Held { grant, source, bucket: Bucket::default() };
        let mut all: Vec<Held> = own.iter().cloned().map(held(Source::Own)).collect();
        for role in roles {
            all.extend(role.grants(apps)?.into_iter().map(held(Source::Role(*role))));
        }
        if all.len() > GRANTS_MAX {
            return Err(Invalid(format!("a principal holds {GRANTS_MAX} grants at most")));
        }
        // Within a verb, a grant without a limit is asked first: it decides alone.
        all.sort_by_key(|held| (held.grant.verb(), held.grant.limit().is_some()));
        let place = |verb: &Verb| all.partition_point(|held| held.grant.verb() < *verb) as u16;
        let mut begins: Vec<_> = Verb::ALL.iter().map(place).collect();
        begins.push(all.len() as u16);
        Ok(Self { held: all, begins })
    }

    /// Every right there is.
    pub fn everything() -> Self {
        Self::new(&[Role::Admin], None, &[]).expect("the role has fewer grants than the bound")
    }

    /// All of them, by verb.
    pub fn iter(&self) -> impl Iterator<Item = &Held> {
        self.held.iter()
    }

    /// Those of a verb.
    pub fn of(&self, verb: Verb) -> &[Held] {
        let at = verb as usize;
        match (self.begins.get(at), self.begins.get(at + 1)) {
            (Some(&begin), Some(&end)) => &self.held[usize::from(begin)..usize::from(end)],
            _ => &[],
        }
    }

    /// Decides whether the principal may do something now, and counts it against the limit of the
    /// grant that allows it.
    ///
    /// `bytes` are those of the request's body, `now` is a time of any clock that only goes
    /// forward.
    pub fn decide(&self, verb: Verb, resource: &str, bytes: u64, now: Duration) -> Decision<'_> {
        let mut limited = None;
        for held in self.of(verb).iter().filter(|held| held.grant.means(resource)) {
            let Some(limit) = held.grant.limit() else { return Decision::Allowed(held) };
            match held.bucket.take(limit, bytes, now) {
                Ok(()) => return Decision::Allowed(held),
                Err(wait) if limited.is_none_or(|(_, least)| wait < least) => limited = Some((held, wait)),
                Err(_) => {}
            }
        }
        limited.map_or(Decision::Denied, |(held, wait)| Decision::Limited(held, wait))
    }

    /// The grant that would decide, whatever its limit; counts nothing.
    pub fn find(&self, verb: Verb, resource: &str) -> Option<&Held> {
        self.of(verb).iter().find(|held| held.grant.means(resource))
    }

    /// Whether it may be done, limits aside.
    pub fn allows(&self, verb: Verb, resource: &str) -> bool {
        self.find(verb, resource).is_some()
    }

    /// Whether every resource of a verb is allowed, reserved ones included.
    pub fn allows_all(&self, verb: Verb) -> bool {
        let held = self.of(verb);
        held.iter().any(|held| held.grant.means_all())
            && verb.reserved().iter().all(|reserved| {
                held.iter().any(|held| held.grant.pattern().strip_suffix('*') == Some(reserved))
            })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn grants(texts: &[&str]) -> Grants {
        let own: Vec<Grant> = texts.iter().map(|text| text.parse().expect("right")).collect();
        Grants::new(&[], None, &own).expect("few")
    }

    #[test]
    fn nothing_is_allowed_without_a_grant() {
        for grants in [Grants::default(), grants(&[])] {
            for &verb in Verb::ALL {
                assert!(!grants.decide(verb, "x", 0, Duration::ZERO).is_allowed());
                assert!(!grants.allows_all(verb));
            }
        }
    }

    #[test]
    fn the_admin_may_do_everything() {
        let admin = Grants::everything();
        for &verb in Verb::ALL {
            assert!(admin.allows_all(verb), "{verb}");
            for resource in ["x", "shop/phone", "events.x", "debit=@bank", "*"] {
                assert!(admin.allows(verb, resource), "{verb}:{resource}");
            }
        }
    }

    #[test]
    fn a_limit_stops_its_own_grant_and_no_other() {
        let grants = grants(&["queue.put:a* 1/s", "queue.put:ab 1/s", "queue.reserve:a* 1/s"]);
        let now = Duration::from_secs(1);
        let first = grants.decide(Verb::QueuePut, "ab", 0, now);
        assert!(matches!(first, Decision::Allowed(held) if held.grant().pattern() == "a*"));
        assert!(grants.decide(Verb::QueuePut, "ab", 0, now).is_allowed(), "by the second grant");
        let third = grants.decide(Verb::QueuePut, "ab", 0, now);
        assert!(matches!(third, Decision::Limited(_, wait) if wait == Duration::from_secs(1)));
        assert!(grants.decide(Verb::QueueReserve, "ab", 0, now).is_allowed());
        assert!(matches!(grants.decide(Verb::QueuePut, "b", 0, now), Decision::Denied));
    }

    #[test]
    fn a_request_about_several_things_counts_once_and_needs_a_grant_for_each() {
        let grants = grants(&["queue.put:a* 1/s"]);
        let asking = |second| Asking { grants: &grants, bytes: 0, now: Duration::from_secs(second) };
        assert_eq!(asking(1).may_each(Verb::QueuePut, ["a1", "a2", "a3"]), Ok(()));
        let refused = asking(1).may(Verb::QueuePut, "a4").expect_err("the second of this second");
        assert_eq!(refused.to_string(), "the limit of the grant for `queue.put:a4` is reached");
        let refused = asking(5).may_each(Verb::QueuePut, ["a1", "b"]).expect_err("b is not its own");
        assert_eq!(refused.to_string(), "this needs the right `queue.put:b`");
        assert_eq!(
            asking(9).may(Verb::NodeRead, "*").expect_err("none").to_string(),
            "this needs the right `node.read`"
        );
        assert_eq!(asking(9).may_each(Verb::QueuePut, []), Ok(()));
    }

    #[test]
    fn too_many_grants_are_refused() {
        let own = vec!["node.read".parse().expect("right"); GRANTS_MAX];
        assert!(Grants::new(&[], None, &own).is_ok());
        assert!(Grants::new(&[Role::Viewer], None, &own).is_err());
    }

    /// A verb and a resource near the patterns of the generated grants.
    fn asks() -> impl Strategy<Value = (usize, String)> {
        let resource = prop_oneof![
            "[ab]{1,3}",
            "(events|stadium)\\.[ab]{0,2}",
            "debit=@?[ab]{0,2}",
            "[ab]{1,2}/[ab]{0,2}",
        ];
        (0..Verb::ALL.len(), resource)
    }

    proptest! {
        /// The decision is the one of the grants read one by one: their order, the roles beside
        /// them and the index by verb change nothing.
        #[test]
        fn the_decision_is_that_of_some_grant(
            patterns in prop::collection::vec((asks(), any::<bool>()), 0..12),
            roles in prop::collection::vec(0..Role::ALL.len(), 0..3),
            asked in asks(),
        ) {
            let own: Vec<Grant> = patterns.iter().filter_map(|((verb, name), open)| {
                let pattern = if *open { format!("{name}*") } else { name.clone() };
                Grant::new(Verb::ALL[*verb], &pattern).ok()
            }).collect();
            let roles: Vec<_> = roles.into_iter().map(|at| Role::ALL[at]).collect();
            let grants = Grants::new(&roles, None, &own).expect("few");
            let (verb, resource) = (Verb::ALL[asked.0], asked.1);
            let every = own.iter().cloned().chain(
                roles.iter().flat_map(|role| role.grants(None).expect("right")));
            let expected = every.into_iter().any(|grant| grant.verb() == verb && grant.means(&resource));
            prop_assert_eq!(grants.allows(verb, &resource), expected);
            prop_assert_eq!(grants.decide(verb, &resource, 0, Duration::ZERO).is_allowed(), expected);
            if grants.allows_all(verb) {
                prop_assert!(grants.allows(verb, &resource));
            }
        }
    }
}
