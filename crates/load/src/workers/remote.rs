//! A worker that a run has, as the head sees it: it takes orders, and its events come as those of loops do.
//!
//! A thread for each worker follows its stream. The stream is the lease: dropping it ends what the
//! worker does. A worker that shows no sign of life for [`SILENCE_MAX`] is lost, whatever the
//! reason.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use prost::Message as _;
use stadium_rpc::{CallError, CallOptions, Client, Idempotency, Pending, ServiceClient, Streaming};

use super::offset::Offset;
use super::orders;
use super::proto::{self, event, load_worker};
use crate::engine::event::{Event, Tally};
use crate::engine::order::Order;
use crate::error::Error;
use crate::machine::Load;

/// How long a worker may show no sign of life; it shows one every half second.
pub const SILENCE_MAX: Duration = Duration::from_millis(2_500);
/// How long a loop of a worker that lives may report nothing; it reports every second.
const LOOP_SILENCE_MAX: Duration = Duration::from_secs(5);
/// Between two looks of the thread that follows a worker.
const LOOK: Duration = Duration::from_millis(200);
/// Time for a call that only reports something.
pub(crate) const CALL_WITHIN: Duration = Duration::from_secs(5);

/// A worker of a run.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) offset: Offset,
    /// Its loops: `first` to `first + count - 1`.
    pub(crate) first: u32,
    pub(crate) count: u32,
    run: u64,
    service: ServiceOf,
    shared: Arc<Shared>,
    follower: Option<JoinHandle<()>>,
}

/// A worker's service, and the client that keeps its connection.
#[derive(Clone)]
pub(crate) struct ServiceOf {
    pub(crate) service: ServiceClient,
    pub(crate) _client: Client,
}

impl std::fmt::Debug for ServiceOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServiceOf")
    }
}

#[derive(Debug, Default)]
struct Shared {
    /// The run was given up: the end of the stream ends the worker's part.
    abandoned: AtomicBool,
    /// The loops have their start.
    begun: AtomicBool,
}

/// What a worker has been prepared for.
#[derive(Debug)]
pub(crate) struct Part {
    /// The worker's number in the group.
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) offset: Offset,
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) run: u64,
}

impl Remote {
    /// Follows a worker that was prepared.
    pub(crate) fn follow(
        part: Part,
        service: ServiceOf,
        events: Streaming<proto::Event>,
        out: Sender<Event>,
    ) -> Result<Self, Error> {
        let shared = Arc::new(Shared::default());
        let follower = Follower {
            number: part.number,
            first: part.first,
            shared: Arc::clone(&shared),
            heard: Instant::now(),
            reported: vec![None; part.count as usize],
            leaving: None,
            out,
        };
        let thread = std::thread::Builder::new()
            .name(format!("load-worker-{}", part.number))
            .spawn(move || follower.run(events))
            .map_err(Error::system("starting a thread"))?;
        let Part { name, address, offset, first, count, run, .. } = part;
        Ok(Remote { name, address, offset, first, count, run, service, shared, follower: Some(thread) })
    }

    /// Sends the worker its start, a time of this process's clock.
    pub(crate) fn begin(&self, epoch_ns: u64) -> Pending<proto::BeginAnswer> {
        self.shared.begun.store(true, Ordering::Relaxed);
        let request = proto::BeginRequest { run: self.run, at_ns: self.offset.there_ns(epoch_ns) };
        self.service.service.call_with(&load_worker::BEGIN, &request, &within(CALL_WITHIN))
    }

    /// Gives the worker an order; whether it came is seen by what the worker does.
    pub(crate) fn order(&self, order: Order) {
        let Some(order) = orders::write(order, &self.offset) else { return };
        let request = proto::OrderRequest { run: self.run, order: Some(order) }.encode_to_vec();
        let name = self.name.clone();
        self.service.service.call_bytes_then(
            load_worker::ORDER.route(),
            Idempotency::Unknown,
            request,
            &within(CALL_WITHIN),
            move |answer| {
                if let Err(error) = answer {
                    tracing::debug!(worker = name, %error, "A worker did not take an order");
                }
            },
        );
    }

