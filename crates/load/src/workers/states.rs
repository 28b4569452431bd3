//! The states of a run's workers: which are lost, what each began, how busy their machines are.

use std::ops::Range;

use stadium_report::{Doubt, Worker};

use super::remote::Remote;
use crate::engine::tally::Tally;
use crate::machine::Load;

/// The workers of a run, by their numbers; nobody where a process makes its load itself.
#[derive(Debug, Default)]
pub(crate) struct WorkerStates {
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    worker: Worker,
    shares: Range<u32>,
    load: Load,
}

impl WorkerStates {
    pub(crate) fn new(remotes: &[Remote]) -> Self {
        let place = |remote: &Remote| Place {
            worker: Worker {
                name: remote.name.clone(),
                address: remote.address.clone(),
                clock_offset_us: remote.offset.ns as f64 / 1e3,
                clock_error_us: remote.offset.error_ns as f64 / 1e3,
                ..Worker::default()
            },
            shares: remote.first..remote.first + remote.count,
            load: Load::default(),
        };
        WorkerStates { places: remotes.iter().map(place).collect() }
    }

    /// A worker is lost. Returns its loops.
    pub(crate) fn lose(&mut self, worker: usize, elapsed_s: f64, why: &str) -> Range<u32> {
        let Some(place) = self.places.get_mut(worker) else { return 0..0 };
        place.worker.lost.get_or_insert_with(|| format!("after {elapsed_s:.1} s: {why}"));
        // Its machine's load is not known any more.
        place.load = Load::default();
        place.shares.clone()
    }

    /// A loop reported.
    pub(crate) fn hear(&mut self, tally: &Tally) {
        if let Some(place) = self.places.iter_mut().find(|place| place.shares.contains(&tally.share)) {
            place.worker.started += tally.sessions.iter().map(|session| session.started).sum::<u64>();
        }
    }

    /// A worker reported how busy its machine is.
    pub(crate) fn hear_load(&mut self, worker: usize, load: Load) {
        if let Some(place) = self.places.get_mut(worker) {
            place.load = load;
        }
    }

    /// The busiest of the machines that make load: with workers this one only counts.
    pub(crate) fn busiest(&self, own: Load) -> Load {
        let loads = self.places.iter().map(|place| place.load);
        loads
            .reduce(|one, other| Load { busy: one.busy.max(other.busy), steal: one.steal.max(other.steal) })
            .unwrap_or(own)
    }

    /// Whether there were workers, and none is left.
    pub(crate) fn is_lost(&self) -> bool {
        !self.places.is_empty() && self.places.iter().all(|place| place.worker.lost.is_some())
    }

    /// Those that were lost, as a reader of the figures has to know.
    pub(crate) fn doubts(&self) -> Vec<Doubt> {
        let of = self.places.last().map_or(0, |place| place.shares.end);
        let lost = self.places.iter().filter_map(|place| Some((place, place.worker.lost.as_ref()?)));
        lost.map(|(place, lost)| Doubt {
            refuse: true,
            text: format!(
                "worker {} ({}) was lost {lost}; from then on its part of the users, {:.0}% of all, is missing",
                place.worker.name,
                place.worker.address,
                100.0 * f64::from(place.shares.end - place.shares.start) / f64::from(of.max(1)),
            ),
        })
        .collect()
    }

    /// As the report lists them.
    pub(crate) fn into_workers(self) -> Vec<Worker> {
        self.places.into_iter().map(|place| place.worker).collect()
    }
}
