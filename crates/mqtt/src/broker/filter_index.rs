//! The subscription index of a broker for readers that are not sessions: filters with a number each.
//!
//! Finding the filters that match a topic costs what it costs a broker, whatever their number.

use super::filters::{FilterId, Filters, HasId, Subscriber};
use crate::packet::{QoS, RetainHandling, SubscriptionOptions};

/// Filters by the topics that they match.
#[derive(Debug)]
pub struct FilterIndex {
    filters: Filters,
    matched: Vec<FilterId>,
}

impl Default for FilterIndex {
    fn default() -> Self {
        Self { filters: Filters::new(), matched: Vec::new() }
    }
}

impl FilterIndex {
    /// The number of a filter that is in the index.
    pub fn find(&self, filter: &str) -> Option<u32> {
        self.filters.find(filter).map(FilterId::number)
    }

    /// Adds a valid filter; returns its number, which is free again once it is removed.
    pub fn insert(&mut self, filter: &str) -> u32 {
        if let Some(number) = self.find(filter) {
            return number;
        }
        let options = SubscriptionOptions {
            qos: QoS::AtMostOnce,
            no_local: false,
            retain_as_published: false,
            retain_handling: RetainHandling::Send,
        };
        self.filters.add(filter, Subscriber::new(0, options, HasId::No)).filter.number()
    }

    /// Removes a filter that is in the index.
    pub fn remove(&mut self, filter: &str) {
        if let Some(id) = self.filters.find(filter) {
            // It has one subscriber, so nobody takes its place.
            let _ = self.filters.remove(id, 0);
            self.filters.tidy(id);
        }
    }

    /// Appends the numbers of all filters that match a topic (MQTT 5.0, 4.7).
    pub fn matching(&mut self, topic: &str, numbers: &mut Vec<u32>) {
        self.matched.clear();
        self.filters.matching(topic, &mut self.matched);
        numbers.extend(self.matched.iter().map(|id| id.number()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_found_by_topic_until_they_are_removed() {
        let mut index = FilterIndex::default();
        let numbers = ["a/+", "a/b", "#"].map(|filter| index.insert(filter));
        assert_eq!(index.insert("a/+"), numbers[0], "it is there already");
        let matching = |index: &mut FilterIndex, topic: &str| {
            let mut found = Vec::new();
            index.matching(topic, &mut found);
            found.sort_unstable();
            found
        };
        let mut all = numbers.to_vec();
        all.sort_unstable();
        assert_eq!(matching(&mut index, "a/b"), all);
        assert_eq!(matching(&mut index, "$own"), Vec::<u32>::new());
        index.remove("a/+");
        index.remove("never there");
        assert_eq!(index.find("a/+"), None);
        let mut left = numbers[1..].to_vec();
        left.sort_unstable();
        assert_eq!(matching(&mut index, "a/b"), left);
    }
}
