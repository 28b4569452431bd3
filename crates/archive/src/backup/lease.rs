//! Backups and removals never overlap: each has a marker in the store while it works.
//!
//! Each side stores its marker first and looks for those of the other side then, so at least one of
//! two sees the other. A marker is stored again every two minutes and counts for ten, by the clock
//! of the store. A writer that could not renew its own marker in time gives up before it creates or
//! removes anything else. So an object that a backup finds in the store and does not upload again
//! stays there until the backup names it, however long the upload takes.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use object_store::{ObjectStoreExt as _, PutPayload};
use parking_lot::Mutex;
use stadium_objects::Place;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::root::{Root, now_ms};
use crate::{Clock, Error, layout, series};

/// A marker counts for this time after it was stored.
const COUNTS: Duration = Duration::from_secs(600);
/// The time between two renewals: four failures in a row are survived.
const RENEWED_EVERY: Duration = Duration::from_secs(120);
/// The time between two looks at the other side's markers.
const LOOKS_EVERY: Duration = Duration::from_millis(200);

/// The two sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Backup,
    Removal,
}

impl Side {
    fn suffix(self) -> &'static str {
        match self {
            Self::Backup => "backup",
            Self::Removal => "removal",
        }
    }
}

/// A marker in the store, kept alive by a task. Dropped without a release, it counts until it is ten
/// minutes old.
#[derive(Debug)]
pub(super) struct Lease {
    place: Place,
    name: String,
    clock: Arc<dyn Clock>,
    stored: Arc<Mutex<Stored>>,
    /// Closed when the marker no longer counts.
    counts: watch::Receiver<()>,
    task: JoinHandle<()>,
}

/// When the marker was stored last, by two clocks: one stands still while the machine sleeps, the
/// other can be set.
#[derive(Clone, Copy, Debug)]
struct Stored {
    at: Duration,
    at_ms: u64,
}

impl Stored {
    fn now(clock: &dyn Clock) -> Self {
        Self { at: clock.now(), at_ms: now_ms() }
    }

    /// Time that has passed by the clock on which more has.
    fn age(self, clock: &dyn Clock) -> Duration {
        let by_wall = Duration::from_millis(now_ms().saturating_sub(self.at_ms));
        clock.now().saturating_sub(self.at).max(by_wall)
    }

    /// The marker may no longer count soon: a fifth of its time is left for what follows.
    fn is_over(self, clock: &dyn Clock) -> bool {
        self.age(clock) > COUNTS * 4 / 5
    }
}

impl Lease {
    /// Stores a marker and waits until the other side has ended.
    ///
    /// # Errors
    /// `Busy` where it does not end in time; of the store.
    pub(super) async fn take(root: &Root, side: Side) -> Result<Self, Error> {
        Self::take_within(&root.place, &root.clock, side, root.patience).await
    }

    async fn take_within(
        place: &Place,
        clock: &Arc<dyn Clock>,
        side: Side,
        patience: Duration,
    ) -> Result<Self, Error> {
        let name = format!("{}/{:016x}.{}", layout::UNDER_WAY, fastrand::u64(..), side.suffix());
        let until = clock.now() + patience;
        loop {
            let lease = Self::begin(place, clock, name.clone()).await?;
            match side {
                // The removal lets no new backup begin while it waits: else it could wait for ever.
                Side::Removal => loop {
                    match lease.others(Side::Backup).await {
                        Ok(0) => return Ok(lease),
                        Ok(_) if clock.now() < until => clock.sleep(LOOKS_EVERY).await,
                        Ok(_) => {
                            lease.release().await;
                            return Err(Error::Busy(
                                "a backup is being written: nothing was removed".to_owned(),
                            ));
                        }
                        Err(error) => {
                            lease.release().await;
                            return Err(error);
                        }
                    }
                },
                Side::Backup => {
                    let others = lease.others(Side::Removal).await;
                    if matches!(others, Ok(0)) {
                        return Ok(lease);
                    }
                    lease.release().await;
                    others?;
                    if clock.now() >= until {
                        return Err(Error::Busy("old backups are being removed".to_owned()));
                    }
                    clock.sleep(LOOKS_EVERY).await;
                }
            }
        }
    }