    /// Waits until it is followed no more.
    pub(crate) fn join(&mut self) {
        if let Some(thread) = self.follower.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.shared.abandoned.store(true, Ordering::Relaxed);
        self.join();
    }
}

/// Options of a call that may take so long.
pub(crate) fn within(deadline: Duration) -> CallOptions<'static> {
    CallOptions { deadline: Some(deadline), ..CallOptions::default() }
}

/// The thread that follows a worker.
struct Follower {
    number: usize,
    first: u32,
    shared: Arc<Shared>,
    /// When the worker was last heard.
    heard: Instant,
    /// When each loop was last heard; `None` before the start and after its end.
    reported: Vec<Option<Instant>>,
    leaving: Option<String>,
    out: Sender<Event>,
}

impl Follower {
    fn run(mut self, mut events: Streaming<proto::Event>) {
        let mut begun = false;
        let mut left = self.reported.len();
        while !self.shared.abandoned.load(Ordering::Relaxed) {
            if !begun && self.shared.begun.load(Ordering::Relaxed) {
                begun = true;
                self.reported.fill(Some(Instant::now()));
            }
            match events.next_within(LOOK) {
                Ok(Some(event)) => {
                    self.heard = Instant::now();
                    match self.take(event) {
                        Ok(ended) => left -= usize::from(ended),
                        Err(why) => return self.lose(why),
                    }
                }
                Ok(None) if left == 0 && self.leaving.is_none() => return,
                Ok(None) => {
                    let why = self.leaving.take();
                    return self.lose(why.unwrap_or_else(|| "it ended before its loops did".to_owned()));
                }
                Err(CallError::Deadline) => {
                    if let Some(why) = self.silent() {
                        return self.lose(why);
                    }
                }
                Err(error) => {
                    let why = self.leaving.take();
                    return self.lose(why.unwrap_or_else(|| error.to_string()));
                }
            }
        }
    }

    /// Whether the worker, or a loop of it, has been silent for too long.
    fn silent(&self) -> Option<String> {
        if self.heard.elapsed() > SILENCE_MAX {
            return Some(format!("no sign of life for {:.1} s", SILENCE_MAX.as_secs_f64()));
        }
        let late = |reported: &Option<Instant>| {
            reported.is_some_and(|reported| reported.elapsed() > LOOP_SILENCE_MAX)
        };
        let index = self.reported.iter().position(late)?;
        Some(format!(
            "its loop {} reported nothing for {} s",
            self.first as usize + index,
            LOOP_SILENCE_MAX.as_secs()
        ))
    }

    /// Hands an event on. Returns whether a loop has ended.
    fn take(&mut self, event: proto::Event) -> Result<bool, String> {
        match event.event {
            Some(event::Event::Tally(json)) => {
                let tally: Tally = serde_json::from_slice(&json)
                    .map_err(|error| format!("its tally cannot be read: {error}"))?;
                let place = self.place(tally.share())?;
                *place = (!tally.is_last()).then(Instant::now);
                let _ = self.out.send(Event::Tally(tally));
            }
            Some(event::Event::Ended(ended)) => {
                *self.place(ended.share)? = None;
                if !ended.error.is_empty() {
                    return Err(format!("its loop {}: {}", ended.share, ended.error));
                }
                if self.leaving.is_none() {
                    let _ = self.out.send(Event::Ended { share: ended.share, result: Ok(()) });
                }
                return Ok(true);
            }
            Some(event::Event::Beat(beat)) => {
                let load = Load { busy: beat.machine_busy, steal: beat.steal };
                let _ = self.out.send(Event::Load { worker: self.number, load });
            }
            Some(event::Event::Leaving(why)) => self.leaving = Some(why),
            Some(event::Event::Attached(_)) | None => {}
        }
        Ok(false)
    }

    fn place(&mut self, share: u32) -> Result<&mut Option<Instant>, String> {
        let index = share.checked_sub(self.first).map(|index| index as usize);
        index
            .and_then(|index| self.reported.get_mut(index))
            .ok_or_else(|| format!("it reported loop {share}, which is not its own"))
    }

    fn lose(self, why: String) {
        let _ = self.out.send(Event::Lost { worker: self.number, why });
    }
}
