//! Behaviours of grants, and what holds for any of them.

use proptest::prelude::*;

use crate::admission::*;

/// Grants for clients that used so many requests, in the clients' order.
fn grants(per_second: f64, used: &[u32]) -> Vec<u32> {
    let mut leases = Leases::new(LeaseSettings { ttl_ms: 1_000, growth: 1.0, client_min: 1 });
    let clients = used.iter().enumerate().map(|(key, &used)| Asker { key, used });
    let mut grants = leases.grant(Capacity::PerSecond(per_second), clients).to_vec();
    grants.sort_by_key(|grant| grant.key);
    assert!(grants.iter().all(|grant| grant.ttl_ms == 1_000));
    grants.iter().map(|grant| grant.requests).collect()
}

#[test]
fn the_division_as_a_table() {
    assert!(grants(100.0, &[]).is_empty());
    assert_eq!(grants(100.0, &[50]), [100], "what nobody else wants");
    assert_eq!(grants(100.0, &[500, 500]), [50, 50]);
    assert_eq!(
        grants(100.0, &[10, 500]),
        [10, 90],
        "a small wish is granted, the rest goes to the large one"
    );
    assert_eq!(grants(100.0, &[10, 20, 500, 500]), [10, 20, 35, 35]);
    assert_eq!(grants(100.0, &[0, 0, 10]), [30, 30, 39], "what is left is given out evenly");
    assert_eq!(grants(0.0, &[5, 5]), [1, 1], "nobody is shut out");
    assert_eq!(grants(f64::NAN, &[5]), [1]);
    assert_eq!(grants(f64::INFINITY, &[5]), [1]);
    assert_eq!(grants(1e300, &[5]), [0x7fff_ffff], "31 bits");
}

#[test]
fn a_quiescing_instance_grants_nothing() {
    let mut leases = Leases::new(LeaseSettings::default());
    let clients = (0..3).map(|key| Asker { key, used: 10 });
    let grants = leases.grant(Capacity::Quiescing, clients);
    assert_eq!(grants.len(), 3);
    assert!(grants.iter().all(|grant| grant.requests == 0));
}

#[test]
fn a_client_that_used_its_grant_may_grow() {
    let mut leases = Leases::new(LeaseSettings { ttl_ms: 1_000, growth: 2.0, client_min: 1 });
    let clients = [Asker { key: 'a', used: 30 }, Asker { key: 'b', used: 1_000 }];
    let grants = leases.grant(Capacity::PerSecond(1_000.0), clients.into_iter());
    assert_eq!(grants.iter().find(|grant| grant.key == 'a').map(|grant| grant.requests), Some(60));
    assert_eq!(grants.iter().find(|grant| grant.key == 'b').map(|grant| grant.requests), Some(940));
}

proptest! {
    #[test]
    fn nobody_gets_less_than_an_equal_share_unless_that_is_the_wish(
        per_second in 0.0..1e6f64,
        used in prop::collection::vec(0..10_000u32, 1..50),
    ) {
        let grants = grants(per_second, &used);
        let sum: u64 = grants.iter().map(|&one| u64::from(one)).sum();
        prop_assert!(sum <= (per_second as u64).max(used.len() as u64) + used.len() as u64);
        let share = per_second as u64 / used.len() as u64;
        for (&granted, &used) in grants.iter().zip(&used) {
            prop_assert!(u64::from(granted) >= u64::from(used).min(share));
        }
    }
}
