//! The machine against a deliberately naive model, at random.
//!
//! The model is a list of jobs that is searched from end to end. It knows the rules, not how they are kept;
//! where a rule leaves a choice (whose turn it is among keys, how much of a back-off is random) it
//! checks that the machine chose something that is allowed. In between the machine is replaced by what a
//! replay of its records makes, and by what a checkpoint and the records behind it make.

use crate::harness;
mod naive;

use proptest::collection::vec;
use proptest::prelude::*;
use stadium_queue::Retry;

use naive::{Step, World};

fn step() -> impl Strategy<Value = Step> {
    let queue = 0..3_usize;
    let delay =
        prop_oneof![3 => Just(0_u64), 2 => 1..50_u64, 1 => 1..5_000_u64, 1 => Just(2_000_000_000_u64)];
    let put = (
        queue.clone(),
        prop_oneof![2 => Just(None), 3 => (0..3_u8).prop_map(Some)],
        delay.clone(),
        prop_oneof![3 => Just(4_u8), 1 => 0..10_u8],
        prop_oneof![4 => Just(None), 1 => (1..3_000_u64).prop_map(Some)],
        prop_oneof![4 => Just(None), 1 => (0..4_u8).prop_map(Some)],
        1..4_u16,
    );
    let retry = prop_oneof![
        Just(Retry::Backoff),
        delay.clone().prop_map(Retry::After),
        delay.clone().prop_map(Retry::NotTried)
    ];
    prop_oneof![
        8 => put.prop_map(|(queue, key, delay, priority, time_to_live, dedup, attempts_max)| Step::Put {
            queue, key, delay, priority, time_to_live, dedup, attempts_max
        }),
        8 => (queue.clone(), 1..5_u32, 1_000..4_000_u64)
            .prop_map(|(queue, jobs_max, lease)| Step::Reserve { queue, jobs_max, lease }),
        4 => any::<prop::sample::Index>().prop_map(Step::Settle),
        3 => (any::<prop::sample::Index>(), retry).prop_map(|(lease, retry)| Step::Release(lease, retry)),
        1 => (any::<prop::sample::Index>(), 1_000..9_000_u64).prop_map(|(lease, span)| Step::Extend(lease, span)),
        1 => any::<prop::sample::Index>().prop_map(Step::Bury),
        1 => queue.clone().prop_map(Step::Kick),
        1 => (queue.clone(), proptest::option::of(queue.clone())).prop_map(|(from, to)| Step::Redrive(from, to)),
        1 => any::<prop::sample::Index>().prop_map(Step::Delete),
        1 => (any::<prop::sample::Index>(), proptest::option::of(delay), proptest::option::of(0..10_u8))
            .prop_map(|(job, delay, priority)| Step::Edit { job, delay, priority }),
        1 => (queue.clone(), proptest::option::of(0..5_u8)).prop_map(|(queue, state)| Step::Purge(queue, state)),
        1 => (any::<prop::sample::Index>(), queue.clone()).prop_map(|(lease, to)| Step::Forward(lease, to)),
        1 => (queue, any::<bool>()).prop_map(|(queue, paused)| Step::Pause(queue, paused)),
        6 => prop_oneof![5 => 0..100_u64, 2 => 100..5_000_u64, 1 => Just(3_000_000_000_u64)].prop_map(Step::Pass),
        1 => (1..100_000_u64).prop_map(Step::Back),
        1 => Just(Step::Replay),
        1 => (1..2_000_usize).prop_map(Step::Checkpoint),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn the_machine_does_what_the_naive_one_does(steps in vec(step(), 1..120)) {
        let mut world = World::new();
        for step in steps {
            world.take(step);
        }
        world.finish();
    }
}
