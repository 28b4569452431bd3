//! The whole simulation: the server takes steps, programs work meanwhile, and faults happen.
//!
//! Time goes on when all wait for it. Each program is a task; a kill drops it in the middle of
//! whatever it does. At the end nothing fails any more, a backup must succeed, and nothing is left
//! in the store but what it names.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use fastrand::Rng;
use stadium_archive::{Archive, Backup, Error, Keep, Moment, Pruned, prune, restore_from};
use stadium_objects::Error as StoreError;
use tokio::task::{JoinHandle, LocalSet};

use super::Sabotage;
use super::books::Books;
use super::plan::{Faults, Plan};
use super::programs::{place, removes, settings, writes};
use super::restores::{Target, restores};
use super::server::Server;
use super::state::time_of;
use super::store::{Bucket, Handle};
use super::time::Time;
use crate::trace::Trace;

/// The slot of the world itself, and those of the programs.
const WORLD: u64 = 0;
/// The server, which writes backups.
pub const SERVER: u64 = 1;
/// Another program that removes old backups.
const REMOVER: u64 = 2;
/// Another program that writes backups.
const SECOND_WRITER: u64 = 3;
/// A program that restores.
pub const RESTORER: u64 = 4;
/// The end of a run, when nothing fails any more.
const FINAL: u64 = 5;

/// Markers of killed programs count for so long, milliseconds.
const MARKERS_MS: u64 = 660_000;
/// A backup must succeed within this time when nothing fails any more, milliseconds.
const SUCCEEDS_MS: u64 = 3_600_000;

/// The report of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Backups that were stored.
    pub backups: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Removals that ended.
    pub removals: u64,
    /// Backups that were removed.
    pub removed: u64,
    /// Objects that were removed.
    pub objects: u64,
    /// Removals that failed.
    pub unremoved: u64,
    /// Restores that were compared, those of checks included.
    pub restored: u64,
    /// Restores to a moment between two backups among them.
    pub between: u64,
    /// Restores that were refused or failed.
    pub unrestored: u64,
    /// Kills of the server and of programs.
    pub kills: u64,
    /// Restores that began in a directory that a killed one left.
    pub begun_again: u64,
    /// Programs that were stopped for minutes.
    pub stops: u64,
    /// Segments that went though no backup had them.
    pub forced: u64,
    /// Bits that were flipped, and found.
    pub found_flips: u64,
    /// Requests that happened.
    pub requests: u64,
    /// Requests that failed, or whose answer was lost.
    pub failures: u64,
    /// Records of the server.
    pub records: u64,
    /// The root of all shards.
    pub root: u64,
}

impl std::ops::AddAssign for Summary {
    fn add_assign(&mut self, other: Self) {
        let add = |to: &mut u64, more: u64| *to = to.wrapping_add(more);
        add(&mut self.backups, other.backups);
        add(&mut self.failed, other.failed);
        add(&mut self.removals, other.removals);
        add(&mut self.removed, other.removed);
        add(&mut self.objects, other.objects);
        add(&mut self.unremoved, other.unremoved);
        add(&mut self.restored, other.restored);
        add(&mut self.between, other.between);
        add(&mut self.unrestored, other.unrestored);
        add(&mut self.kills, other.kills);
        add(&mut self.begun_again, other.begun_again);
        add(&mut self.stops, other.stops);
        add(&mut self.forced, other.forced);
        add(&mut self.found_flips, other.found_flips);
        add(&mut self.requests, other.requests);
        add(&mut self.failures, other.failures);
        add(&mut self.records, other.records);
        add(&mut self.root, other.root);
    }
}

/// The parts that all programs of a run share.
pub struct Shared {
    /// The plan.
    pub plan: Plan,
    /// The rule that is broken.
    pub sabotage: Sabotage,
    /// The time.
    pub time: Time,
    /// The server.
    pub server: RefCell<Server>,
    /// The checker's books.
    pub books: RefCell<Books>,
    /// The report.
    pub summary: RefCell<Summary>,
    /// The objects.
    pub bucket: Arc<Mutex<Bucket>>,
    /// A folder for restores.
    pub scratch: PathBuf,
    violation: RefCell<Option<String>>,
    trace: RefCell<Trace>,
}

