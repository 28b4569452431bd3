//! The run that has a worker, from the coordinator's arrival to the end of its last loop; there is
//! one at a time.
//!
//! A worker is free, or taken by one [`Run`]. The coordinator's stream holds a [`Lease`]; dropping
//! it orders the loops to stop at once, and the worker is free when the last of them has ended.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stadium_rpc::Refusal;

use super::files::Files;
use super::proto::prepare_request::Assignment as Asked;
use super::proto::{self, event};
use super::queue::Queue;
use super::{Compile, changes, files};
use crate::clock::monotonic_ns;
use crate::engine::devices;
use crate::engine::event::Event;
use crate::engine::loops::{self, Assignment, Shares};
use crate::engine::order::Order;
use crate::engine::plan::Plan;
use crate::machine::Watch;
use crate::swarm::{SwarmConfig, devices_per_process};

/// Between two signs of life.
pub(crate) const BEAT: Duration = Duration::from_millis(500);
/// Bytes of all files of a run together.
const FILES_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// Files of a run.
const FILES_MAX: usize = 1_000;
/// Loops that a worker runs at most.
const LOOPS_MAX: u32 = 1_024;
/// When a busy worker is worth asking again: a run takes longer.
const BUSY_FOR: Duration = Duration::from_secs(5);

/// The run that has the worker, if any.
#[derive(Debug)]
pub(crate) struct CurrentRun {
    compile: Compile,
    run: Mutex<Option<Run>>,
}

/// A run that has the worker.
#[derive(Debug)]
struct Run {
    id: u64,
    queue: Arc<Queue>,
    files: BTreeMap<String, Vec<u8>>,
    bytes: usize,
    loops: Option<Loops>,
    /// The coordinator has gone, or the worker leaves.
    ending: bool,
    /// All loops have ended.
    over: bool,
}

/// Loops that were made.
#[derive(Debug)]
struct Loops {
    members: Vec<loops::Member>,
    /// Files that loops' plans were made from.
    _folder: tempfile::TempDir,
}

/// A coordinator's hold of the worker.
#[derive(Debug)]
pub(crate) struct Lease {
    current: Arc<CurrentRun>,
    id: u64,
    queue: Arc<Queue>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.current.leave(self.id);
    }
}

impl Lease {
    /// The next event for the coordinator; `None` when all loops have ended.
    pub(crate) async fn next(&self) -> Option<proto::Event> {
        self.queue.next().await
    }
}

impl CurrentRun {
    pub(crate) fn new(compile: Compile) -> Arc<Self> {
        Arc::new(CurrentRun { compile, run: Mutex::new(None) })
    }

    /// Whether there is one.
    pub(crate) fn is_taken(&self) -> bool {
        self.run.lock().is_some()
    }

    /// Takes the worker for a run.
    pub(crate) fn take(self: &Arc<Self>, id: u64) -> Result<Lease, Refusal> {
        let mut run = self.run.lock();
        if run.is_some() {
            return Err(Refusal::busy(BUSY_FOR, "another run has this worker"));
        }
        let queue = Arc::new(Queue::default());
        *run = Some(Run {
            id,
            queue: Arc::clone(&queue),
            files: BTreeMap::new(),
            bytes: 0,
            loops: None,
            ending: false,
            over: false,
        });
        Ok(Lease { current: Arc::clone(self), id, queue })
    }

    /// Stores a piece of a file.
    pub(crate) fn store(&self, piece: &proto::Piece) -> Result<(), Refusal> {
        let mut run = self.run.lock();
        let run = of(&mut run, piece.run)?;
        run.bytes += piece.data.len();
        if run.bytes > FILES_BYTES_MAX || run.files.len() > FILES_MAX {
            return Err(Refusal::rejected(
                "LOAD-005",
                format!(
                    "the scenario's files are more than {FILES_MAX}, or have more than {FILES_BYTES_MAX} bytes"
                ),
            ));
        }
        match run.files.get_mut(&piece.name) {
            Some(data) => data.extend_from_slice(&piece.data),
            None => drop(run.files.insert(piece.name.clone(), piece.data.clone())),
        }
        Ok(())
    }

    /// Makes the loops. They wait for the start.
    pub(crate) fn prepare(self: &Arc<Self>, request: &proto::PrepareRequest) -> Result<(), Refusal> {
        let sane = request.count > 0
            && request.count <= LOOPS_MAX
            && request.first.checked_add(request.count).is_some_and(|end| end <= request.of);
        if !sane {
            let what = format!("loops {} + {} of {} cannot be", request.first, request.count, request.of);
            return Err(Refusal::rejected("LOAD-003", what));
        }
        let files = {
            let mut run = self.run.lock();
            let run = of(&mut run, request.run)?;
            if run.loops.is_some() {
                return Err(Refusal::rejected("LOAD-003", "the run was prepared already"));
            }
            std::mem::take(&mut run.files)
        };
        // Reading a large table takes its time: signs of life go on meanwhile.
        let refuse = |what: String| Refusal::rejected("LOAD-004", what);
        let folder = tempfile::tempdir().map_err(|error| refuse(format!("a temporary folder: {error}")))?;
        let assignment = self.assignment(request, &files, folder.path()).map_err(refuse)?;
        drop(files);
        let (sender, events) = mpsc::channel();
        let shares = Shares { first: request.first, count: request.count, of: request.of };
        let members =
            loops::start(&assignment, shares, &sender).map_err(|error| refuse(error.to_string()))?;
        let mut held = self.run.lock();
        let run = match of(&mut held, request.run) {
            Ok(run) => run,
            Err(gone) => {
                members.iter().for_each(|member| member.order(Order::Stop));
                return Err(gone);
            }
        };
        let current = Arc::clone(self);
        let (queue, id, count) = (Arc::clone(&run.queue), request.run, request.count);
        let follower = std::thread::Builder::new()
            .name("load-follow".to_owned())
            .spawn(move || current.follow(id, &queue, &events, sender, count));
        if let Err(error) = follower {
            members.iter().for_each(|member| member.order(Order::Stop));
            return Err(refuse(format!("a thread: {error}")));
        }
        run.loops = Some(Loops { members, _folder: folder });
        Ok(())
    }

