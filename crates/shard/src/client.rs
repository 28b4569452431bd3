//! How everybody else reaches the shards of this process: which shard is asked what.
//!
//! Most commands belong to one shard: that of the queue's name, or of the job's id. Those of a spread
//! queue, and those that name jobs of several shards, are taken apart here and their answers put
//! together ([`Gather`]).

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stadium_queue::{
    Answer, Bounds, Command, JobId, JobSet, Lease, Merge, NewJob, QueueName, Refusal, Spread,
};

use crate::core::{Confirmation, Delivery, Progress, Request, Search};
use crate::error::{busy, rejected};
use crate::gather::Gather;
use crate::mailbox::{Letter, Mailbox};
use crate::routes::{Reach, Routes};
use crate::threads::Threads;
use crate::ticket::{Holder, One, Slot, Ticket};
use crate::{Courier, Error, Settings, ShardMetrics};

/// The shards of this process. Cheap to clone.
///
/// They run until [`Self::stop`]; dropping the last clone ends nothing.
#[derive(Clone)]
pub struct Shards {
    pub(crate) inner: Arc<Inner>,
}

/// What all who submit and all shards share.
pub(crate) struct Inner {
    pub(crate) mailboxes: Vec<Mailbox>,
    pub(crate) routes: Routes,
    pub(crate) threads: Threads,
    pub(crate) courier: OnceLock<Arc<dyn Courier>>,
}

impl Shards {
    /// Starts all shards and waits until each has recovered. `progress` is told how far each one is, from its own
    /// thread, every few thousand records.
    ///
    /// # Errors
    ///
    /// The first shard that cannot start; the others are stopped again.
    pub fn open(
        settings: Settings,
        progress: impl Fn(u16, Progress) + Send + Sync + 'static,
    ) -> Result<Shards, Error> {
        let mailbox = |_| Mailbox::new(settings.mailbox_commands_max, settings.mailbox_bytes_max);
        let inner = Arc::new(Inner {
            mailboxes: (0..settings.count).map(mailbox).collect(),
            routes: Routes::new(settings.count),
            threads: Threads::new(settings.count),
            courier: OnceLock::new(),
        });
        crate::threads::start(&inner, settings, Arc::new(progress))?;
        let shards = Shards { inner };
        shards.finish_spreading();
        shards.finish_declaring();
        Ok(shards)
    }

    /// Hands a command to the shard that it belongs to, or to several where the queue is spread.
    ///
    /// Never waits: where a shard's mailbox is full the ticket is at once a `Busy`. A ticket that is
    /// dropped takes back a reserve that still waits; everything else happens all the same.
    pub fn submit(&self, command: Command) -> Ticket {
        let inner = &self.inner;
        let routes = &inner.routes;
        match command {
            Command::Put { ref queue, .. } => match routes.reach(queue) {
                Reach::Home | Reach::Partly => inner.ask(routes.home(queue), command),
                Reach::Everywhere => inner.put_spread(command),
            },
            Command::Reserve { ref queue, .. } => match routes.reach(queue) {
                Reach::Home => inner.ask(routes.home(queue), command),
                Reach::Partly | Reach::Everywhere => inner.reserve_spread(command),
            },
            Command::Settle { leases } => inner.by_lease(leases, |leases| Command::Settle { leases }),
            Command::Release { leases, retry, error } => {
                inner.by_lease(leases, |leases| Command::Release { leases, retry, error: error.clone() })
            }
            Command::Extend { leases, lease } => {
                inner.by_lease(leases, |leases| Command::Extend { leases, lease })
            }
            Command::Bury { leases, reason } => {
                inner.by_lease(leases, |leases| Command::Bury { leases, reason: reason.clone() })
            }
            Command::Delete { jobs } => inner.by_shard(jobs, JobId::shard, |jobs| Command::Delete { jobs }),
            Command::Forward { lease, .. } => inner.ask(lease.job.shard(), command),
            Command::Edit { job, .. } | Command::Find { job } | Command::History { job } => {
                inner.ask(job.shard(), command)
            }
            Command::Kick { queue, jobs } => {
                let kick = |queue: &QueueName, jobs| Command::Kick { queue: queue.clone(), jobs };
                inner.by_set(queue, jobs, kick)
            }
            Command::Redrive { queue, jobs, to } => {
                let redrive =
                    |queue: &QueueName, jobs| Command::Redrive { queue: queue.clone(), jobs, to: to.clone() };
                inner.by_set(queue, jobs, redrive)
            }
            Command::Purge { ref queue, .. } => inner.where_spread(queue, &command, Merge::Sum),
            Command::Pause { ref queue } | Command::Resume { ref queue } | Command::Drop { ref queue } => {
                inner.where_spread(queue, &command, Merge::Done)
            }
            Command::Declare { ref queue, ref settings } => {
                if settings.spread == Spread::AllShards && routes.shards() > 1 {
                    inner.ask_all(&command, Merge::Done)
                } else {
                    inner.where_spread(queue, &command, Merge::Done)
                }
            }
            Command::Stats { ref queue } => {
                inner.where_spread(queue, &command, Merge::Queues { queues_max: 1 })
            }
            Command::List { queues_max, .. } => {
                inner.ask_all(&command, Merge::Queues { queues_max: queues_max as usize })
            }
            Command::Peek { ref queue, after, jobs_max, .. } => match routes.reach(queue) {
                Reach::Home => inner.ask(routes.home(queue), command),
                Reach::Partly | Reach::Everywhere => inner.peek_spread(&command, after, jobs_max),
            },
            Command::Schedule { ref queue, .. }
            | Command::Unschedule { ref queue, .. }
            | Command::Schedules { ref queue } => inner.ask(routes.home(queue), command),
        }
    }