impl Shared {
    /// A line of the trace.
    pub fn says(&self, text: impl FnOnce() -> String) {
        let now_ms = self.time.now_ms();
        self.trace.borrow_mut().text(|| format!("{now_ms:>9} ms  {}", text()));
    }

    /// A promise was broken.
    pub fn broken(&self, what: String) {
        self.violation.borrow_mut().get_or_insert(what);
    }

    /// An attempt to write a backup failed, which it may for some reasons.
    pub fn failed(&self, what: &str, error: &Error) {
        self.says(|| format!("{what} fails: {error}"));
        self.summary.borrow_mut().failed += 1;
        let is_expected = match error {
            Error::Conflict(_) | Error::Fenced { .. } | Error::Books(_) => self.plan.has_second_writer,
            Error::Incomplete(_) | Error::Changed(_) | Error::Busy(_) => true,
            other => is_of_store(other),
        };
        if !is_expected {
            self.broken(format!("{what} fails: {error}"));
        }
    }

    /// A removal ended.
    pub fn removed(&self, by: &str, pruned: Result<Pruned, Error>) {
        match pruned {
            Ok(pruned) => {
                self.says(|| format!("{by} removes {pruned:?}"));
                let mut summary = self.summary.borrow_mut();
                summary.removals += 1;
                summary.removed += pruned.backups;
                summary.objects += pruned.objects;
            }
            Err(error) => {
                self.says(|| format!("{by} removes nothing: {error}"));
                self.summary.borrow_mut().unremoved += 1;
                if !matches!(error, Error::Busy(_) | Error::Incomplete(_)) && !is_of_store(&error) {
                    self.broken(format!("a removal by {by} fails: {error}"));
                }
            }
        }
    }

    /// The backups that the store has now, as a program without faults reads them.
    pub async fn observed(bucket: &Arc<Mutex<Bucket>>) -> Result<Option<(Archive, Vec<Backup>)>, Error> {
        let archive = match Archive::open(
            place(&Handle::at_once(bucket)).await,
            &settings(0, &Time::default()),
        )
        .await
        {
            Err(Error::Incomplete(_)) => return Ok(None),
            opened => opened?,
        };
        let mut backups = Vec::new();
        for number in archive.backups().await? {
            backups.push(archive.backup(number).await?);
        }
        Ok(Some((archive, backups)))
    }

    /// Restores from the store as it is now and compares: the newest backup, the oldest, one of the
    /// others and a moment between two.
    async fn check(&self, rng: &mut Rng) -> Result<(), String> {
        let bucket = Arc::new(Mutex::new(self.bucket.lock().unwrap_or_else(PoisonError::into_inner).clone()));
        let observed = Self::observed(&bucket).await;
        let Some((archive, backups)) =
            observed.map_err(|error| format!("backups cannot be read: {error}"))?
        else {
            return Ok(());
        };
        let keeps: Vec<Keep> = [self.plan.own_keep, self.plan.other_keep].into_iter().flatten().collect();
        self.books.borrow_mut().check(&backups, &keeps)?;
        if backups.is_empty() {
            return Ok(());
        }
        let mut targets = vec![Target::Backup(backups.len() - 1), Target::Backup(0)];
        targets.push(Target::any(&backups, rng));
        targets.push(Target::between(&backups, rng));
        for target in targets {
            let to = self.scratch.join("check");
            let moment = target.moment(&backups);
            match restore_from(&archive, &to, moment, time_of).await {
                Ok(restoration) => {
                    self.says(|| format!("a check restores {moment:?}"));
                    self.compare(&to, &restoration.backup, restoration.moment_ms)?;
                    self.summary.borrow_mut().between += u64::from(matches!(moment, Moment::At(_)));
                    std::fs::remove_dir_all(&to).map_err(|error| error.to_string())?;
                }
                Err(Error::NotCovered(_)) if target.may_be_lost(&backups, &self.books.borrow()) => {}
                Err(error) => return Err(format!("{moment:?} cannot be restored: {error}")),
            }
        }
        Ok(())
    }

