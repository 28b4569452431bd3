//! The shards that a command asks, and the merge of their answers.
//!
//! A queue lives on the shard that its name hashes to, unless all shards declare it spread. While
//! only some do (between the first and the last answer to a declare, or after a crash there) puts
//! go to its home, and consumers ask all shards: so nothing is put where nobody looks.

use crate::{
    Bounds, Command, JobId, JobSet, Key, Lease, Merge, NewJob, Place, PrincipalId, QueueName, ShardMessage,
    Spread,
};

/// How far a queue is spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It lives on its home.
    Home,
    /// Some shards declare it spread.
    Partly,
    /// All do.
    Everywhere,
}

/// The facts that routing needs beside the command.
pub trait Spreading {
    /// How many shards there are.
    fn shards(&self) -> u16;

    /// How far a queue is spread.
    fn reach(&self, queue: &QueueName) -> Reach;

    /// The next shard in turn: for puts without a key, and for reserves, of a spread queue.
    fn turn(&self) -> u16;
}

/// The shards that a command asks.
#[derive(Debug)]
pub enum Route {
    /// One, whose answer is the answer.
    One(u16, Command),
    /// A reserve of a spread queue: the shards in their turn, this one first, and where none has a
    /// job, all of them.
    Search(u16, Command),
    /// These, each with its part of the command.
    Many(Vec<(u16, Command)>, Merge),
}

impl ShardMessage {
    /// The shard that takes it in: the same one each time that it is sent.
    pub fn shard(&self, spreading: &impl Spreading) -> u16 {
        let ShardMessage { queue, job, .. } = self;
        let home = Place::home(queue, spreading.shards());
        shard_of_job(queue, job.key.as_ref(), spreading, spreading.reach(queue), home)
    }
}

/// The shard where a job goes. `at_turn` where jobs without a key of a spread queue go.
fn shard_of_job(
    queue: &QueueName,
    key: Option<&Key>,
    spreading: &impl Spreading,
    reach: Reach,
    at_turn: u16,
) -> u16 {
    match (reach, key) {
        (Reach::Home | Reach::Partly, _) => Place::home(queue, spreading.shards()),
        (Reach::Everywhere, Some(key)) => Place::home(key, spreading.shards()),
        (Reach::Everywhere, None) => at_turn,
    }
}

impl Command {
    /// The shards that it asks.
    pub fn route(self, spreading: &impl Spreading) -> Route {
        let home = |queue: &QueueName| Place::home(queue, spreading.shards());
        match self {
            Command::Put { queue, jobs, principal } => match spreading.reach(&queue) {
                Reach::Home | Reach::Partly => {
                    Route::One(home(&queue), Command::Put { queue, jobs, principal })
                }
                Reach::Everywhere => put(spreading, queue, jobs, principal),
            },
            Command::Reserve { ref queue, .. } => match spreading.reach(queue) {
                Reach::Home => Route::One(home(queue), self),
                Reach::Partly | Reach::Everywhere => Route::Search(spreading.turn(), self),
            },
            Command::Settle { leases } => by_lease(leases, |leases| Command::Settle { leases }),
            Command::Release { leases, retry, error } => {
                by_lease(leases, |leases| Command::Release { leases, retry, error: error.clone() })
            }
            Command::Extend { leases, lease } => by_lease(leases, |leases| Command::Extend { leases, lease }),
            Command::Bury { leases, reason } => {
                by_lease(leases, |leases| Command::Bury { leases, reason: reason.clone() })
            }
            Command::Delete { jobs } => by_shard(jobs, |job| job.shard(), |jobs| Command::Delete { jobs }),
            Command::Forward { ref lease, .. } => Route::One(lease.job.shard(), self),
            Command::Edit { job, .. } | Command::Find { job } | Command::History { job } => {
                Route::One(job.shard(), self)
            }
            Command::Kick { queue, jobs } => {
                by_set(spreading, &queue, jobs, |jobs| Command::Kick { queue: queue.clone(), jobs })
            }
            Command::Redrive { queue, jobs, to } => by_set(spreading, &queue, jobs, |jobs| {
                Command::Redrive { queue: queue.clone(), jobs, to: to.clone() }
            }),
            Command::Purge { ref queue, .. } => {
                let reach = spreading.reach(queue);
                where_spread(spreading, home(queue), reach, self, Merge::Sum)
            }
            Command::Declare { ref queue, ref settings } => {
                let everywhere = settings.spread == Spread::AllShards;
                let reach = if everywhere { Reach::Everywhere } else { spreading.reach(queue) };
                where_spread(spreading, home(queue), reach, self, Merge::Done)
            }
            Command::Pause { ref queue } | Command::Resume { ref queue } | Command::Drop { ref queue } => {
                let reach = spreading.reach(queue);
                where_spread(spreading, home(queue), reach, self, Merge::Done)
            }
            Command::Stats { ref queue } => {
                let reach = spreading.reach(queue);
                where_spread(spreading, home(queue), reach, self, Merge::Queues { queues_max: 1 })
            }
            Command::List { queues_max, .. } => {
                let merge = Merge::Queues { queues_max: queues_max as usize };
                where_spread(spreading, 0, Reach::Everywhere, self, merge)
            }
            Command::Peek { ref queue, after, jobs_max, .. } => match spreading.reach(queue) {
                Reach::Home => Route::One(home(queue), self),
                Reach::Partly | Reach::Everywhere => peek(spreading.shards(), &self, after, jobs_max),
            },
            Command::Schedule { ref queue, .. }
            | Command::Unschedule { ref queue, .. }
            | Command::Schedules { ref queue } => Route::One(home(queue), self),
        }
    }
}