    /// Figures of each shard, as they were at most a tenth of a second ago.
    pub fn metrics(&self) -> Vec<ShardMetrics> {
        let with_mailbox = |(mailbox, mut metrics): (&Mailbox, ShardMetrics)| {
            (metrics.mailbox_commands, metrics.mailbox_bytes, metrics.mailbox_full) = mailbox.figures();
            metrics
        };
        self.inner.mailboxes.iter().zip(self.inner.threads.metrics()).map(with_mailbox).collect()
    }

    /// Has each shard write a checkpoint now, beside its other work.
    pub fn checkpoint_soon(&self) {
        for mailbox in &self.inner.mailboxes {
            mailbox.post(Letter::Checkpoint);
        }
    }

    /// Lets all consumers go that wait for a job, with nothing, and has none wait from now on: before a stop, so that nobody holds it up.
    pub fn stop_waiting(&self) {
        for mailbox in &self.inner.mailboxes {
            mailbox.post(Letter::StopWaiting);
        }
    }

    /// Stops all shards: new commands are told Busy, waiting consumers get nothing, what was begun is finished, last checkpoints are
    /// written. Returns when their threads have ended, or after `at_most`; then false. May be called twice.
    pub fn stop(&self, at_most: Duration) -> bool {
        for mailbox in &self.inner.mailboxes {
            mailbox.post(Letter::Stop);
        }
        self.inner.threads.join(at_most)
    }

    /// Finishes what a crash left half done: a queue that only some shards declare spread.
    fn finish_spreading(&self) {
        for queue in self.inner.routes.partly_spread() {
            let declared = self.inner.threads.declared(&queue);
            if let Some(settings) = declared {
                // Where it does not succeed consumers go on asking all shards.
                drop(self.submit(Command::Declare { queue, settings }));
            }
        }
    }
}

impl Inner {
    /// Asks one shard.
    fn ask(self: &Arc<Self>, shard: u16, command: Command) -> Ticket {
        match self.one(shard, command, Search::Here) {
            Ok(one) => Ticket::one(one),
            Err(refusal) => Ticket::refused(refusal),
        }
    }

    fn one(self: &Arc<Self>, shard: u16, command: Command, search: Search) -> Result<One, Refusal> {
        let mailbox = self.mailbox(shard)?;
        let taken_back = matches!(command, Command::Reserve { .. }).then(|| Arc::clone(self));
        let slot = Slot::new();
        mailbox.queue_request(Request { caller: Holder::new(&slot), command, search })?;
        Ok(One::new(slot, taken_back))
    }

    pub(crate) fn mailbox(&self, shard: u16) -> Result<&Mailbox, Refusal> {
        self.mailboxes.get(usize::from(shard)).ok_or_else(|| {
            let reason =
                format!("a job of the shard {shard} cannot be here: there are {}", self.mailboxes.len());
            rejected("SHARD-009", reason)
        })
    }

    fn ask_all(self: &Arc<Self>, command: &Command, merge: Merge) -> Ticket {
        if self.routes.shards() == 1 {
            return self.ask(0, command.clone());
        }
        let parts =
            (0..self.routes.shards()).map(|shard| self.one(shard, command.clone(), Search::Here)).collect();
        Ticket::many(Gather::of_queues(parts, merge))
    }

