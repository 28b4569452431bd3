//! Tasks of a test run: side by side in lanes, and those that failed once more, alone.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::failures;
use super::tally::Tally;

/// Something that tests, and says what its tests came to.
pub(super) struct Task<'a> {
    name: String,
    run: Box<dyn Fn() -> Tally + Send + 'a>,
}

impl<'a> Task<'a> {
    pub(super) fn new(name: impl Into<String>, run: impl Fn() -> Tally + Send + 'a) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }

    fn run(&self) -> Tally {
        failures::within(&self.name, &self.run)
    }
}

/// Tasks that ran.
#[derive(Default)]
pub(super) struct Ran<'a> {
    /// The tests of those that passed.
    pub(super) passed: Tally,
    /// The others, with their tests.
    pub(super) failed: Vec<(Task<'a>, Tally)>,
}

impl<'a> Ran<'a> {
    fn add(&mut self, task: Task<'a>, tally: Tally) {
        match tally.failed + tally.skipped {
            0 => self.passed += tally,
            _ => self.failed.push((task, tally)),
        }
    }

    /// Both together.
    pub(super) fn and(mut self, more: Self) -> Self {
        self.passed += more.passed;
        self.failed.extend(more.failed);
        self
    }

    /// All of their tests.
    pub(super) fn tally(&self) -> Tally {
        let mut total = self.passed;
        self.failed.iter().for_each(|(_, tally)| total += *tally);
        total
    }

    /// Runs those that failed once more, one at a time; that run counts. A test that only fails beside
    /// others tells of the machine, or of a race: it is named, so that somebody looks at it.
    pub(super) fn again(self) -> Again {
        let mut all = Again { total: self.passed, passed: Vec::new() };
        for (task, _) in self.failed {
            eprintln!("==> once more, alone: {}", task.name);
            let tally = task.run();
            all.total += tally;
            if tally.failed + tally.skipped == 0 {
                failures::passed_again(&task.name);
                all.passed.push(task.name);
            }
        }
        all
    }
}

/// The tests of all tasks, after those that failed have run once more.
pub(super) struct Again {
    pub(super) total: Tally,
    /// The tasks that passed only then.
    pub(super) passed: Vec<String>,
}

/// Runs tasks in their order, so many at a time.
pub(super) fn side_by_side(tasks: Vec<Task<'_>>, jobs: usize) -> Ran<'_> {
    let waiting = Mutex::new(VecDeque::from(tasks));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || {
        let mut ran = Ran::default();
        while let Some(task) = next() {
            let tally = task.run();
            ran.add(task, tally);
        }
        ran
    };
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        let ends = lanes.into_iter().map(|lane| lane.join().expect("a lane does not panic"));
        ends.fold(Ran::default(), Ran::and)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Tally, Task, side_by_side};

    const PASSED: Tally = Tally { passed: 1, failed: 0, skipped: 0 };
    const FAILED: Tally = Tally { passed: 0, failed: 1, skipped: 0 };

    #[test]
    fn a_task_that_failed_runs_once_more_and_that_run_counts() {
        let runs = AtomicUsize::new(0);
        let flaky = || match runs.fetch_add(1, Ordering::Relaxed) {
            0 => FAILED,
            _ => PASSED,
        };
        let tasks =
            vec![Task::new("holds", || PASSED), Task::new("at times", flaky), Task::new("never", || FAILED)];
        let ran = side_by_side(tasks, 2);
        assert_eq!(ran.tally(), Tally { passed: 1, failed: 2, skipped: 0 });
        let again = ran.again();
        assert_eq!(again.total, Tally { passed: 2, failed: 1, skipped: 0 });
        assert_eq!(again.passed, ["at times"]);
        assert_eq!(runs.load(Ordering::Relaxed), 2);
    }
}
