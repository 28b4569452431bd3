//! When a node that lost its links gives its shards up.
//!
//! etcd and Kafka may be there while the links between nodes are cut. A node that reaches less than
//! half of the others would be the owner of shards that most of the cluster cannot ask.

use std::time::Duration;

use crate::lease::BootTime;

/// How long a node reaches less than half of the others before it drains.
pub const ISOLATION_MAX: Duration = Duration::from_secs(10);

/// How much of the cluster this node reaches over its links.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reach {
    isolated_since: Option<BootTime>,
}

impl Reach {
    /// `reached` of the `others` answer on their links now.
    pub fn links(&mut self, reached: usize, others: usize, now: BootTime) {
        match reached * 2 < others {
            true => _ = self.isolated_since.get_or_insert(now),
            false => self.isolated_since = None,
        }
    }

    /// Whether the node is to drain and hand over.
    #[must_use]
    pub fn is_isolated(&self, now: BootTime) -> bool {
        self.isolated_since.is_some_and(|since| now.since(since) >= ISOLATION_MAX)
    }

    /// When [`Self::is_isolated`] becomes true if no link comes back.
    #[must_use]
    pub fn deadline(&self) -> Option<BootTime> {
        self.isolated_since.map(|since| since.after(ISOLATION_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> BootTime {
        BootTime(Duration::from_secs(seconds))
    }

    #[test]
    fn a_node_that_reaches_less_than_half_for_ten_seconds_is_isolated() {
        let mut reach = Reach::default();
        reach.links(1, 4, at(0));
        reach.links(0, 4, at(5));
        assert!(!reach.is_isolated(at(9)));
        assert!(reach.is_isolated(at(10)));
        reach.links(2, 4, at(11));
        assert!(!reach.is_isolated(at(60)), "half of them is enough");
    }

    #[test]
    fn a_short_cut_and_a_cluster_of_one_are_not() {
        let mut reach = Reach::default();
        reach.links(0, 2, at(0));
        reach.links(1, 2, at(9));
        reach.links(0, 2, at(10));
        assert!(!reach.is_isolated(at(19)));
        assert_eq!(reach.deadline(), Some(at(20)));
        reach.links(0, 0, at(19));
        assert!(!reach.is_isolated(at(60)));
    }
}