    fn where_spread(self: &Arc<Self>, queue: &QueueName, command: &Command, merge: Merge) -> Ticket {
        match self.routes.reach(queue) {
            Reach::Home => self.ask(self.routes.home(queue), command.clone()),
            Reach::Partly | Reach::Everywhere => self.ask_all(command, merge),
        }
    }

    /// Each part of what was named to the shard that it belongs to.
    fn by_shard<T>(
        self: &Arc<Self>,
        all: Vec<T>,
        shard_of: impl Fn(T) -> u16,
        command: impl Fn(Vec<T>) -> Command,
    ) -> Ticket
    where
        T: Copy,
    {
        let first = all.first().map_or(0, |&one| shard_of(one));
        if all.iter().all(|&one| shard_of(one) == first) {
            return self.ask(first, command(all));
        }
        let whole = all.len();
        let (places, parts) = apart(all, |&one| shard_of(one));
        let parts =
            parts.into_iter().map(|(shard, part)| self.one(shard, command(part), Search::Here)).collect();
        Ticket::many(Gather::of_queues(parts, Merge::ByPlace { places, whole }))
    }

    fn by_lease(self: &Arc<Self>, leases: Vec<Lease>, command: impl Fn(Vec<Lease>) -> Command) -> Ticket {
        self.by_shard(leases, |lease| lease.job.shard(), command)
    }

    fn by_set(
        self: &Arc<Self>,
        queue: QueueName,
        jobs: JobSet,
        command: impl Fn(&QueueName, JobSet) -> Command,
    ) -> Ticket {
        if self.routes.reach(&queue) == Reach::Home {
            return self.ask(self.routes.home(&queue), command(&queue, jobs));
        }
        let parts = match jobs {
            JobSet::Ids(ids) => {
                let (_, parts) = apart(ids, |job| job.shard());
                parts.into_iter().map(|(shard, ids)| (shard, JobSet::Ids(ids))).collect::<Vec<_>>()
            }
            // Which shard has the oldest ones is not known: each gives its share.
            JobSet::Oldest(count) => {
                let shards = u32::from(self.routes.shards());
                let share = |shard: u32| count / shards + u32::from(shard < count % shards);
                (0..shards)
                    .filter(|&shard| share(shard) > 0)
                    .map(|shard| (shard as u16, JobSet::Oldest(share(shard))))
                    .collect()
            }
        };
        let parts = parts
            .into_iter()
            .map(|(shard, jobs)| self.one(shard, command(&queue, jobs), Search::Here))
            .collect();
        Ticket::many(Gather::of_queues(parts, Merge::Sum))
    }

    /// Jobs with a key go to the key's shard, the others of a put to one shard together.
    fn put_spread(self: &Arc<Self>, command: Command) -> Ticket {
        let Command::Put { queue, jobs } = command else {
            unreachable!("only a put comes here");
        };
        if jobs.len() > Bounds::JOBS_MAX {
            // The shard says what is wrong with it.
            return self.ask(self.routes.home(&queue), Command::Put { queue, jobs });
        }
        let at_turn = self.routes.turn();
        let shard_of =
            |job: &NewJob| self.routes.of_job(&queue, job.key.as_ref(), Reach::Everywhere, at_turn);
        let first = jobs.first().map_or(at_turn, shard_of);
        if jobs.iter().all(|job| shard_of(job) == first) {
            return self.ask(first, Command::Put { queue, jobs });
        }
        let whole = jobs.len();
        let (places, parts) = apart(jobs, shard_of);
        let put = |(shard, jobs)| self.one(shard, Command::Put { queue: queue.clone(), jobs }, Search::Here);
        let parts = parts.into_iter().map(put).collect();
        Ticket::many(Gather::of_queues(parts, Merge::ByPlace { places, whole }))
    }

    /// Asks the shards in their turn; where none has a job, it waits at all of them.
    fn reserve_spread(self: &Arc<Self>, command: Command) -> Ticket {
        let search = Search::Then { shards: self.routes.shards() - 1 };
        match self.one(self.routes.turn(), command, search) {
            Ok(one) => Ticket::one(one),
            Err(refusal) => Ticket::refused(refusal),
        }
    }