    /// Compares a restored directory with the server as it was at a moment.
    pub fn compare(&self, restored: &Path, backup: &Backup, moment_ms: u64) -> Result<(), String> {
        self.summary.borrow_mut().restored += 1;
        let within_ms = self.books.borrow().written_within(backup)?;
        let server = self.server.borrow();
        for shard in &server.shards {
            shard.compare(restored, moment_ms)?;
        }
        server.compare_files(restored, backup, within_ms)
    }
}

/// Whether the store failed, as it may.
pub fn is_of_store(error: &Error) -> bool {
    matches!(error, Error::Store(StoreError::Refused { .. } | StoreError::Full { .. }))
}

/// Runs a seed.
pub fn run(seed: u64, sabotage: Sabotage, trace: Trace) -> (Result<Summary, String>, Trace) {
    // Made before the seed decides: its name is unique on this machine.
    let folder = match Path::new("/dev/shm") {
        memory if memory.is_dir() => tempfile::tempdir_in(memory),
        _ => tempfile::tempdir(),
    };
    let folder = folder.expect("a folder can be had");
    fastrand::seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime can be had");
    let plan = Plan::new(seed);
    let server = match Server::new(&folder.path().join("data"), plan.shards) {
        Ok(server) => server,
        Err(what) => return (Err(what), trace),
    };
    let time = Time::default();
    let shared = Rc::new(Shared {
        sabotage,
        time: time.clone(),
        server: RefCell::new(server),
        books: RefCell::default(),
        summary: RefCell::default(),
        bucket: Arc::default(),
        scratch: folder.path().to_owned(),
        violation: RefCell::default(),
        trace: RefCell::new(trace),
        plan,
    });
    let outcome = LocalSet::new().block_on(&runtime, async {
        let shared = Rc::clone(&shared);
        let world = time.start(async move {
            let mut world = World::new(shared);
            let outcome = world.run().await;
            world.end_all().await;
            outcome
        });
        time.drive(world).await
    });
    let (summary, trace) = (*shared.summary.borrow(), shared.trace.take());
    (outcome.map(|()| summary), trace)
}

struct World {
    shared: Rc<Shared>,
    rng: Rng,
    programs: Vec<Program>,
}

struct Program {
    slot: u64,
    handle: Handle,
    task: JoinHandle<()>,
}

impl World {
    fn new(shared: Rc<Shared>) -> Self {
        let rng = Rng::with_seed(shared.plan.seed ^ 0x574F_524C);
        let mut world = Self { shared, rng, programs: Vec::new() };
        let plan = &world.shared.plan;
        let mut slots = vec![SERVER, RESTORER];
        slots.extend(plan.other_keep.map(|_| REMOVER));
        slots.extend(plan.has_second_writer.then_some(SECOND_WRITER));
        for slot in slots {
            world.start(slot);
        }
        world
    }

    fn start(&mut self, slot: u64) {
        let plan = &self.shared.plan;
        let sabotage = self.shared.sabotage;
        let way = (plan.seed, slot);
        let handle = Handle::new(&self.shared.bucket, way, self.shared.time.clone(), plan.faults, sabotage);
        let (shared, to, time) = (Rc::clone(&self.shared), handle.clone(), self.shared.time.clone());
        let task = match slot {
            SERVER => time.start(writes(shared, to, slot, plan.own_keep)),
            SECOND_WRITER => time.start(writes(shared, to, slot, None)),
            REMOVER => time.start(removes(shared, to, slot, plan.other_keep.expect("it has a rule"))),
            _ => time.start(restores(shared, to, self.rng.u64(..))),
        };
        self.programs.push(Program { slot, handle, task });
    }

    async fn run(&mut self) -> Result<(), String> {
        for _ in 0..self.shared.plan.steps {
            let ms = self.rng.u64(0..=self.shared.plan.step_ms);
            self.shared.time.pause(WORLD, ms).await;
            let now_ms = self.shared.time.now_ms();
            let bytes = self.shared.plan.payload_bytes;
            self.shared.server.borrow_mut().step(now_ms, bytes, &mut self.rng)?;
            if self.shared.sabotage == Sabotage::Hold {
                self.remove_segments()?;
            }
            self.faults(now_ms).await?;
            if let Some(what) = self.shared.violation.take() {
                return Err(what);
            }
        }
        self.close().await
    }

