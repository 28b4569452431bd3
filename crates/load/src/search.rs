//! The search for the highest rate at which a scenario's thresholds hold.
//!
//! Each repeat doubles the rate from the lowest until a trial does not hold, then halves the gap
//! between the highest that held and the lowest that did not, until they are close. A trial holds
//! where every threshold does, the target kept up with what was offered, and the generator stands
//! behind its figures. The rate that is found varies from repeat to repeat as the target does: the
//! median is the answer, and the lowest and highest of the repeats are the interval.

use stadium_report::{Outcome, RunResult, Search, Trial};
use stadium_scenario::Program;
use stadium_scenario::program::{Arrivals, Phase, Spacing};
use stadium_scenario::secret::Secrets;

use crate::conceal;

/// What is searched, and how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchOptions {
    /// The lowest rate that is tried, users a second.
    pub from: f64,
    /// The highest.
    pub to: f64,
    /// How close the highest rate that held and the lowest that did not are in the end, as a share of the rate.
    pub precision: f64,
    /// How often the search is repeated.
    pub repeats: u32,
    /// How long a trial is measured, in nanoseconds.
    pub trial_ns: u64,
    /// How long each trial warms up before, in nanoseconds.
    pub warm_up_ns: u64,
}

impl Default for SearchOptions {
    fn default() -> Self {
        SearchOptions {
            from: 10.0,
            to: 1_000_000.0,
            precision: 0.05,
            repeats: 3,
            trial_ns: 10_000_000_000,
            warm_up_ns: 2_000_000_000,
        }
    }
}

/// Less than this share of the offered requests answered means that the target did not keep up.
const KEPT_UP: f64 = 0.98;

/// The scenario at one rate: a warm-up, then the trial, with the sessions of its last phase.
pub fn at_rate(program: &Program, rate: f64, options: &SearchOptions) -> Program {
    let mix = program.phases.last().map(|phase| phase.mix.clone()).unwrap_or_default();
    let spacing = program
        .phases
        .iter()
        .find_map(|phase| match phase.arrivals {
            Arrivals::Open { spacing, .. } => Some(spacing),
            _ => None,
        })
        .unwrap_or(Spacing::Constant);
    let phase = |name: &str, duration_ns, measured| Phase {
        name: name.to_owned(),
        duration_ns,
        arrivals: Arrivals::Open { from: rate, to: rate, spacing },
        measured,
        mix: mix.clone(),
    };
    let mut phases = vec![phase("trial", options.trial_ns, true)];
    if options.warm_up_ns > 0 {
        phases.insert(0, phase("warm-up", options.warm_up_ns, false));
    }
    Program { phases, ..program.clone() }
}

/// Searches, running each trial by `run` and reporting each to `watch` when it is over. Returns the
/// last trial's result at the rate that was found with the search in it; `None` where somebody
/// stopped it.
///
/// # Errors
/// Those of `run`.
pub fn search<E>(
    program: &Program,
    options: &SearchOptions,
    run: &mut dyn FnMut(Program) -> Result<RunResult, E>,
    watch: &mut dyn FnMut(&Trial),
) -> Result<Option<RunResult>, E> {
    let goal: Vec<&str> = program.thresholds.iter().map(|(text, _)| text.as_str()).collect();
    let mut found = Search { goal: goal.join(" and "), ..Search::default() };
    let mut best: Option<(f64, RunResult)> = None;
    for _ in 0..options.repeats.max(1) {
        let mut bounds = Bounds { held: None, broke: None };
        while let Some(rate) = bounds.next(options) {
            let result = run(at_rate(program, rate, options))?;
            if result.outcome == Outcome::Interrupted {
                return Ok(None);
            }
            let trial = judge(rate, &result, options);
            watch(&trial);
            if trial.held {
                bounds.held = Some(rate);
                if best.as_ref().is_none_or(|(known, _)| *known <= rate) {
                    best = Some((rate, result));
                }
            } else {
                bounds.broke = Some(rate);
                if best.is_none() {
                    best = Some((0.0, result));
                }
            }
            found.trials.push(trial);
        }
        found.found.push(bounds.held.unwrap_or(0.0));
    }
    let mut sorted = found.found.clone();
    sorted.sort_by(f64::total_cmp);
    found.rate = sorted[sorted.len() / 2];
    found.interval = [sorted[0], sorted[sorted.len() - 1]];
    Ok(best.map(|(_, result)| {
        let mut result = RunResult { search: Some(found), ..result };
        conceal(&mut result, &Secrets::of(program));
        result
    }))
}

