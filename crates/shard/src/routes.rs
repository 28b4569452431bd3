//! The spread queues, as the shards declare them.
//!
//! The shards of a command follow from that: the queues' own routing ([`Spreading`]).

use std::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashMap;
use parking_lot::RwLock;
use stadium_queue::{QueueName, Reach, Spread, Spreading};

/// The spread queues.
pub(crate) struct Routes {
    shards: u16,
    /// Queues that some shard declares spread, and which ones do.
    spread: RwLock<HashMap<QueueName, Vec<bool>, foldhash::fast::RandomState>>,
    /// How many those are: most processes have none, and then no lock is taken.
    count: AtomicUsize,
    /// Where the next put without a key, and the next reserve, of a spread queue begins.
    turn: AtomicUsize,
}

impl Routes {
    pub(crate) fn new(shards: u16) -> Self {
        Self { shards, spread: RwLock::default(), count: AtomicUsize::new(0), turn: AtomicUsize::new(0) }
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

    /// Queues that a shard declares spread.
    pub(crate) fn spread_of(&self, shard: u16) -> Vec<QueueName> {
        let table = self.spread.read();
        let of_shard = table.iter().filter(|(_, by_shard)| by_shard.get(usize::from(shard)) == Some(&true));
        of_shard.map(|(queue, _)| queue.clone()).collect()
    }

    /// Queues that only some shards declare spread, each with one that does.
    pub(crate) fn partly_spread(&self) -> Vec<(QueueName, u16)> {
        let table = self.spread.read();
        let partly = table.iter().filter(|(_, by_shard)| by_shard.contains(&false));
        let with_shard = |(queue, by_shard): (&QueueName, &Vec<bool>)| {
            let shard =
                (0..self.shards).zip(by_shard).find_map(|(shard, &declares)| declares.then_some(shard));
            Some((queue.clone(), shard?))
        };
        partly.filter_map(with_shard).collect()
    }
}

impl Spreading for Routes {
    fn shards(&self) -> u16 {
        self.shards
    }

    fn reach(&self, queue: &QueueName) -> Reach {
        if self.shards == 1 || self.count.load(Ordering::Acquire) == 0 {
            return Reach::Home;
        }
        match self.spread.read().get(queue) {
            None => Reach::Home,
            Some(by_shard) if by_shard.iter().all(|&declares| declares) => Reach::Everywhere,
            Some(_) => Reach::Partly,
        }
    }

    fn turn(&self) -> u16 {
        (self.turn.fetch_add(1, Ordering::Relaxed) % usize::from(self.shards)) as u16
    }
}

#[cfg(test)]
mod tests {
    use stadium_queue::{QueueName, Reach, Spread, Spreading as _};

    use super::Routes;

    #[test]
    fn a_queue_is_spread_when_all_shards_report_it() {
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
}
