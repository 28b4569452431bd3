//! The events of the live view, sent to every open page.
//!
//! Views only copy text. A view that reads too slowly misses samples and never holds the others up.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::broadcast;

use crate::live::samples::{Point, Sample};
use crate::push::direct::views::PushView;
use crate::request::problem::Problem;
use crate::request::readiness::draining;

/// Samples kept, so that a page begins with the last two minutes. The oldest leaves.
const HISTORY_SAMPLES: usize = 120;

/// Events that a slow view may lie behind, six seconds of a busy push; older ones are lost to it.
const EVENTS_BEHIND_MAX: usize = 32;

/// A server-sent event, ready to be written.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) name: &'static str,
    pub(crate) data: Arc<str>,
}

/// The samples that open views get, and those that a new one begins with.
pub(crate) struct Live {
    inner: Mutex<Inner>,
}

struct Inner {
    /// `None` once the server drains: that ends every view.
    events: Option<broadcast::Sender<Event>>,
    history: VecDeque<Point>,
    newest: Option<Event>,
}

/// A new view: the events it begins with, and those to come.
pub(crate) struct View {
    pub(crate) first: Vec<Event>,
    pub(crate) events: broadcast::Receiver<Event>,
}

impl Default for Live {
    fn default() -> Self {
        let inner = Inner {
            events: Some(broadcast::Sender::new(EVENTS_BEHIND_MAX)),
            history: VecDeque::new(),
            newest: None,
        };
        Self { inner: Mutex::new(inner) }
    }
}

impl Live {
    /// A new view of all events from now on; a problem once the server stops.
    pub(crate) fn join(&self) -> Result<View, Problem> {
        let inner = self.inner.lock();
        let events = inner.events.as_ref().ok_or_else(draining)?.subscribe();
        let history = Event { name: "history", data: json(&inner.history) };
        let first = [Some(history), inner.newest.clone()].into_iter().flatten().collect();
        Ok(View { first, events })
    }

    /// Ends every view.
    pub(crate) fn close(&self) {
        self.inner.lock().events = None;
    }

    pub(crate) fn sampled(&self, sample: &Sample) {
        let event = Event { name: "sample", data: json(sample) };
        let mut inner = self.inner.lock();
        if inner.history.len() >= HISTORY_SAMPLES {
            inner.history.pop_front();
        }
        inner.history.push_back(Point::of(sample));
        inner.newest = Some(event.clone());
        inner.send(event);
    }

    pub(crate) fn push_changed(&self, push: &PushView) {
        let event = Event { name: "push", data: json(push) };
        self.inner.lock().send(event);
    }
}

impl Inner {
    fn send(&self, event: Event) {
        if let Some(events) = &self.events {
            // An error means that nobody listens, which is fine.
            let _ = events.send(event);
        }
    }
}

fn json(value: &impl Serialize) -> Arc<str> {
    serde_json::to_string(value).expect("numbers, strings and lists always serialise").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_ends_and_none_begins_once_the_server_stops() {
        let live = Live::default();
        let mut view = live.join().expect("it runs");
        live.close();
        assert_eq!(view.events.try_recv().err(), Some(broadcast::error::TryRecvError::Closed));
        assert!(live.join().err().is_some_and(|problem| problem.has_code("HTTP-014")));
    }
}
