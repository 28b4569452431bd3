//! The nodes that links may be made with, and the latest start that is known of each.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::hello::{Hello, Incarnation, NodeName};
use super::outcome::Refusal;

/// The members of the cluster besides this node.
#[derive(Debug, Default)]
pub struct Members {
    known: HashMap<NodeName, Incarnation, RandomState>,
}

/// A node that is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Its incarnation was known.
    Known,
    /// It started again: links with earlier incarnations are to be ended.
    Later,
}

impl Members {
    /// Adds a member, or states that an incarnation of it is known. An earlier one than is known
    /// changes nothing. Returns whether links with earlier incarnations are to be ended.
    pub fn insert(&mut self, node: NodeName, incarnation: Incarnation) -> Arrival {
        match self.known.get_mut(&node) {
            Some(known) if *known < incarnation => {
                *known = incarnation;
                Arrival::Later
            }
            Some(_) => Arrival::Known,
            None => {
                self.known.insert(node, incarnation);
                Arrival::Later
            }
        }
    }

    /// Removes a member. Returns whether it was one.
    pub fn remove(&mut self, node: &NodeName) -> bool {
        self.known.remove(node).is_some()
    }

    /// The latest incarnation that is known of a member.
    pub fn incarnation(&self, node: &NodeName) -> Option<Incarnation> {
        self.known.get(node).copied()
    }

    /// Decides about the other half of a connection by its hello, and remembers its incarnation.
    ///
    /// # Errors
    ///
    /// Why it is refused. Nothing is remembered then.
    pub fn judge(&mut self, us: &Hello, them: &Hello) -> Result<Arrival, Refusal> {
        if us.cluster != them.cluster {
            return Err(Refusal::Cluster);
        }
        if us.versions.common(&them.versions).is_none() {
            return Err(Refusal::Versions { theirs: them.versions, ours: us.versions });
        }
        if us.levels.common(&them.levels).is_none() {
            return Err(Refusal::Levels { theirs: them.levels, ours: us.levels });
        }
        let Some(known) = self.known.get_mut(&them.node) else {
            return Err(Refusal::NotAMember(them.node.clone()));
        };
        if them.incarnation < *known {
            return Err(Refusal::OldIncarnation { stated: them.incarnation, known: *known });
        }
        let arrival = if *known < them.incarnation { Arrival::Later } else { Arrival::Known };
        *known = them.incarnation;
        Ok(arrival)
    }
}

#[cfg(test)]
mod tests {
    use stadium_journal_log::ClusterId;

    use super::super::hello::{Lane, Range, VERSIONS};
    use super::super::settings::Bounds;
    use super::*;

    fn hello(node: &str, incarnation: u64) -> Hello {
        Hello {
            cluster: ClusterId(1),
            node: NodeName::new(node).expect("a name"),
            incarnation: Incarnation(incarnation),
            versions: VERSIONS,
            levels: Range { first: 2, last: 3 },
            lane: Lane::Data,
            loop_index: 0,
            credit: Bounds { messages: 1, bytes: 1 },
        }
    }

    #[test]
    fn each_reason_to_refuse_a_node_has_its_code() {
        let us = hello("us", 1);
        let mut members = Members::default();
        members.insert(hello("them", 0).node, Incarnation(5));
        let cases = [
            (Hello { cluster: ClusterId(2), ..hello("them", 5) }, "CLU-201"),
            (hello("stranger", 5), "CLU-202"),
            (hello("them", 4), "CLU-204"),
            (Hello { versions: Range { first: 2, last: 9 }, ..hello("them", 5) }, "CLU-205"),
            (Hello { levels: Range { first: 0, last: 1 }, ..hello("them", 5) }, "CLU-205"),
        ];
        for (them, code) in cases {
            let refusal = members.judge(&us, &them).expect_err(code);
            assert_eq!(refusal.code(), code, "{refusal}");
            assert!(refusal.to_string().contains(code));
        }
    }

    #[test]
    fn a_later_incarnation_is_let_in_and_ends_the_earlier() {
        let us = hello("us", 1);
        let mut members = Members::default();
        members.insert(hello("them", 0).node, Incarnation(5));
        assert_eq!(members.judge(&us, &hello("them", 5)), Ok(Arrival::Known));
        assert_eq!(members.judge(&us, &hello("them", 7)), Ok(Arrival::Later));
        assert!(members.judge(&us, &hello("them", 6)).is_err());
        // The store's word that is older than the node's own changes nothing.
        assert_eq!(members.insert(hello("them", 0).node, Incarnation(6)), Arrival::Known);
        assert!(members.judge(&us, &hello("them", 6)).is_err());
    }
}