    fn remove_segments(&mut self) -> Result<u32, String> {
        let mut server = self.shared.server.borrow_mut();
        server.shards.iter_mut().try_fold(0, |all, shard| Ok(all + shard.remove_segments(true)?))
    }

    async fn faults(&mut self, now_ms: u64) -> Result<(), String> {
        let weights = self.shared.plan.weights;
        if self.happens(weights.kill) {
            // No other program backs up a directory whose server starts: it has the locks.
            let of_directory = [SECOND_WRITER, SERVER];
            let is_of_it = |slot: &u64| of_directory.contains(slot);
            let slots: Vec<u64> = self.programs.iter().map(|program| program.slot).filter(is_of_it).collect();
            for slot in slots {
                self.kill(slot).await?;
                self.start(slot);
            }
        }
        if self.happens(weights.kill_program) {
            let others: Vec<u64> =
                self.programs.iter().map(|program| program.slot).filter(|slot| *slot != SERVER).collect();
            let slot = others[self.rng.usize(0..others.len())];
            self.kill(slot).await?;
            self.start(slot);
        }
        let spans_ms = [5_000, 120_000, 600_000, 1_500_000];
        let span_ms = spans_ms[self.rng.usize(0..spans_ms.len())];
        let until_ms = now_ms + self.rng.u64(1..=span_ms);
        if self.happens(weights.stop) {
            let program = &self.programs[self.rng.usize(0..self.programs.len())];
            program.handle.stop_until(until_ms);
            self.shared.says(|| format!("program {} is stopped until {until_ms} ms", program.slot));
            self.shared.summary.borrow_mut().stops += 1;
        }
        if self.happens(weights.away) {
            self.shared.says(|| format!("the store is away until {until_ms} ms"));
            self.bucket(|bucket| bucket.away_until_ms = until_ms);
        }
        if self.happens(weights.full) {
            self.shared.says(|| format!("the store is full until {until_ms} ms"));
            self.bucket(|bucket| bucket.full_until_ms = until_ms);
        }
        if self.happens(weights.forced) {
            let unstored = self.remove_segments()?;
            if unstored > 0 {
                self.shared.says(|| format!("the disk is full: {unstored} segments go"));
                self.shared.books.borrow_mut().lost.push(now_ms);
                self.shared.summary.borrow_mut().forced += u64::from(unstored);
            }
        }
        if self.happens(weights.check) {
            self.shared.check(&mut self.rng).await?;
        }
        Ok(())
    }

    fn happens(&mut self, one_in: u32) -> bool {
        one_in > 0 && self.rng.u32(0..one_in) == 0
    }

