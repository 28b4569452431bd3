//! The bound on requests that do not end by themselves: live views and traces.
//!
//! A view holds a place until it is dropped. Once the server stops, no place is given any more.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::request::problem::{Problem, VIEWS_FULL};
use crate::request::readiness::draining;

/// When a caller should ask again that found no place.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// The views that are open.
pub(crate) struct LiveViews {
    count: Arc<Mutex<Count>>,
    max: usize,
}

#[derive(Default)]
struct Count {
    open: usize,
    /// Set once, when the server stops.
    closed: bool,
}

/// A view's place; dropping it frees the place.
pub(crate) struct Place(Arc<Mutex<Count>>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.lock().open -= 1;
    }
}

impl LiveViews {
    pub(crate) fn new(max: usize) -> Self {
        Self { count: Arc::default(), max }
    }

    /// How many are open.
    pub(crate) fn open(&self) -> usize {
        self.count.lock().open
    }

    /// A place for one more; a problem where as many are open as may be, or the server stops.
    pub(crate) fn place(&self) -> Result<Place, Problem> {
        let mut count = self.count.lock();
        if count.closed {
            return Err(draining());
        }
        if count.open >= self.max {
            let detail = format!("{} are open already", self.max);
            return Err(Problem::new(VIEWS_FULL, detail).retry_after(RETRY_AFTER));
        }
        count.open += 1;
        Ok(Place(Arc::clone(&self.count)))
    }

    /// Gives no place any more.
    pub(crate) fn close(&self) {
        self.count.lock().closed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_freed() {
        let views = LiveViews::new(2);
        let first = views.place().expect("there is room");
        let second = views.place().expect("there is room");
        assert!(views.place().is_err_and(|problem| problem.has_code("HTTP-019")));
        drop(first);
        assert!(views.place().is_ok());
        drop(second);
        assert_eq!(views.open(), 0);
        views.close();
        assert!(views.place().is_err_and(|problem| problem.has_code("HTTP-014")));
    }
}
