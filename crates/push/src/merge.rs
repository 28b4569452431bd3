//! Views of several shards become one.
//!
//! Counts are summed, ordered lists are merged in order, and for data that only the app's home
//! knows its answer counts.

use crate::answer::{AppView, Counts, Preview, PushView, Sample, Stage};
use crate::parts::add_clauses;

pub(crate) fn apps(all: &mut Vec<AppView>, more: Vec<AppView>) {
    for view in more {
        match all.binary_search_by(|app| app.app.cmp(&view.app)) {
            Err(place) => all.insert(place, view),
            Ok(place) => {
                let app = &mut all[place];
                app.settings = app.settings.take().or(view.settings);
                app.devices += view.devices;
                app.connected += view.connected;
                app.opted_in += view.opted_in;
                app.pushes += view.pushes;
                app.owed += view.owed;
                app.bytes += view.bytes;
            }
        }
    }
}

pub(crate) fn preview(all: &mut Preview, more: Preview) {
    all.devices += more.devices;
    all.matched += more.matched;
    all.evaluated += more.evaluated;
    all.opted_out += more.opted_out;
    all.held_out += more.held_out;
    all.no_value += more.no_value;
    for value in more.missing {
        match all.missing.iter_mut().find(|known| known.name == value.name) {
            Some(known) => known.devices += value.devices,
            None => all.missing.push(value),
        }
    }
    all.quiet += more.quiet;
    all.capped += more.capped;
    all.reached += more.reached;
    all.connected += more.connected;
    add_clauses(&mut all.clauses, more.clauses);
    all.sample.extend(more.sample);
    all.took_us = all.took_us.max(more.took_us);
}

/// The views that shards have of one push, in their order; the home is at that place.
pub(crate) fn views(mut views: Vec<Option<PushView>>, home: usize) -> Option<PushView> {
    let first = match views.get(home) {
        Some(Some(_)) => home,
        _ => views.iter().position(Option::is_some)?,
    };
    let mut all = views[first].take()?;
    for view in views.into_iter().flatten() {
        add(&mut all, view);
    }
    Some(all)
}

fn add(all: &mut PushView, view: PushView) {
    all.started_at = [all.started_at, view.started_at].into_iter().flatten().min();
    all.stage = match (all.stage, view.stage) {
        (Stage::Cancelled, _) | (_, Stage::Cancelled) => Stage::Cancelled,
        // A shard knows it only once it has started.
        (Stage::Sending, _) | (_, Stage::Sending) => Stage::Sending,
        (one, other) => one.max(other),
    };
    add_counts(&mut all.counts, &view.counts);
    for (action, clicks) in view.actions {
        match all.actions.iter_mut().find(|(known, _)| *known == action) {
            Some((_, known)) => *known += clicks,
            None => all.actions.push((action, clicks)),
        }
    }
    all.spread.0.add(&view.spread.0);
    all.spread.1.add(&view.spread.1);
    all.sent = all.spread.0.latency();
    all.acknowledged = all.spread.1.latency();
    for sample in view.series {
        match all.series.binary_search_by_key(&sample.from_s, |sample| sample.from_s) {
            Err(place) => all.series.insert(place, sample),
            Ok(place) => {
                let Sample { sent, acknowledged, opened, clicked, .. } = &mut all.series[place];
                *sent += sample.sent;
                *acknowledged += sample.acknowledged;
                *opened += sample.opened;
                *clicked += sample.clicked;
            }
        }
    }
}

fn add_counts(all: &mut Counts, more: &Counts) {
    all.devices += more.devices;
    all.matched += more.matched;
    all.opted_out += more.opted_out;
    all.held_out += more.held_out;
    all.capped += more.capped;
    all.quiet += more.quiet;
    all.no_value += more.no_value;
    all.targeted += more.targeted;
    all.waiting += more.waiting;
    all.owed += more.owed;
    all.in_flight += more.in_flight;
    all.delivered += more.delivered;
    all.opened += more.opened;
    all.clicked += more.clicked;
    all.expired += more.expired;
    all.collapsed += more.collapsed;
    all.crowded_out += more.crowded_out;
    all.refused += more.refused;
    all.cancelled += more.cancelled;
}

/// Pages of the shards, in their order, each newest first.
pub(crate) fn pages(pages: Vec<Vec<PushView>>, home: usize, at_most: usize) -> Vec<PushView> {
    let mut of_push = std::collections::BTreeMap::<_, Vec<(usize, PushView)>>::new();
    for (shard, page) in pages.into_iter().enumerate() {
        for view in page {
            of_push.entry((view.accepted_at, view.push.id)).or_default().push((shard, view));
        }
    }
    let newest = of_push.into_iter().rev().take(at_most);
    newest
        .filter_map(|(_, of_one)| {
            let at = of_one.iter().position(|&(shard, _)| shard == home).unwrap_or(0);
            views(of_one.into_iter().map(|(_, view)| Some(view)).collect(), at)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_of_two_shards_is_their_sum() {
        let counts = |times: u64| Counts {
            devices: times,
            matched: 2 * times,
            opted_out: 3 * times,
            held_out: 4 * times,
            capped: 5 * times,
            quiet: 6 * times,
            no_value: 7 * times,
            targeted: 8 * times,
            waiting: 9 * times,
            owed: 10 * times,
            in_flight: 11 * times,
            delivered: 12 * times,
            opened: 13 * times,
            expired: 14 * times,
            collapsed: 15 * times,
            crowded_out: 16 * times,
            refused: 17 * times,
            cancelled: 18 * times,
            clicked: 19 * times,
        };
        let mut all = counts(5);
        add_counts(&mut all, &counts(3));
        assert_eq!(all, counts(8));
    }
}