    fn bucket<T>(&self, change: impl FnOnce(&mut Bucket) -> T) -> T {
        change(&mut self.shared.bucket.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Kills a program. The server is killed with its backups, and starts again.
    async fn kill(&mut self, slot: u64) -> Result<(), String> {
        let at = self.programs.iter().position(|program| program.slot == slot).expect("it runs");
        let Program { task, .. } = self.programs.remove(at);
        self.shared.says(|| format!("program {slot} is killed"));
        self.shared.summary.borrow_mut().kills += 1;
        let (restored, killed) = (self.shared.scratch.join("restored"), self.shared.scratch.join("killed"));
        // A killed program cleans nothing up.
        let is_restore = slot == RESTORER && std::fs::rename(&restored, &killed).is_ok();
        task.abort();
        let _ = task.await;
        if is_restore {
            std::fs::rename(&killed, &restored).map_err(|error| error.to_string())?;
        }
        match slot {
            SERVER => self.shared.server.borrow_mut().restart(),
            _ => Ok(()),
        }
    }

    async fn end_all(&mut self) {
        for Program { task, .. } in self.programs.drain(..) {
            task.abort();
            let _ = task.await;
        }
    }

    /// Nothing fails any more. Markers of killed programs end, a backup succeeds, everything that
    /// is kept can be restored, and nothing else is left.
    async fn close(&mut self) -> Result<(), String> {
        self.end_all().await;
        self.bucket(|bucket| (bucket.away_until_ms, bucket.full_until_ms) = (0, 0));
        self.shared.time.pause(WORLD, MARKERS_MS).await;
        let before = self.shared.books.borrow().newest_acknowledged().unwrap_or(0);
        self.start(SERVER);
        self.programs[0].handle.heal();
        let until_ms = self.shared.time.now_ms() + SUCCEEDS_MS;
        while self.shared.books.borrow().newest_acknowledged().unwrap_or(0) <= before {
            self.shared.time.pause(WORLD, 1_000).await;
            self.shared.server.borrow_mut().commit()?;
            if self.shared.time.now_ms() > until_ms {
                return Err("nothing fails any more, and no backup is stored".to_owned());
            }
        }
        self.end_all().await;
        self.shared.check(&mut self.rng).await?;
        self.flip().await?;
        self.clear().await?;
        if let Some(what) = self.shared.violation.take() {
            return Err(what);
        }
        let (requests, failures) = self.bucket(|bucket| (bucket.requests, bucket.failures));
        let server = self.shared.server.borrow();
        let mut summary = self.shared.summary.borrow_mut();
        (summary.requests, summary.failures) = (requests, failures);
        for shard in &server.shards {
            summary.records += shard.state.records;
            summary.root ^= shard.state.root;
        }
        Ok(())
    }

    /// A bit of an object flips: a restore is right or refused.
    async fn flip(&mut self) -> Result<(), String> {
        let mut flipped = self.bucket(|bucket| bucket.clone());
        let Some(name) = flipped.flip(&mut self.rng) else { return Ok(()) };
        let to = self.shared.scratch.join("flipped");
        let bucket = Arc::new(Mutex::new(flipped));
        let restored = async {
            let archive =
                Archive::open(place(&Handle::at_once(&bucket)).await, &settings(0, &self.shared.time))
                    .await?;
            restore_from(&archive, &to, Moment::Newest, time_of).await
        };
        match restored.await {
            Ok(restoration) => {
                let same = self.shared.compare(&to, &restoration.backup, restoration.moment_ms);
                same.map_err(|what| format!("a bit of {name} flips: {what}"))
            }
            Err(_) => {
                self.shared.summary.borrow_mut().found_flips += 1;
                Ok(())
            }
        }
    }

    /// Only the newest backup is kept: nothing is left but what it names.
    async fn clear(&mut self) -> Result<(), String> {
        self.shared.time.pause(WORLD, MARKERS_MS).await;
        let way = (self.shared.plan.seed, FINAL);
        let handle = Handle::new(
            &self.shared.bucket,
            way,
            self.shared.time.clone(),
            Faults::default(),
            Sabotage::None,
        );
        let failed = |error: Error| format!("nothing fails any more, and nothing is removed: {error}");
        let archive =
            Archive::open(place(&handle).await, &settings(0, &self.shared.time)).await.map_err(failed)?;
        prune(&archive, Keep { count: Some(1), age_ms: None }).await.map_err(failed)?;
        let observed = Shared::observed(&self.shared.bucket).await.map_err(failed)?;
        let Some((archive, backups)) = observed else { return Err("there is no archive".to_owned()) };
        let [backup] = &backups[..] else { return Err(format!("{} backups are left", backups.len())) };
        let mut wanted = 2;
        for (shard, of_shard) in (0..).zip(&backup.shards) {
            let archive = archive.shard(shard).map_err(failed)?;
            let manifest = archive.read(of_shard.manifest).await.map_err(failed)?;
            wanted += 1 + manifest.segments().len() + manifest.checkpoints().len();
        }
        let pieces: HashSet<_> = backup.files.iter().flat_map(|file| &file.pieces).collect();
        wanted += pieces.len();
        let left = self.bucket(|bucket| bucket.names().map(str::to_owned).collect::<Vec<_>>());
        match left.len() == wanted {
            true => Ok(()),
            false => Err(format!("{wanted} objects are needed, and there are {}: {left:?}", left.len())),
        }
    }
}