    /// The run of the loops: files are read where they were delivered.
    fn assignment(
        &self,
        request: &proto::PrepareRequest,
        files: &Files,
        folder: &Path,
    ) -> Result<Assignment, String> {
        match &request.assignment {
            Some(Asked::Users(users)) => {
                let mut program = files::compile(self.compile, &users.scenario, files, folder)?;
                changes::apply(users, &mut program)?;
                let plan = Plan::new(program, folder).map_err(|error| error.to_string())?;
                Ok(Assignment::Users(Arc::new(plan), Vec::new()))
            }
            Some(Asked::Devices(devices)) => {
                let mut config: SwarmConfig = serde_json::from_slice(&devices.config)
                    .map_err(|error| format!("the swarm cannot be read: {error}"))?;
                files::place_certificates(&mut config, files, folder)?;
                config.loops = request.count as usize;
                // Raises the limit of open files of this process.
                devices_per_process();
                let plan = devices::plan::Plan::new(config).map_err(|error| error.to_string())?;
                Ok(Assignment::Devices(Arc::new(plan)))
            }
            None => Err("there is nothing to run in it".to_owned()),
        }
    }

    /// Starts the loops at that time of this machine's monotonic clock; returns how far ahead it
    /// is, in nanoseconds.
    pub(crate) fn begin(&self, id: u64, at_ns: u64) -> Result<i64, Refusal> {
        self.order(id, Order::Start { epoch_ns: at_ns })?;
        let ahead = i128::from(at_ns) - i128::from(monotonic_ns());
        Ok(i64::try_from(ahead).unwrap_or(if ahead < 0 { i64::MIN } else { i64::MAX }))
    }

    /// Gives all loops of a run an order.
    pub(crate) fn order(&self, id: u64, order: Order) -> Result<(), Refusal> {
        let mut run = self.run.lock();
        match &of(&mut run, id)?.loops {
            Some(loops) => loops.members.iter().for_each(|member| member.order(order)),
            None => return Err(Refusal::rejected("LOAD-003", "the run was not prepared")),
        }
        Ok(())
    }

    /// Ends whatever is run here: the worker leaves.
    pub(crate) fn vacate(&self) {
        let held = self.run.lock().as_ref().map(|run| (run.id, Arc::clone(&run.queue)));
        if let Some((id, queue)) = held {
            let leaving = event::Event::Leaving("it was ordered to leave".to_owned());
            // A full queue means that nobody listens.
            let _ = queue.push(proto::Event { event: Some(leaving) });
            self.leave(id);
        }
    }

    /// Waits until the worker is free.
    pub(crate) fn wait_free(&self, within: Duration) -> bool {
        let until = Instant::now() + within;
        while self.is_taken() {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5)); // Loops that end wake nobody who waits with a deadline.
        }
        true
    }

    /// The run's coordinator has gone.
    fn leave(&self, id: u64) {
        let mut held = self.run.lock();
        let Some(run) = held.as_mut().filter(|run| run.id == id) else { return };
        run.ending = true;
        match &run.loops {
            // The thread that follows them frees the worker when they have ended.
            Some(loops) if !run.over => loops.members.iter().for_each(|member| member.order(Order::Stop)),
            _ => *held = None,
        }
    }

    /// All loops have ended: the worker is free once the coordinator has gone too.
    fn ended(&self, id: u64) {
        let mut held = self.run.lock();
        let Some(run) = held.as_mut().filter(|run| run.id == id) else { return };
        run.over = true;
        if run.ending {
            *held = None;
        }
    }

    /// Follows the loops to their end, and reports to the coordinator.
    fn follow(&self, id: u64, queue: &Queue, events: &Receiver<Event>, own: Sender<Event>, count: u32) {
        // The loops have senders of their own: without this one the channel ends with the last of them.
        drop(own);
        let mut watch = Watch::new();
        let mut beat_at = Instant::now() + BEAT;
        let mut running = count;
        while running > 0 {
            let event = match events.recv_timeout(beat_at.saturating_duration_since(Instant::now())) {
                Ok(Event::Tally(tally)) => match serde_json::to_vec(&tally) {
                    Ok(json) => event::Event::Tally(json),
                    Err(error) => {
                        tracing::error!(%error, "A tally cannot be written");
                        continue;
                    }
                },
                Ok(Event::Ended { share, result }) => {
                    running -= 1;
                    let error = result.err().map(|error| error.to_string()).unwrap_or_default();
                    event::Event::Ended(proto::Ended { share, error })
                }
                Ok(_) => continue,
                Err(RecvTimeoutError::Timeout) => {
                    beat_at = Instant::now() + BEAT;
                    let load = watch.look().unwrap_or_default();
                    event::Event::Beat(proto::Beat { machine_busy: load.busy, steal: load.steal })
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if queue.push(proto::Event { event: Some(event) }).is_err() {
                tracing::warn!("The coordinator takes no events: its run ends here");
                self.leave(id);
            }
        }
        queue.close();
        self.ended(id);
    }
}

fn of(run: &mut Option<Run>, id: u64) -> Result<&mut Run, Refusal> {
    run.as_mut().filter(|run| run.id == id && !run.ending).ok_or_else(|| {
        Refusal::rejected("LOAD-002", "this worker does not have that run: it was ended, or never attached")
    })
}
