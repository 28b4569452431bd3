//! A scenario's run: starts it, adds up the tallies of its loops, interval by interval, and makes
//! the result.
//!
//! Loops are this process's threads or those of workers elsewhere: both send [`Tally`]s, and an
//! interval is whole when all that still live have sent theirs. Nothing here touches a target.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use stadium_report::latency::Latency;
use stadium_report::{Doubt, Interval, Merge, Outcome, Requests, RunResult, thresholds};
use stadium_scenario::program::{Action, Program};
use stadium_scenario::secret::Secrets;

use super::describe::describe;
use super::fleets::Fleets;
use super::members::Members;
use super::options::RunOptions;
use crate::clock::monotonic_ns;
use crate::conceal;
use crate::engine::event::{self, Ask, Control, Event};
use crate::engine::loops::Assignment;
use crate::engine::order::Order;
use crate::engine::plan::Plan;
use crate::engine::tally::{StepTally, Tally};
use crate::error::Error;
use crate::machine::{Loads, Watch};
use crate::workers::Workers;

/// How long an interval waits for loops that are late with their tallies.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks at how far the run is.
const LOOK: Duration = Duration::from_millis(200);
/// The generator's own lateness at its 99th percentile above which figures are doubted, in milliseconds.
pub(crate) const LATENESS_MS_MAX: f64 = 10.0;
/// A loop that works more than this share of an interval is saturated.
pub(crate) const SATURATED: f64 = 0.95;
/// Share of saturated intervals above which figures are doubted.
const SATURATED_SHARE_MAX: f64 = 0.1;
/// Share of time taken by the hypervisor above which figures are doubted.
pub(crate) const STEAL_MAX: f64 = 0.05;

/// How far a run is.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Seconds since the start.
    pub elapsed_s: f64,
    /// Seconds that the phases take.
    pub planned_s: f64,
    /// The phase that is under way.
    pub phase: &'a str,
    /// The interval that has just become whole, once each.
    pub interval: Option<&'a Interval>,
    /// What there is so far.
    pub result: &'a RunResult,
}

/// A run that has been started.
pub struct Run {
    program: Program,
    members: Members,
    events: Receiver<Event>,
    control: Control,
    planned_s: f64,
    watch: Watch,
    /// Intervals below this number are closed.
    next: u32,
    /// Tallies of intervals that are not whole, and since when they wait.
    open: BTreeMap<u32, (Vec<Tally>, Instant)>,
    loads: Loads,
    result: RunResult,
    /// What no text of the result may have.
    secrets: Secrets,
    thresholds: Vec<thresholds::Threshold>,
    fleets: Fleets,
    /// Messages that fleets had received by the end of the last interval.
    received: u64,
    interrupted: bool,
    failure: Option<Error>,
    saturated: u32,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("scenario", &self.program.name)
            .field("loops", &self.members.loops())
            .finish()
    }
}

impl Run {
    /// Starts a run on loops of this process.
    ///
    /// # Errors
    /// [`Error::Config`] for a target without an address, a certificate that cannot be read, a
    /// threshold that means nothing; [`Error::System`] where a thread or a loop cannot be had.
    pub fn start(program: Program, options: &RunOptions) -> Result<Self, Error> {
        let thresholds = read_thresholds(&program)?;
        let loops = match options.loops {
            0 => std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
            loops => loops,
        };
        // A small swarm of users on many loops would be nobody on some of them: harmless.
        let plan = Arc::new(Plan::new(program, &options.folder)?);
        let (sender, events) = mpsc::channel();
        let assignment = Assignment::Users(plan.clone(), options.cpus.clone());
        let members = Members::here(&assignment, loops, &sender)?;
        let mut run = Run::new(plan.program.clone(), options, thresholds, (sender, events));
        run.begin(members, &options.folder)?;
        Ok(run)
    }

    /// Starts a run on the loops of workers; this process only adds up their tallies.
    ///
    /// # Errors
    /// As [`Run::start`], and [`Error::Worker`] for a worker that cannot do its part: then none of them has begun.
    pub fn start_on(program: Program, options: &RunOptions, group: &Workers) -> Result<Self, Error> {
        let thresholds = read_thresholds(&program)?;
        let (sender, events) = mpsc::channel();
        let members = Members::on(group.prepare_users(&program, &options.folder, &sender)?)?;
        let mut run = Run::new(program, options, thresholds, (sender, events));
        run.begin(members, &options.folder)?;
        Ok(run)
    }

