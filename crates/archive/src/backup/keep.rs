//! Which backups are kept: pure rules over their numbers and moments.
//!
//! Only the oldest ones go. So the kept ones follow each other without a gap, and each moment between
//! the oldest and the newest can be restored.

/// The bounds of what is kept. One that is `None` bounds nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Keep {
    /// How many backups.
    pub count: Option<u32>,
    /// For how long, milliseconds before the newest.
    pub age_ms: Option<u64>,
}

impl Keep {
    /// How many of the oldest backups go. `moments` are those of all, oldest first. The newest always
    /// stays, and so does the last one at or before the beginning of the time that is kept: without it
    /// that beginning could not be restored.
    #[must_use]
    pub fn expired(self, moments: &[u64]) -> usize {
        let Some(newest) = moments.last() else { return 0 };
        let by_count = self.count.map_or(0, |count| moments.len().saturating_sub(count.max(1) as usize));
        let by_age = self.age_ms.map_or(0, |age_ms| {
            let from = newest.saturating_sub(age_ms);
            moments.iter().take_while(|moment| **moment <= from).count().saturating_sub(1)
        });
        by_count.max(by_age)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_oldest_go_by_count_or_by_age() {
        let keep = |count, age_ms| Keep { count, age_ms };
        for (rule, moments, expired) in [
            (keep(None, None), &[1, 2, 3][..], 0),
            (keep(Some(2), None), &[1, 2, 3], 1),
            (keep(Some(0), None), &[1, 2, 3], 2),
            (keep(Some(5), None), &[1, 2, 3], 0),
            (keep(None, Some(10)), &[80, 89, 95, 100], 1),
            (keep(None, Some(10)), &[80, 90, 95, 100], 1),
            (keep(None, Some(0)), &[80, 90, 95, 100], 3),
            (keep(None, Some(1000)), &[80, 100], 0),
            (keep(Some(2), Some(1000)), &[80, 90, 100], 1),
            (keep(Some(1), Some(1)), &[], 0),
        ] {
            assert_eq!(rule.expired(moments), expired, "{rule:?} of {moments:?}");
        }
    }

    proptest! {
        #[test]
        fn the_newest_stays_and_so_does_the_time_that_is_kept(
            mut moments in prop::collection::vec(0_u64..1_000, 1..50),
            age_ms in prop::option::of(0_u64..1_500),
            count in prop::option::of(0_u32..60),
        ) {
            moments.sort_unstable();
            let expired = Keep { count, age_ms }.expired(&moments);
            prop_assert!(expired < moments.len());
            let kept = &moments[expired..];
            if let Some(count) = count {
                prop_assert!(kept.len() <= count.max(1) as usize);
            }
            if let (Some(age_ms), None) = (age_ms, count) {
                // A moment within the age that could be restored before can be restored now.
                let from = moments[moments.len() - 1].saturating_sub(age_ms);
                prop_assert!(kept[0] <= from.max(moments[0]));
            }
        }
    }
}