    /// Pages go through the shards one after the other: the last page's job says in which one it ended.
    fn peek_spread(self: &Arc<Self>, command: &Command, after: Option<JobId>, jobs_max: u32) -> Ticket {
        let from = after.map_or(0, JobId::shard).min(self.routes.shards());
        let ask = |shard: u16| {
            let mut command = command.clone();
            if let Command::Peek { after, .. } = &mut command {
                *after = after.filter(|job| job.shard() == shard);
            }
            self.one(shard, command, Search::Here)
        };
        let parts = (from..self.routes.shards()).map(ask).collect();
        Ticket::many(Gather::of_queues(parts, Merge::Jobs { jobs_max: jobs_max as usize }))
    }

    /// Nobody waits for this request any more.
    pub(crate) fn vanished(&self, caller: u64) {
        for mailbox in &self.mailboxes {
            mailbox.post(Letter::Vanished(caller));
        }
    }

    /// What an answer reserved goes back, since nobody took it.
    pub(crate) fn release(&self, answer: &crate::Answer) {
        let crate::Answer::Queue(Answer::Reserved(jobs)) = answer else {
            return;
        };
        if let Some(first) = jobs.first() {
            let shard = usize::from(first.lease.job.shard());
            let leases = jobs.iter().map(|job| job.lease).collect();
            if let Some(mailbox) = self.mailboxes.get(shard) {
                mailbox.post(Letter::Release(leases));
            }
        }
    }

    /// A shard found nothing to reserve: the next one is asked, or all at once.
    pub(crate) fn pass_on(&self, shard: u16, request: Request<Holder>) {
        let Request { caller, command, search } = request;
        match search {
            Search::Then { shards: 0 } | Search::Here | Search::Everywhere(_) => {
                let claim = crate::core::Claim::new();
                let mut refused = None;
                for mailbox in &self.mailboxes {
                    let search = Search::Everywhere(claim.clone());
                    let request = Request { caller: caller.clone(), command: command.clone(), search };
                    refused = mailbox.queue_request(request).err().or(refused);
                }
                // One that is waited for nowhere would wait for ever; where some shards took it, those answer.
                if let Some(refusal) = refused
                    && claim.take()
                {
                    answer(&caller, refusal);
                }
            }
            Search::Then { shards } => {
                let next = (usize::from(shard) + 1) % self.mailboxes.len();
                let search = Search::Then { shards: shards - 1 };
                let kept = caller.clone();
                if let Err(refusal) = self.mailboxes[next].queue_request(Request { caller, command, search })
                {
                    answer(&kept, refusal);
                }
            }
        }
    }

    /// Something for another shard, and what comes back.
    pub(crate) fn deliver(&self, from: u16, to: u16, delivery: Delivery) {
        let shard = match &delivery {
            Delivery::Job(job) => {
                let stadium_queue::Letter { queue, job } = &job.letter;
                let reach = self.routes.reach(queue);
                // Without a key the home takes it: the same one each time that it is sent.
                let home = self.routes.home(queue);
                self.routes.of_job(queue, job.key.as_ref(), reach, home)
            }
            Delivery::Wallet(_) | Delivery::Push(_) => to,
        };
        let stopped = |shard: u16| busy("SHARD-004", 5_000, format!("the shard {shard} has stopped"));
        let confirmation = delivery.confirmation(Err(stopped(shard)));
        let is_posted = self
            .mailboxes
            .get(usize::from(shard))
            .is_some_and(|mailbox| mailbox.post(Letter::Delivery(Box::new(delivery))));
        if !is_posted {
            self.confirm(from, confirmation);
        }
    }

    pub(crate) fn confirm(&self, to: u16, confirmation: Confirmation) {
        if let Some(mailbox) = self.mailboxes.get(usize::from(to)) {
            mailbox.post(Letter::Confirmation(confirmation));
        }
    }
}

fn answer(caller: &Holder, refusal: Refusal) {
    if let Ok(Some(waker)) = caller.answer(Err(refusal)) {
        waker.wake();
    }
}

/// What belongs to each shard, in its order, and where in the whole it stood.
#[expect(clippy::type_complexity, reason = "two lists that belong together")]
fn apart<T>(all: Vec<T>, shard_of: impl Fn(&T) -> u16) -> (Vec<Vec<usize>>, Vec<(u16, Vec<T>)>) {
    let mut places: Vec<Vec<usize>> = Vec::new();
    let mut parts: Vec<(u16, Vec<T>)> = Vec::new();
    for (place, one) in all.into_iter().enumerate() {
        let shard = shard_of(&one);
        let at = parts.iter().position(|&(of, _)| of == shard).unwrap_or_else(|| {
            places.push(Vec::new());
            parts.push((shard, Vec::new()));
            parts.len() - 1
        });
        places[at].push(place);
        parts[at].1.push(one);
    }
    (places, parts)
}