    /// A run that nobody is in yet.
    fn new(
        program: Program,
        options: &RunOptions,
        thresholds: Vec<thresholds::Threshold>,
        (sender, events): (Sender<Event>, Receiver<Event>),
    ) -> Self {
        let planned_ns: u64 = program.phases.iter().map(|phase| phase.duration_ns).sum();
        let secrets = Secrets::of(&program);
        let result = describe(&program, options, &secrets);
        Run {
            program,
            members: Members::default(),
            events,
            control: Control::new(sender),
            planned_s: seconds(planned_ns),
            watch: Watch::new(),
            next: 0,
            open: BTreeMap::new(),
            loads: Loads::default(),
            result,
            secrets,
            thresholds,
            fleets: Fleets::default(),
            received: 0,
            interrupted: false,
            failure: None,
            saturated: 0,
        }
    }

    /// The members have their start; the fleets get theirs.
    fn begin(&mut self, members: Members, folder: &Path) -> Result<(), Error> {
        self.members = members;
        let fleets = Fleets::start(&self.program, folder, self.members.epoch_ns);
        if fleets.is_err() {
            self.members.order(Order::Stop);
        }
        self.fleets = fleets?;
        Ok(())
    }

    /// The way to end it from another thread.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Follows the run to its end, reporting to `watch` how far it is.
    ///
    /// # Errors
    /// Where a loop failed. Requests that failed are figures of the result.
    pub fn wait(mut self, watch: &mut dyn FnMut(&Progress<'_>)) -> Result<RunResult, Error> {
        while self.members.are_running() || !self.open.is_empty() {
            match self.events.recv_timeout(LOOK) {
                Ok(Event::Tally(event::Tally::Users(tally))) => self.hear(*tally),
                Ok(Event::Ended { share, result }) => {
                    self.members.ended(share);
                    if let Err(error) = result {
                        self.failure = Some(error);
                        self.control.stop();
                    }
                }
                Ok(Event::Ask(ask)) => self.end(ask),
                Ok(Event::Lost { worker, why }) => self.members.lose(worker, &why),
                Ok(Event::Load { worker, load }) => self.members.workers.hear_load(worker, load),
                Ok(Event::Tally(event::Tally::Devices(_))) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let whole = self.close_intervals();
            let elapsed_s = seconds(monotonic_ns().saturating_sub(self.members.epoch_ns));
            let phase = self.phase_at(elapsed_s);
            let from = self.result.series.len() - whole;
            let intervals: Vec<Option<&Interval>> = match whole {
                0 => vec![None],
                _ => self.result.series[from..].iter().map(Some).collect(),
            };
            for interval in intervals {
                watch(&Progress {
                    elapsed_s,
                    planned_s: self.planned_s,
                    phase: phase.map_or("", |phase| &self.result.phases[phase].name),
                    interval,
                    result: &self.result,
                });
            }
        }
        self.members.join();
        for fleet in std::mem::take(&mut self.fleets).finish() {
            match fleet {
                Ok(fleet) => self.result.fleets.push(fleet),
                Err(text) => self.result.generator.doubts.push(Doubt { refuse: true, text }),
            }
        }
        match self.failure.take() {
            Some(error) => Err(error),
            None => Ok(self.conclude()),
        }
    }

    fn end(&mut self, ask: Ask) {
        let order = match ask {
            // Users have no storms.
            Ask::Cut => return,
            Ask::Finish => Order::Finish,
            Ask::Stop => Order::Stop,
        };
        self.interrupted = true;
        self.members.order(order);
    }

    fn phase_at(&self, at_s: f64) -> Option<usize> {
        self.result.phases.iter().position(|phase| at_s < phase.to_s).or(self
            .result
            .phases
            .len()
            .checked_sub(1))
    }

    fn hear(&mut self, tally: Tally) {
        if tally.last {
            self.members.ended(tally.share);
        }
        self.members.workers.hear(&tally);
        if tally.interval < self.next {
            // Its interval was closed without it: its counts are of that interval all the same.
            let late = self.count(tally.interval, std::slice::from_ref(&tally));
            if let Some(interval) = self.result.series.iter_mut().rfind(|own| own.at_s <= late.at_s) {
                interval.merge(&Interval { at_s: 0.0, ..late });
            }
            return;
        }
        self.open.entry(tally.interval).or_insert_with(|| (Vec::new(), Instant::now())).0.push(tally);
    }

    /// Puts together the intervals that nobody has anything to add to. Returns how many.
    fn close_intervals(&mut self) -> usize {
        let mut whole = 0;
        while let Some((number, (tallies, since))) = self.open.first_key_value() {
            let missing = (0..self.members.loops()).any(|share| {
                self.members.is_running(share) && !tallies.iter().any(|tally| tally.share == share)
            });
            if missing && since.elapsed() < PATIENCE {
                break;
            }
            let number = *number;
            if let Some((tallies, _)) = self.open.remove(&number) {
                whole += usize::from(self.close_interval(number, &tallies));
            }
        }
        whole
    }

    /// Adds an interval to the series; false for one after all phases in which nothing happened.
    fn close_interval(&mut self, number: u32, tallies: &[Tally]) -> bool {
        self.next = number + 1;
        let load = self.members.workers.busiest(self.watch.look().unwrap_or_default());
        let now_s = seconds(monotonic_ns().saturating_sub(self.members.epoch_ns));
        let mut interval = self.count(number, tallies);
        interval.at_s = interval.at_s.min(now_s.max(f64::from(number) + 0.001));
        interval.length_s = interval.at_s - f64::from(number);
        interval.machine_busy = load.busy;
        interval.steal = load.steal;
        interval.devices = self.fleets.connected();
        let received = self.fleets.received();
        interval.messages += received.saturating_sub(std::mem::replace(&mut self.received, received));
        let users = interval.users + interval.arrived + interval.devices;
        let requests = interval.started + interval.answered + interval.failed();
        let happened = users + requests + interval.messages + interval.bytes.iter().sum::<u64>();
        if happened == 0 && f64::from(number) >= self.planned_s {
            return false;
        }
        self.loads.add(load);
        self.saturated += u32::from(interval.busy > SATURATED);
        self.result.duration_s = interval.at_s;
        self.result.measured_s += if self.is_measured(number) { interval.length_s } else { 0.0 };
        self.result.series.push(interval);
        true
    }

    fn is_measured(&self, interval: u32) -> bool {
        self.phase_at(f64::from(interval) + 0.5).is_none_or(|phase| self.program.phases[phase].measured)
    }

    /// Counts the tallies of an interval, in the result's totals and in the interval that is
    /// returned.
    fn count(&mut self, number: u32, tallies: &[Tally]) -> Interval {
        let measured = self.is_measured(number);
        let mut interval = Interval { at_s: f64::from(number) + 1.0, ..Interval::default() };
        let (mut response, mut service) = (Latency::new(), Latency::new());
        for tally in tallies {
            interval.users += tally.users;
            interval.arrived += tally.arrived;
            interval.busy = interval.busy.max(tally.busy);
            interval.lateness.merge(&tally.lateness);
            interval.messages += tally.messages.received;
            interval.message_latency.merge(&tally.messages.latency);
            self.result.generator.exhausted += tally.exhausted;
            self.result.generator.sent_again += tally.sent_again;
            self.result.generator.not_begun += tally.not_begun;
            for (number, step) in tally.steps.iter().enumerate() {
                interval.started += step.started;
                interval.answered += step.answered;
                interval.bytes[0] += step.bytes_out;
                interval.bytes[1] += step.bytes_in;
                for (kind, count) in &step.errors {
                    *interval.errors.entry(self.secrets.text(kind)).or_default() += count;
                }
                response.add(&step.response);
                service.add(&step.service);
                if measured {
                    self.add_step(number, step);
                }
            }
            if measured {
                self.add_sessions(tally);
            }
        }
        interval.response = response.take();
        interval.service = service.take();
        self.result.generator.lateness.merge(&interval.lateness);
        interval
    }

    fn add_step(&mut self, number: usize, tally: &StepTally) {
        let mut own = requests(tally, status_name(&self.program.steps[number].action));
        own.change_texts(&mut |text| self.secrets.text(text));
        let step = &mut self.result.steps[number];
        for (check, counts) in step.checks.iter_mut().zip(&tally.checks) {
            check.passed += counts[0];
            check.failed += counts[1];
        }
        step.requests.merge(&own);
        self.result.total.merge(&own);
    }

    fn add_sessions(&mut self, tally: &Tally) {
        for (session, own) in self.result.sessions.iter_mut().zip(&tally.sessions) {
            session.started += own.started;
            session.completed += own.completed;
            session.failed += own.failed;
            session.duration.merge(&own.duration);
        }
        let messages = &mut self.result.messages;
        messages.sent += tally.messages.sent;
        messages.received += tally.messages.received;
        messages.lost = messages.lost.saturating_add_signed(tally.messages.lost);
        messages.duplicates += tally.messages.duplicates;
        messages.reordered += tally.messages.reordered;
        messages.latency.merge(&tally.messages.latency);
    }

    /// What came of it.
    fn conclude(mut self) -> RunResult {
        let result = &mut self.result;
        if self.interrupted {
            result.outcome = Outcome::Interrupted;
        }
        let intervals = result.series.len().max(1) as f64;
        let generator = &mut result.generator;
        generator.loops = self.members.loops();
        generator.busy = result.series.iter().map(|interval| interval.busy).sum::<f64>() / intervals;
        generator.saturated = f64::from(self.saturated) / intervals;
        generator.machine_busy = self.loads.busy_share().unwrap_or_default();
        generator.steal = self.loads.steal();
        let more = doubts(generator, &result.total);
        generator.doubts.extend(more);
        generator.doubts.extend(self.members.workers.doubts());
        if self.members.workers.is_lost() {
            result.outcome = Outcome::Failed { reason: "all workers were lost".to_owned() };
        }
        result.workers = std::mem::take(&mut self.members.workers).into_workers();
        result.thresholds = thresholds::evaluate_all(&self.thresholds, result);
        // Texts of workers and fleets come last.
        conceal(result, &self.secrets);
        self.result
    }
}

/// Thresholds as the result's names are written, without secrets.
fn read_thresholds(program: &Program) -> Result<Vec<thresholds::Threshold>, Error> {
    let secrets = Secrets::of(program);
    program
        .thresholds
        .iter()
        .map(|(text, line)| {
            let text = secrets.text(text);
            thresholds::parse(&text)
                .map_err(|mistake| Error::Config(format!("line {line}: threshold {text:?}: {mistake}")))
        })
        .collect()
}

/// Why the figures cannot be relied on, as far as the generator knows.
fn doubts(generator: &stadium_report::Generator, total: &Requests) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let mut doubt = |refuse: bool, text: String| doubts.push(Doubt { refuse, text });
    let lateness_ms = generator.lateness.summary().p99_ms;
    if lateness_ms > LATENESS_MS_MAX {
        doubt(
            lateness_ms > 10.0 * LATENESS_MS_MAX,
            format!(
                "the generator was {lateness_ms:.1} ms late at its 99th percentile: offer less, or give it more processors or workers"
            ),
        );
    }
    if generator.saturated > SATURATED_SHARE_MAX {
        doubt(
            false,
            format!(
                "a loop of the generator was saturated in {:.0}% of the intervals: the figures may be its own limit",
                generator.saturated * 100.0
            ),
        );
    }
    if generator.steal > STEAL_MAX {
        doubt(
            generator.steal > 4.0 * STEAL_MAX,
            format!("the hypervisor took {:.0}% of the time away", generator.steal * 100.0),
        );
    }
    if generator.exhausted > 0 {
        doubt(
            generator.exhausted * 100 > total.started.max(1),
            format!(
                "the system refused {} sockets: raise the limit of open files, add source addresses or workers",
                generator.exhausted
            ),
        );
    }
    if generator.not_begun > 0 {
        doubt(
            true,
            format!(
                "{} users were due and not begun: the scenario's users_max or its data ran out, so the load was less than it asks for",
                generator.not_begun
            ),
        );
    }
    doubts
}

fn requests(tally: &StepTally, status: fn(u32) -> String) -> Requests {
    Requests {
        started: tally.started,
        answered: tally.answered,
        errors: tally.errors.clone(),
        statuses: tally
            .statuses
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|&(code, count)| (status(code), count))
            .collect(),
        response: tally.response.clone(),
        service: tally.service.clone(),
        bytes_out: tally.bytes_out,
        bytes_in: tally.bytes_in,
    }
}

