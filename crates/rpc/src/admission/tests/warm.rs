//! Nothing is allocated for a call once warm: entering, waiting, measuring and granting live in what there is.

use crate::admission::*;

#[test]
fn a_call_allocates_nothing_once_warm() {
    let mut limiter = Limiter::new(LimiterSettings::default());
    let mut queue = Queue::new(QueueSettings { waiting_max: 64, ..Default::default() });
    let mut load = LoadSignal::new();
    let mut leases = Leases::new(LeaseSettings::default());

    let mut turn = |n: u64| {
        let now_us = n * 50;
        let call = Waiting { item: n, since_us: now_us, deadline_us: now_us + 2_000 };
        let _ = queue.push(call);
        if n.is_multiple_of(3)
            && let Some(entry) = limiter.try_enter(now_us)
        {
            while let Some(Popped::Expired(_) | Popped::Stale(_)) = queue.pop(now_us) {}
            limiter.left(entry, Work::Done, now_us + 700);
        }
        if n.is_multiple_of(100) {
            let reading = Reading {
                inflight: limiter.inflight(),
                limit: limiter.limit(),
                queue_fill: queue.fill(),
                wait_ms: queue.retry_after_ms(),
                busy_ns: n,
                idle_ns: 10,
            };
            load.read(reading, now_us);
            let capacity = Capacity::PerSecond(limiter.capacity_per_s().unwrap_or(1_000.0));
            leases.grant(capacity, (0..20u32).map(|key| Asker { key, used: key * 3 }));
        }
    };
    (0..10_000).for_each(&mut turn);
    let counted = allocation_counter::measure(|| (10_000..200_000).for_each(&mut turn));
    assert_eq!(counted.count_total, 0, "{counted:?}");
}