/// The home of a queue that is not spread, else all shards.
fn where_spread(
    spreading: &impl Spreading,
    home: u16,
    reach: Reach,
    command: Command,
    merge: Merge,
) -> Route {
    match reach {
        Reach::Home => Route::One(home, command),
        Reach::Partly | Reach::Everywhere if spreading.shards() == 1 => Route::One(0, command),
        Reach::Partly | Reach::Everywhere => {
            Route::Many((0..spreading.shards()).map(|shard| (shard, command.clone())).collect(), merge)
        }
    }
}

/// Each part of a list to the shard that it belongs to.
fn by_shard<T>(all: Vec<T>, shard_of: impl Fn(&T) -> u16, command: impl Fn(Vec<T>) -> Command) -> Route {
    let first = all.first().map_or(0, &shard_of);
    if all.iter().all(|one| shard_of(one) == first) {
        return Route::One(first, command(all));
    }
    let whole = all.len();
    let Split { places, parts } = split(all, shard_of);
    let asked = parts.into_iter().map(|(shard, part)| (shard, command(part))).collect();
    Route::Many(asked, Merge::ByPlace { places, whole })
}

fn by_lease(leases: Vec<Lease>, command: impl Fn(Vec<Lease>) -> Command) -> Route {
    by_shard(leases, |lease| lease.job.shard(), command)
}

fn by_set(
    spreading: &impl Spreading,
    queue: &QueueName,
    jobs: JobSet,
    command: impl Fn(JobSet) -> Command,
) -> Route {
    if spreading.reach(queue) == Reach::Home {
        return Route::One(Place::home(queue, spreading.shards()), command(jobs));
    }
    let parts: Vec<_> = match jobs {
        JobSet::Ids(ids) => {
            let parts = split(ids, |job: &JobId| job.shard()).parts;
            parts.into_iter().map(|(shard, ids)| (shard, JobSet::Ids(ids))).collect()
        }
        // The shard of the oldest ones is not known: each gives its share.
        JobSet::Oldest(count) => {
            let shards = u32::from(spreading.shards());
            let share = |shard: u32| count / shards + u32::from(shard < count % shards);
            (0..shards)
                .filter(|&shard| share(shard) > 0)
                .map(|shard| (shard as u16, JobSet::Oldest(share(shard))))
                .collect()
        }
    };
    Route::Many(parts.into_iter().map(|(shard, jobs)| (shard, command(jobs))).collect(), Merge::Sum)
}

