//! Which instances this client uses: a subset, the same one after each restart.
//!
//! Every instance has a rendezvous score for this client's id, and the best ones are the subset. So clients
//! spread over all instances, and a change of instances changes few members. An instance that is lost stays a
//! member, to be reconnected, and the next in rank stands in for it; but when the network is gone, a client
//! that went on like this would call at every instance there is, so that no more than the size are kept lost.

use super::{balancer::Balancer, instance::Link};

impl Balancer {
    /// Chooses the subset anew: instances came, went, broke, healed or are leaving.
    pub(crate) fn reselect(&mut self) {
        let mut ranks = std::mem::take(&mut self.ranks);
        ranks.clear();
        let zone = self.zone_in_use();
        for (slot, place) in (0u16..).zip(&self.slots) {
            let Some(instance) = &place.instance else { continue };
            if !instance.quiescing() && zone.is_none_or(|zone| *instance.zone == *zone) {
                ranks.push((instance.node.score(self.settings.client.0), slot));
            }
        }
        ranks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));

        let mut places_left = self.settings.subset_size.max(1);
        let mut lost_left = places_left;
        let mut members = 0;
        let mut changed = false;
        for (_, slot) in &ranks {
            if places_left == 0 {
                break;
            }
            let place = &self.slots[usize::from(*slot)];
            let lost =
                place.instance.as_ref().is_some_and(|instance| matches!(instance.link, Link::Lost { .. }));
            let left = if lost { &mut lost_left } else { &mut places_left };
            if *left == 0 {
                continue;
            }
            *left -= 1;
            match self.subset.get_mut(members) {
                Some(member) if member == slot => {}
                Some(member) => (*member, changed) = (*slot, true),
                None => (changed, _) = (true, self.subset.push(*slot)),
            }
            members += 1;
        }
        self.ranks = ranks;
        changed |= self.subset.len() != members;
        self.subset.truncate(members);

        for instance in self.slots.iter_mut().filter_map(|place| place.instance.as_mut()) {
            instance.in_subset = false;
        }
        for slot in &self.subset {
            if let Some(instance) = self.slots[usize::from(*slot)].instance.as_mut() {
                instance.in_subset = true;
            }
        }
        self.subset_version += u64::from(changed);
        self.spoil();
    }

    /// This client's zone, where it has enough instances that work.
    fn zone_in_use(&self) -> Option<&str> {
        let zone = self.settings.zone.as_str();
        if zone.is_empty() {
            return None;
        }
        let working = self
            .slots
            .iter()
            .filter_map(|place| place.instance.as_ref())
            .filter(|one| *one.zone == *zone && !one.quiescing() && !matches!(one.link, Link::Lost { .. }))
            .count();
        (working >= self.settings.zone_instances_min.max(1)).then_some(zone)
    }
}