    async fn begin(place: &Place, clock: &Arc<dyn Clock>, name: String) -> Result<Self, Error> {
        let began = Stored::now(&**clock);
        store(place, &name).await?;
        let stored = Arc::new(Mutex::new(began));
        let (to, of, renewed) = (place.clone(), name.clone(), Arc::clone(&stored));
        let time = Arc::clone(clock);
        let (still, counts) = watch::channel(());
        let task = tokio::spawn(async move {
            let _still = still;
            loop {
                time.sleep(RENEWED_EVERY).await;
                let began = Stored::now(&*time);
                let left = COUNTS.saturating_sub(renewed.lock().age(&*time));
                let result = match select(pin!(store(&to, &of)), time.sleep(left)).await {
                    Either::Left((result, _)) => result,
                    Either::Right(_) => return,
                };
                let mut renewed = renewed.lock();
                match result {
                    // The other side may have begun while it did not count: it never counts again
                    // here.
                    _ if renewed.is_over(&*time) => return,
                    Ok(()) => *renewed = began,
                    Err(error) => tracing::warn!(%error, "The marker of a backup is not renewed"),
                }
            }
        });
        Ok(Self { place: place.clone(), name, clock: Arc::clone(clock), stored, counts, task })
    }

    /// Counts those of the other side that are at work. Markers that no longer count are removed.
    async fn others(&self, side: Side) -> Result<usize, Error> {
        let listed = series::objects(&self.place, layout::UNDER_WAY).await?;
        let name_of = |object: &object_store::ObjectMeta| {
            Some(format!("{}/{}", layout::UNDER_WAY, object.location.filename()?))
        };
        let mine = listed.iter().find(|object| name_of(object).as_deref() == Some(&self.name));
        let Some(mine) = mine else {
            return Err(Error::Busy("the marker of this process is gone".to_owned()));
        };
        let now_ms = mine.last_modified.timestamp_millis();
        let counts_ms = i64::try_from(COUNTS.as_millis()).unwrap_or(i64::MAX);
        let mut others = 0;
        for object in &listed {
            let Some(name) = name_of(object) else { continue };
            if object.last_modified.timestamp_millis().saturating_add(counts_ms) < now_ms {
                series::remove(&self.place, &name).await?;
            } else if name.ends_with(&format!(".{}", side.suffix())) {
                others += 1;
            }
        }
        Ok(others)
    }