/// Jobs with a key go to the key's shard, the others of a put to one shard together.
fn put(
    spreading: &impl Spreading,
    queue: QueueName,
    jobs: Vec<NewJob>,
    principal: Option<PrincipalId>,
) -> Route {
    if jobs.len() > Bounds::JOBS_MAX {
        // The shard reports the mistake.
        return Route::One(Place::home(&queue, spreading.shards()), Command::Put { queue, jobs, principal });
    }
    let at_turn = spreading.turn();
    if jobs.is_empty() {
        return Route::One(at_turn, Command::Put { queue, jobs, principal });
    }
    let shard_of =
        |job: &NewJob| shard_of_job(&queue, job.key.as_ref(), spreading, Reach::Everywhere, at_turn);
    by_shard(jobs, shard_of, |jobs| Command::Put { queue: queue.clone(), jobs, principal: principal.clone() })
}

/// Pages go through the shards one after the other: the last page's job shows in which one it
/// ended.
fn peek(shards: u16, command: &Command, after: Option<JobId>, jobs_max: u32) -> Route {
    let from = after.map_or(0, JobId::shard).min(shards);
    let ask = |shard: u16| {
        let mut command = command.clone();
        if let Command::Peek { after, .. } = &mut command {
            *after = after.filter(|job| job.shard() == shard);
        }
        (shard, command)
    };
    Route::Many((from..shards).map(ask).collect(), Merge::Jobs { jobs_max: jobs_max as usize })
}

/// A list, by shard.
struct Split<T> {
    /// Of each part, where its items stood in the whole.
    places: Vec<Vec<usize>>,
    /// Each shard's items, in their order.
    parts: Vec<(u16, Vec<T>)>,
}

