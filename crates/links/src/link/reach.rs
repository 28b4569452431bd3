//! How many of the other nodes this node reaches, and since when it is less than half of them.

use std::time::Duration;

/// How many of the other nodes are reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// The other members of the cluster.
    pub others: usize,
    /// Those that a link leads to.
    pub reached: usize,
    /// For how long fewer than half of them have been reached.
    pub too_few_for: Option<Duration>,
}

/// Watches it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReachWatch {
    others: usize,
    reached: usize,
    too_few_since_ms: Option<u64>,
}

impl ReachWatch {
    /// Takes what is true now.
    pub fn update(&mut self, now_ms: u64, others: usize, reached: usize) {
        (self.others, self.reached) = (others, reached);
        self.too_few_since_ms = (reached * 2 < others).then(|| self.too_few_since_ms.unwrap_or(now_ms));
    }

    /// What is true at a time.
    pub fn at(&self, now_ms: u64) -> Reach {
        let too_few_for =
            self.too_few_since_ms.map(|since| Duration::from_millis(now_ms.saturating_sub(since)));
        Reach { others: self.others, reached: self.reached, too_few_for }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_are_less_than_half_and_the_time_counts_from_the_first() {
        let mut watch = ReachWatch::default();
        watch.update(5, 0, 0);
        assert_eq!(watch.at(9).too_few_for, None, "a cluster of one reaches everybody");
        watch.update(10, 4, 2);
        assert_eq!(watch.at(10).too_few_for, None);
        watch.update(20, 4, 1);
        watch.update(30, 5, 2);
        assert_eq!(watch.at(50).too_few_for, Some(Duration::from_millis(30)));
        watch.update(60, 5, 3);
        assert_eq!(watch.at(60), Reach { others: 5, reached: 3, too_few_for: None });
        watch.update(70, 5, 0);
        assert_eq!(watch.at(70).too_few_for, Some(Duration::ZERO));
    }
}
