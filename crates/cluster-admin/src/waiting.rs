//! Waiting for the cluster to carry out a request, with progress and an end.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use stadium_membership::{Cluster, View};

use crate::admin::Admin;
use crate::error::Error;

/// Between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// How far a request is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The step that it is at, for people.
    pub step: String,
    /// Parts that are done.
    pub done: usize,
    /// Parts that there are.
    pub all: usize,
}

/// How long a caller waits, and how it hears of progress.
pub struct Waiting<'w> {
    /// The longest wait.
    pub at_most: Duration,
    /// Called at each look, five times a second. A break ends the wait.
    pub tell: &'w mut dyn FnMut(&Progress) -> ControlFlow<()>,
}

impl Admin {
    /// Looks at the cluster until `look` returns a value, and returns it with the time that it
    /// took.
    pub(crate) fn wait<T>(
        &mut self,
        waiting: &mut Waiting<'_>,
        mut look: impl FnMut(&View, &Cluster) -> Result<ControlFlow<T, Progress>, Error>,
    ) -> Result<(T, Duration), Error> {
        let began = Instant::now();
        let mut last = Progress { step: "not begun".to_owned(), done: 0, all: 0 };
        loop {
            match self.look() {
                Ok((view, cluster)) => match look(&view, &cluster)? {
                    ControlFlow::Break(done) => return Ok((done, began.elapsed())),
                    ControlFlow::Continue(progress) => last = progress,
                },
                // The cluster goes on without us, and etcd may be back.
                Err(error) if error.is_away() => last.step = error.to_string(),
                Err(error) => return Err(error),
            }
            if (waiting.tell)(&last).is_break() {
                return Err(Error::Interrupted);
            }
            if began.elapsed() >= waiting.at_most {
                return Err(Error::TimedOut { last: last.step });
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}
