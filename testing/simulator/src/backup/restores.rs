//! A program that restores again and again, while backups are written and removed.
//!
//! A restore is right, or fails for a reason that it may have, and then leaves nothing. One that
//! was killed leaves a marked directory, and the next one makes it whole.

use std::fs;
use std::path::Path;
use std::rc::Rc;

use fastrand::Rng;
use stadium_archive::{Archive, Backup, Error, MARK, Moment, is_unfinished, restore_from};

use super::books::Books;
use super::programs::{place, settings};
use super::state::time_of;
use super::store::Handle;
use super::world::{RESTORER, Shared, is_of_store};

/// The choice of a restore among the backups.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// The newest.
    Newest,
    /// That at a place.
    Backup(usize),
    /// A time between that at a place and the next one.
    Between(usize, u64),
}

impl Target {
    /// Any of the backups.
    pub fn any(backups: &[Backup], rng: &mut Rng) -> Self {
        Self::Backup(rng.usize(0..backups.len()))
    }

    /// A moment between two backups, where there are two.
    pub fn between(backups: &[Backup], rng: &mut Rng) -> Self {
        if backups.len() < 2 {
            return Self::Newest;
        }
        let before = rng.usize(0..backups.len() - 1);
        Self::Between(before, rng.u64(backups[before].moment_ms..=backups[before + 1].moment_ms))
    }

    /// The moment that is asked for.
    pub fn moment(self, backups: &[Backup]) -> Moment {
        match self {
            Self::Newest => Moment::Newest,
            Self::Backup(place) => Moment::Backup(backups[place].number),
            Self::Between(_, time_ms) => Moment::At(time_ms),
        }
    }

    /// Whether it may be refused, since a segment went that no backup had.
    pub fn may_be_lost(self, backups: &[Backup], books: &Books) -> bool {
        match self {
            Self::Between(before, _) => books.may_be_lost(&backups[before], &backups[before + 1]),
            Self::Newest | Self::Backup(_) => false,
        }
    }
}

/// Restores until it is killed.
pub async fn restores(shared: Rc<Shared>, handle: Handle, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let to = shared.scratch.join("restored");
    shared.summary.borrow_mut().begun_again += u64::from(is_unfinished(&to));
    loop {
        shared.time.pause(RESTORER, rng.u64(0..=shared.plan.every_ms)).await;
        match once(&shared, &handle, &to, &mut rng).await {
            Ok(()) => {}
            Err(what) => shared.broken(what),
        }
    }
}

async fn once(shared: &Shared, handle: &Handle, to: &Path, rng: &mut Rng) -> Result<(), String> {
    let words = |error: Error| format!("backups cannot be read: {error}");
    let Some((_, backups)) = Shared::observed(&shared.bucket).await.map_err(words)? else { return Ok(()) };
    if backups.is_empty() {
        return Ok(());
    }
    let target = match rng.u32(0..3) {
        0 => Target::Newest,
        1 => Target::any(&backups, rng),
        _ => Target::between(&backups, rng),
    };
    let moment = target.moment(&backups);
    shared.says(|| format!("a restore of {moment:?} begins"));
    let settings = settings(shared.plan.grace_ms, &shared.time);
    let archive = match Archive::open(place(handle).await, &settings).await {
        // Nothing was touched.
        Err(error) if is_of_store(&error) => return Ok(()),
        opened => opened.map_err(|error| format!("the archive cannot be opened: {error}"))?,
    };
    match restore_from(&archive, to, moment, time_of).await {
        Ok(restoration) => {
            shared.says(|| format!("a restore of {moment:?} ends"));
            if is_unfinished(to) {
                return Err(format!("a restore of {moment:?} left its mark"));
            }
            shared.compare(to, &restoration.backup, restoration.moment_ms)?;
            shared.summary.borrow_mut().between += u64::from(matches!(moment, Moment::At(_)));
            if rng.u32(0..4) == 0 {
                half_moved(to, rng).map_err(|error| error.to_string())?;
                return Ok(());
            }
            fs::remove_dir_all(to).map_err(|error| error.to_string())
        }
        Err(error) => {
            shared.says(|| format!("a restore of {moment:?} fails: {error}"));
            shared.summary.borrow_mut().unrestored += 1;
            let is_left = fs::read_dir(to).is_ok_and(|mut left| left.next().is_some());
            if is_left {
                return Err(format!("a restore of {moment:?} failed, and left something: {error}"));
            }
            let (_, now) =
                Shared::observed(&shared.bucket).await.map_err(words)?.ok_or("the archive is gone")?;
            let has_lost = now.first().is_none_or(|first| first.number > backups[0].number);
            let is_expected = match &error {
                // An object that it needed was removed meanwhile, as a rule allows.
                Error::Damaged(_) | Error::NotCovered(_) | Error::Store(_) if has_lost => true,
                Error::NotCovered(_) => target.may_be_lost(&backups, &shared.books.borrow()),
                other => is_of_store(other),
            };
            match is_expected {
                true => Ok(()),
                false => Err(format!("a restore of {moment:?} fails: {error}")),
            }
        }
    }
}

/// The directory as a restore leaves it that was killed while it moved the state to its place: the
/// mark names all that is moved, and the folder of the shards moves last.
fn half_moved(to: &Path, rng: &mut Rng) -> std::io::Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(to)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable_by_key(|name| (name == "shards", name.clone()));
    let work = to.join("restore.work");
    fs::create_dir(&work)?;
    fs::write(to.join(MARK), names.iter().map(|name| format!("{name}\n")).collect::<String>())?;
    for name in &names[rng.usize(0..names.len())..] {
        fs::rename(to.join(name), work.join(name))?;
    }
    Ok(())
}
