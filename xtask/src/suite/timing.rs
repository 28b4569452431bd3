//! Where the time of a test run went: the slowest tests, and the CPU time of the programs.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many tests are named at the end of a run.
const SLOWEST: usize = 20;

/// The times of one run. Lanes that run tests side by side share it.
#[derive(Default)]
pub(crate) struct Times {
    tests: Mutex<Vec<(String, f64)>>,
    programs: Mutex<Vec<(String, f64)>>,
}

impl Times {
    /// A test, or a program that counts as one, took so many seconds.
    pub(super) fn test(&self, name: String, seconds: f64) {
        self.tests.lock().unwrap_or_else(PoisonError::into_inner).push((name, seconds));
    }

    /// A test program took so many seconds of CPU time, with what it started and waited for.
    pub(super) fn program(&self, name: String, seconds: f64) {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner).push((name, seconds));
    }

    /// The slowest tests, slowest first, a line each.
    pub(super) fn slowest(&self) -> String {
        longest(&self.tests)
    }

    /// The programs with the most CPU time, a line each, and the sum of all.
    pub(super) fn most_cpu(&self) -> String {
        let mut shown = longest(&self.programs);
        let programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let all: f64 = programs.iter().map(|(_, seconds)| seconds).sum();
        let _ = writeln!(shown, "{all:8.1} s  all {} programs", programs.len());
        shown
    }
}

fn longest(of: &Mutex<Vec<(String, f64)>>) -> String {
    let mut of = of.lock().unwrap_or_else(PoisonError::into_inner);
    of.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut shown = String::new();
    for (name, seconds) in of.iter().take(SLOWEST) {
        let _ = writeln!(shown, "{seconds:8.1} s  {name}");
    }
    shown
}

/// The time within which a process whose output has ended ends, too.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// CPU time of a process that is about to end and is not waited for yet, with its children that it
/// waited for, in seconds. What it is so far, if it does not end.
pub(super) fn cpu_of_ending(pid: u32) -> f64 {
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let stat = Stat::read(&text);
        if stat.has_ended || begun.elapsed() > ENDS_WITHIN {
            return stat.cpu;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A part of /proc/PID/stat: proc_pid_stat(5).
#[derive(Debug, PartialEq)]
struct Stat {
    /// It is a zombie, or gone.
    has_ended: bool,
    /// Seconds, its children's that it waited for included.
    cpu: f64,
}

impl Stat {
    /// Linux counts this time in hundredths of a second for every program.
    const TICKS_PER_SECOND: f64 = 100.0;

    fn read(text: &str) -> Self {
        // The name before it may have any characters.
        let fields: Vec<&str> =
            text.rsplit_once(") ").map(|(_, rest)| rest.split(' ').collect()).unwrap_or_default();
        let ticks = fields.iter().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok());
        let is_alive = fields.first().is_some_and(|state| *state != "Z");
        Self { has_ended: !is_alive, cpu: ticks.sum::<u64>() as f64 / Self::TICKS_PER_SECOND }
    }
}

#[cfg(test)]
mod tests {
    use super::{Stat, Times, cpu_of_ending};

    #[test]
    fn the_slowest_come_first_and_only_twenty() {
        let times = Times::default();
        for seconds in 0..30 {
            times.test(format!("test {seconds}"), f64::from(seconds));
        }
        let shown = times.slowest();
        assert_eq!(shown.lines().count(), 20);
        assert_eq!(shown.lines().next(), Some("    29.0 s  test 29"));
    }

    #[test]
    fn the_time_of_a_process_is_read_once_it_has_ended() {
        let line = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 25 75 20 0 1 0 5 6 7";
        assert_eq!(Stat::read(line), Stat { has_ended: false, cpu: 3.0 });
        assert_eq!(Stat::read(&line.replace(" S ", " Z ")), Stat { has_ended: true, cpu: 3.0 });
        assert_eq!(Stat::read(""), Stat { has_ended: true, cpu: 0.0 });

        let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let mut child =
            std::process::Command::new("sh").args(["-c", busy]).spawn().expect("there is a shell");
        let cpu = cpu_of_ending(child.id());
        child.wait().expect("it ends");
        assert!(cpu > 0.0, "it has counted to 100,000");
    }
}
