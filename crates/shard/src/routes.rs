//! Which shard a queue, a key or a job belongs to.
//!
//! A queue lives on the shard that its name hashes to, unless all shards declare it spread. While only
//! some do (between the first and the last answer to a declare, or after a crash there) puts go to its home, and consumers
//! ask all: so nothing is put where nobody looks.

use std::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashMap;
use parking_lot::RwLock;
use stadium_queue::{Key, Place, QueueName, Spread};

/// Where everything is.
pub(crate) struct Routes {
    shards: u16,
    /// Queues that some shard declares spread, and which ones do.
    spread: RwLock<HashMap<QueueName, Vec<bool>, foldhash::fast::RandomState>>,
    /// How many those are: most processes have none, and then no lock is taken.
    count: AtomicUsize,
    /// Where the next put without a key, and the next reserve, of a spread queue begins.
    turn: AtomicUsize,
}

/// How far a queue is spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It lives at home.
    Home,
    /// Some shards declare it spread.
    Partly,
    /// All do.
    Everywhere,
}

impl Routes {
    pub(crate) fn new(shards: u16) -> Self {
        Self { shards, spread: RwLock::default(), count: AtomicUsize::new(0), turn: AtomicUsize::new(0) }
    }

    pub(crate) fn shards(&self) -> u16 {
        self.shards
    }

    /// The shard of a queue that is not spread.
    pub(crate) fn home(&self, queue: &QueueName) -> u16 {
        Place::home(queue, self.shards)
    }

    pub(crate) fn reach(&self, queue: &QueueName) -> Reach {
        if self.shards == 1 || self.count.load(Ordering::Acquire) == 0 {
            return Reach::Home;
        }
        match self.spread.read().get(queue) {
            None => Reach::Home,
            Some(by_shard) if by_shard.iter().all(|&declares| declares) => Reach::Everywhere,
            Some(_) => Reach::Partly,
        }
    }

    /// The shard where a job goes. `at_turn` where keyless jobs of a spread queue go, see [`Self::turn`].
    pub(crate) fn of_job(&self, queue: &QueueName, key: Option<&Key>, reach: Reach, at_turn: u16) -> u16 {
        match (reach, key) {
            (Reach::Home | Reach::Partly, _) => self.home(queue),
            (Reach::Everywhere, Some(key)) => Place::home(key, self.shards),
            (Reach::Everywhere, None) => at_turn,
        }
    }

    /// The next shard in turn.
    pub(crate) fn turn(&self) -> u16 {
        (self.turn.fetch_add(1, Ordering::Relaxed) % usize::from(self.shards)) as u16
    }

    /// A shard declares a queue so.
    pub(crate) fn declared(&self, shard: u16, queue: &QueueName, spread: Spread) {
        let mut table = self.spread.write();
        let declares = spread == Spread::AllShards;
        if let Some(by_shard) = table.get_mut(queue) {
            by_shard[usize::from(shard)] = declares;
            if !by_shard.contains(&true) {
                table.remove(queue);
            }
        } else if declares {
            let mut by_shard = vec![false; usize::from(self.shards)];
            by_shard[usize::from(shard)] = true;
            table.insert(queue.clone(), by_shard);
        }
        self.count.store(table.len(), Ordering::Release);
    }

    /// Nothing is known of a shard's queues any more.
    pub(crate) fn forget(&self, shard: u16) {
        let mut table = self.spread.write();
        table.retain(|_, by_shard| {
            by_shard[usize::from(shard)] = false;
            by_shard.contains(&true)
        });
        self.count.store(table.len(), Ordering::Release);
    }

    /// Queues that only some shards declare spread.
    pub(crate) fn partly_spread(&self) -> Vec<QueueName> {
        let table = self.spread.read();
        let partly = table.iter().filter(|(_, by_shard)| by_shard.contains(&false));
        partly.map(|(queue, _)| queue.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Reach, Routes};
    use stadium_queue::{Key, QueueName, Spread};

    #[test]
    fn a_queue_is_spread_when_all_shards_say_so() {
        let routes = Routes::new(3);
        let queue = QueueName::new("mail").expect("a name");
        assert_eq!(routes.reach(&queue), Reach::Home);
        for shard in 0..2 {
            routes.declared(shard, &queue, Spread::AllShards);
            assert_eq!(routes.reach(&queue), Reach::Partly);
        }
        routes.declared(2, &queue, Spread::AllShards);
        assert_eq!(routes.reach(&queue), Reach::Everywhere);
        for shard in 0..3 {
            routes.declared(shard, &queue, Spread::OneShard);
        }
        assert_eq!(routes.reach(&queue), Reach::Home);
        assert_eq!(routes.count.load(std::sync::atomic::Ordering::Relaxed), 0);
    }

    #[test]
    fn jobs_of_one_key_go_to_one_shard_and_others_in_turn() {
        let routes = Routes::new(4);
        let queue = QueueName::new("mail").expect("a name");
        let key = Key::new("ada").expect("a key");
        let of = |key: Option<&Key>| routes.of_job(&queue, key, Reach::Everywhere, routes.turn());
        let keyed = of(Some(&key));
        assert!((0..10).all(|_| of(Some(&key)) == keyed));
        let mut others: Vec<u16> = (0..4).map(|_| of(None)).collect();
        others.sort_unstable();
        assert_eq!(others, [0, 1, 2, 3]);
    }
}