    /// Does what relies on the marker. It is given up when the marker no longer counts, however
    /// long a request to the store may take.
    ///
    /// # Errors
    /// `Busy`; those of the work.
    pub(super) async fn hold<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.check()?;
        let mut counts = self.counts.clone();
        match select(pin!(work), pin!(counts.changed())).await {
            Either::Left((done, _)) => done,
            Either::Right(_) => Err(not_renewed()),
        }
    }

    /// Checks that the marker still counts.
    fn check(&self) -> Result<(), Error> {
        match self.stored.lock().is_over(&*self.clock) {
            true => Err(not_renewed()),
            false => Ok(()),
        }
    }

    /// Removes the marker. One that stays counts until it is ten minutes old.
    pub(super) async fn release(self) {
        self.task.abort();
        if let Err(error) = series::remove(&self.place, &self.name).await {
            tracing::debug!(%error, "A marker is left in the store");
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn not_renewed() -> Error {
    Error::Busy("the marker of this process was not renewed in time".to_owned())
}

/// Stores a marker, also over an older one.
async fn store(place: &Place, name: &str) -> Result<(), Error> {
    let content = format!("{{\"stored_ms\":{}}}\n", now_ms());
    let stored = place.store.put(&place.object(name), PutPayload::from(content.into_bytes())).await;
    stored.map(drop).map_err(|error| place.refused(name, &error).into())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::SystemTime;

    use stadium_objects::Access;

    use super::*;
    use crate::blocking::run;

    fn clock() -> Arc<dyn Clock> {
        Arc::new(crate::clock::System)
    }

    async fn take(place: &Place, side: Side) -> Result<Lease, Error> {
        Lease::take_within(place, &clock(), side, Duration::from_secs(60)).await
    }

    fn with_place(test: impl AsyncFnOnce(&Place, &std::path::Path) -> Result<(), Error>) {
        let folder = tempfile::tempdir().expect("a folder can be had");
        let url = format!("file://{}", folder.path().display());
        run(async {
            let place = Place::find(&url, &Access::default()).await?;
            test(&place, &folder.path().join(layout::UNDER_WAY)).await
        })
        .expect("the store works");
    }

    #[test]
    fn a_removal_begins_when_the_backup_has_ended_and_the_other_way_round() {
        with_place(async |place, _| {
            for (first, second) in [(Side::Backup, Side::Removal), (Side::Removal, Side::Backup)] {
                let lease = take(place, first).await?;
                let mut waits = Box::pin(take(place, second));
                let early = tokio::time::timeout(Duration::from_millis(300), &mut waits).await;
                assert!(early.is_err(), "{second:?} began beside {first:?}");
                lease.release().await;
                waits.await?.release().await;
            }
            Ok(())
        });
    }

    #[test]
    fn backups_do_not_wait_for_each_other() {
        with_place(async |place, _| {
            let first = take(place, Side::Backup).await?;
            take(place, Side::Backup).await?.release().await;
            first.release().await;
            Ok(())
        });
    }

    #[test]
    fn the_marker_of_a_crashed_process_counts_for_ten_minutes() {
        with_place(async |place, folder| {
            drop(take(place, Side::Backup).await?);
            let left = fs::read_dir(folder).expect("it is there").next().expect("one is left");
            let left = left.expect("it is there").path();
            let old = SystemTime::now() - COUNTS - Duration::from_secs(5);
            let file = File::options().write(true).open(&left).expect("it is there");
            file.set_modified(old).expect("it is ours");
            take(place, Side::Removal).await?.release().await;
            assert!(!left.exists(), "it is removed");
            Ok(())
        });
    }

    #[test]
    fn a_marker_that_was_not_renewed_is_noticed() {
        with_place(async |place, _| {
            let lease = take(place, Side::Backup).await?;
            lease.check()?;
            lease.stored.lock().at_ms -= u64::try_from(COUNTS.as_millis()).expect("it is small");
            assert!(matches!(lease.check(), Err(Error::Busy(_))));
            lease.release().await;
            Ok(())
        });
    }

    /// A clock that a test sets.
    #[derive(Clone, Debug, Default)]
    struct Set(Arc<std::sync::atomic::AtomicU64>);

    impl Clock for Set {
        fn now(&self) -> Duration {
            Duration::from_secs(self.0.load(std::sync::atomic::Ordering::SeqCst))
        }

        fn sleep(&self, time: Duration) -> futures::future::BoxFuture<'static, ()> {
            let (clock, until) = (self.clone(), self.now() + time);
            Box::pin(async move {
                while clock.now() < until {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            })
        }
    }

    #[test]
    fn a_request_that_outlives_the_marker_is_given_up() {
        with_place(async |place, folder| {
            let set = Set::default();
            let clock: Arc<dyn Clock> = Arc::new(set.clone());
            let lease = Lease::take_within(place, &clock, Side::Backup, Duration::from_secs(60)).await?;
            let at = |seconds| set.0.store(seconds, std::sync::atomic::Ordering::SeqCst);
            let mut request = Box::pin(lease.hold(std::future::pending::<Result<(), Error>>()));
            let mut ends = async || tokio::time::timeout(Duration::from_millis(300), &mut request).await;
            assert!(ends().await.is_err(), "it is under way");
            at(130);
            assert!(ends().await.is_err(), "the marker is renewed, so it goes on");
            fs::remove_dir_all(folder).expect("it is there");
            File::create(folder).expect("no marker can be stored any more");
            at(600);
            assert!(ends().await.is_err(), "the renewed marker still counts");
            at(731);
            assert!(matches!(ends().await, Ok(Err(Error::Busy(_)))));
            drop(request);
            Ok(())
        });
    }

    #[test]
    fn a_marker_that_did_not_count_for_a_while_never_counts_again() {
        with_place(async |place, folder| {
            let set = Set::default();
            let clock: Arc<dyn Clock> = Arc::new(set.clone());
            let lease = Lease::take_within(place, &clock, Side::Backup, Duration::from_secs(60)).await?;
            // Nobody sees it meanwhile, and then it is stored again.
            fs::remove_dir_all(folder).expect("it is there");
            set.0.store(700, std::sync::atomic::Ordering::SeqCst);
            while !lease.task.is_finished() {
                let is_stored = fs::read_dir(folder).is_ok_and(|mut left| left.next().is_some());
                if is_stored && lease.check().is_ok() {
                    panic!("it counts again");
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert!(matches!(lease.check(), Err(Error::Busy(_))));
            lease.release().await;
            Ok(())
        });
    }
}