/// How a status of this protocol is written.
fn status_name(action: &Action) -> fn(u32) -> String {
    match action {
        Action::Mqtt(_) | Action::Rsocket(_) => |code| format!("0x{code:02x}"),
        _ => |code| code.to_string(),
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::program;

    #[test]
    fn what_comes_after_its_interval_was_closed_counts_in_it() {
        let mut run = Run::new(program(), &RunOptions::default(), Vec::new(), mpsc::channel());
        run.members = Members::of_loops(2, monotonic_ns().saturating_sub(60_000_000_000));
        let tally = |share, interval| Tally { share, interval, arrived: 10, ..Tally::default() };
        for interval in 0..2 {
            (0..2).for_each(|share| run.hear(tally(share, interval)));
            assert_eq!(run.close_intervals(), 1);
        }
        run.hear(tally(0, 2));
        assert_eq!(run.close_intervals(), 0, "the other loop is waited for");
        run.members.ended(1);
        assert_eq!(run.close_intervals(), 1);
        run.hear(tally(1, 1));
        run.hear(tally(1, 2));
        assert_eq!(run.close_intervals(), 0);
        let arrived: Vec<(f64, u64)> =
            run.result.series.iter().map(|interval| (interval.at_s, interval.arrived)).collect();
        assert_eq!(arrived, [(1.0, 20), (2.0, 30), (3.0, 20)]);
    }
}