/// What a repeat knows.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// The highest rate that held.
    held: Option<f64>,
    /// The lowest that did not.
    broke: Option<f64>,
}

impl Bounds {
    /// The next rate to try; `None` where it is known well enough.
    fn next(&self, options: &SearchOptions) -> Option<f64> {
        match (self.held, self.broke) {
            (None, None) => Some(options.from),
            // Not even the lowest holds.
            (None, Some(_)) => None,
            (Some(held), None) if held >= options.to => None,
            (Some(held), None) => Some((2.0 * held).min(options.to)),
            (Some(held), Some(broke)) if broke - held <= options.precision * held => None,
            (Some(held), Some(broke)) => Some((held * broke).sqrt()),
        }
    }
}

fn judge(rate: f64, result: &RunResult, options: &SearchOptions) -> Trial {
    let seconds = options.trial_ns as f64 / 1e9;
    let users: u64 = result.sessions.iter().map(|session| session.started).sum();
    let finished: u64 = result.sessions.iter().map(|session| session.completed).sum();
    let reached = finished as f64 / seconds;
    let broken = result.thresholds.iter().find(|threshold| !threshold.passed);
    let refused = result.generator.doubts.iter().find(|doubt| doubt.refuse);
    let reason = if let Some(threshold) = broken {
        format!("{}: {}", threshold.text, threshold.observed)
    } else if let Some(doubt) = refused {
        format!("the generator: {}", doubt.text)
    } else if (finished as f64) < KEPT_UP * users as f64 {
        format!("{finished} of {users} sessions came to their end")
    } else {
        String::new()
    };
    Trial { rate, reached, held: reason.is_empty(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stadium_report::Session;

    /// A target that holds up to a limit, which differs from repeat to repeat.
    fn find(limits: &[f64], options: &SearchOptions) -> Search {
        let program = Program { phases: Vec::new(), ..crate::engine::testing::program() };
        let mut rates: Vec<f64> = Vec::new();
        let mut repeat = 0;
        let mut run = |program: Program| {
            let Arrivals::Open { from: rate, .. } = program.phases[1].arrivals else {
                panic!("an open phase")
            };
            if rate == options.from && !rates.is_empty() {
                repeat += 1;
            }
            rates.push(rate);
            let users = (rate * 10.0) as u64;
            let completed = if rate <= limits[repeat] { users } else { users / 2 };
            let session = Session { started: users, completed, ..Session::default() };
            Ok::<_, ()>(RunResult { sessions: vec![session], ..RunResult::default() })
        };
        let result = search(&program, options, &mut run, &mut |_| {}).expect("it runs");
        result.and_then(|result| result.search).expect("a search")
    }

    #[test]
    fn the_limit_is_found_within_the_precision_and_repeats_give_an_interval() {
        let options = SearchOptions { from: 100.0, to: 1e6, precision: 0.02, ..SearchOptions::default() };
        let search = find(&[5_000.0, 6_000.0, 5_500.0], &options);
        assert!((5_390.0..=5_500.0).contains(&search.rate), "{}", search.rate);
        assert!((4_900.0..=5_000.0).contains(&search.interval[0]), "{:?}", search.interval);
        assert!((5_880.0..=6_000.0).contains(&search.interval[1]), "{:?}", search.interval);
        assert!(search.trials.len() < 60, "{} trials", search.trials.len());
        assert!(search.trials.iter().any(|trial| !trial.held && trial.reason.contains("sessions")));
    }

    #[test]
    fn a_target_that_holds_nothing_has_the_rate_zero_and_one_that_holds_all_the_highest() {
        let options = SearchOptions { from: 100.0, to: 1_600.0, repeats: 1, ..SearchOptions::default() };
        assert_eq!(find(&[10.0], &options).rate, 0.0);
        assert_eq!(find(&[1e9], &options).rate, 1_600.0);
    }
}