fn split<T>(all: Vec<T>, shard_of: impl Fn(&T) -> u16) -> Split<T> {
    let mut split = Split { places: Vec::new(), parts: Vec::new() };
    for (place, one) in all.into_iter().enumerate() {
        let shard = shard_of(&one);
        let at = split.parts.iter().position(|&(of, _)| of == shard).unwrap_or_else(|| {
            split.places.push(Vec::new());
            split.parts.push((shard, Vec::new()));
            split.parts.len() - 1
        });
        split.places[at].push(place);
        split.parts[at].1.push(one);
    }
    split
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{Reach, Route, Spreading};
    use crate::{Command, JobId, JobSet, Key, Lease, Merge, NewJob, Place, QueueName, When};

    const SHARDS: u16 = 4;

    /// All queues reach as far.
    struct All(Reach, Cell<u16>);

    impl Spreading for All {
        fn shards(&self) -> u16 {
            SHARDS
        }

        fn reach(&self, _queue: &QueueName) -> Reach {
            self.0
        }

        fn turn(&self) -> u16 {
            self.1.replace((self.1.get() + 1) % SHARDS)
        }
    }

    fn spread(reach: Reach) -> All {
        All(reach, Cell::new(0))
    }

    fn queue() -> QueueName {
        QueueName::new("mail").expect("a test's name")
    }

    fn job(key: Option<&str>) -> NewJob {
        NewJob {
            payload: bytes::Bytes::new(),
            when: When::Now,
            priority: None,
            time_to_live: None,
            dedup: None,
            key: key.map(|key| Key::new(key).expect("a test's key")),
            attempts_max: None,
        }
    }

    fn asked(route: Route) -> Vec<u16> {
        match route {
            Route::One(shard, _) | Route::Search(shard, _) => vec![shard],
            Route::Many(asked, _) => asked.into_iter().map(|(shard, _)| shard).collect(),
        }
    }

    fn put(jobs: Vec<NewJob>) -> Command {
        Command::Put { queue: queue(), jobs, principal: None }
    }

    #[test]
    fn puts_go_home_until_all_shards_declare_the_queue_spread() {
        let home = Place::home(&queue(), SHARDS);
        for reach in [Reach::Home, Reach::Partly] {
            let routes = spread(reach);
            for _ in 0..8 {
                assert_eq!(asked(put(vec![job(None), job(Some("ada"))]).route(&routes)), [home]);
            }
        }
    }

    #[test]
    fn jobs_of_one_key_go_to_one_shard_and_others_in_turn() {
        let routes = spread(Reach::Everywhere);
        let keyed = Place::home(&Key::new("ada").expect("a key"), SHARDS);
        for turn in 0..SHARDS {
            assert_eq!(asked(put(vec![job(Some("ada"))]).route(&routes)), [keyed]);
            // The put before took a turn too.
            assert_eq!(asked(put(vec![job(None); 3]).route(&routes)), [(2 * turn + 1) % SHARDS]);
        }
        let other = (0..100).map(|number| number.to_string());
        let other = other.filter(|key| Place::home(&Key::new(key).expect("a key"), SHARDS) != keyed);
        let other = other.take(1).next().expect("keys spread over shards");
        let jobs = vec![job(Some("ada")), job(Some(&other)), job(Some("ada"))];
        let Route::Many(asked, Merge::ByPlace { places, whole: 3 }) = put(jobs).route(&routes) else {
            panic!("two shards are asked");
        };
        assert_eq!((asked[0].0, asked[1].0), (keyed, Place::home(&Key::new(&other).expect("a key"), SHARDS)));
        assert_eq!(places, [vec![0, 2], vec![1]]);
    }

    #[test]
    fn a_consumer_asks_all_shards_as_soon_as_one_declares_the_queue_spread() {
        let reserve = || Command::Reserve { queue: queue(), jobs_max: 1, lease: None, wait: 0, worker: None };
        assert!(matches!(reserve().route(&spread(Reach::Home)), Route::One(..)));
        for reach in [Reach::Partly, Reach::Everywhere] {
            let routes = spread(reach);
            let first = reserve().route(&routes);
            assert!(matches!(first, Route::Search(0, _)), "{first:?}");
            assert!(matches!(reserve().route(&routes), Route::Search(1, _)));
        }
    }

    #[test]
    fn ids_determine_which_shard_is_asked() {
        let id = |shard| JobId::new(shard, 7);
        let lease = |shard| Lease { job: id(shard), reservation: 1 };
        let routes = spread(Reach::Home);
        let settle = |leases: &[Lease]| Command::Settle { leases: leases.to_vec() }.route(&routes);
        assert_eq!(asked(settle(&[lease(2), lease(2)])), [2]);
        let Route::Many(asked_of, Merge::ByPlace { places, whole }) = settle(&[lease(2), lease(1), lease(2)])
        else {
            panic!("two shards are asked");
        };
        assert_eq!(asked_of.iter().map(|(shard, _)| *shard).collect::<Vec<_>>(), [2, 1]);
        assert_eq!((places, whole), (vec![vec![0, 2], vec![1]], 3));
        assert_eq!(asked(Command::Delete { jobs: vec![] }.route(&routes)), [0]);
        assert_eq!(asked(Command::Find { job: id(3) }.route(&routes)), [3]);
    }

    #[test]
    fn the_oldest_jobs_of_a_spread_queue_are_taken_in_shares() {
        let kick = |count| Command::Kick { queue: queue(), jobs: JobSet::Oldest(count) };
        let Route::Many(asked, Merge::Sum) = kick(6).route(&spread(Reach::Everywhere)) else {
            panic!("all are asked");
        };
        let shares = asked.iter().map(|(_, command)| match command {
            Command::Kick { jobs: JobSet::Oldest(count), .. } => *count,
            other => panic!("{other:?}"),
        });
        assert_eq!(shares.collect::<Vec<_>>(), [2, 2, 1, 1]);
        assert_eq!(self::asked(kick(2).route(&spread(Reach::Partly))), [0, 1]);
        assert_eq!(self::asked(kick(2).route(&spread(Reach::Home))), [Place::home(&queue(), SHARDS)]);
    }

    #[test]
    fn a_page_begins_on_the_shard_of_the_job_before_it() {
        let peek = |after| Command::Peek { queue: queue(), state: None, key: None, after, jobs_max: 10 };
        let routes = spread(Reach::Everywhere);
        assert_eq!(asked(peek(None).route(&routes)), [0, 1, 2, 3]);
        let Route::Many(asked, Merge::Jobs { jobs_max: 10 }) = peek(Some(JobId::new(2, 9))).route(&routes)
        else {
            panic!("two shards are asked");
        };
        let after = |command: &Command| match command {
            Command::Peek { after, .. } => *after,
            other => panic!("{other:?}"),
        };
        let after: Vec<_> = asked.iter().map(|(shard, command)| (*shard, after(command))).collect();
        assert_eq!(after, [(2, Some(JobId::new(2, 9))), (3, None)]);
    }
}
