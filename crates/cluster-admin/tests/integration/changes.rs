//! Three nodes: what is told of them, and moves and drains that happen.
//!
//! Their etcd is a real one.

use std::ops::ControlFlow;

use stadium_cluster_admin::{
    Admin, Area, Check, Error, NewCluster, Progress, StatusReport, Verdict, Waiting,
};
use stadium_membership::{NodeName, Request, Shard};
use stadium_testing::deadline::{LONG, must_find, must_hold};
use stadium_testing::etcd;

use crate::fixture::{Nodes, admin, node, settings};

const SHARDS: u32 = 6;

/// Runs `act`, which waits long, and notes the progress that it tells.
fn waiting<T>(act: impl FnOnce(Waiting<'_>) -> Result<T, Error>) -> (Result<T, Error>, Vec<Progress>) {
    let mut told = Vec::new();
    let mut tell = |progress: &Progress| {
        told.push(progress.clone());
        ControlFlow::Continue(())
    };
    let done = act(Waiting { at_most: LONG, tell: &mut tell });
    (done, told)
}

fn settled(admin: &mut Admin) -> StatusReport {
    must_find("a healthy cluster at rest", || {
        let status = admin.status().ok()?;
        (status.is_healthy && status.moving.is_empty()).then_some(status)
    })
}

fn with(checks: &[Check], area: Area, verdict: Verdict) -> Vec<&str> {
    let those = checks.iter().filter(|check| (check.area, check.verdict) == (area, verdict));
    those.map(|check| check.finding.as_str()).collect()
}

#[test]
fn moves_and_drains_happen_and_all_of_it_is_told() {
    let etcd = etcd::Cluster::start(1);
    let settings = settings("changes", &etcd);
    let mut admin = admin(&settings);
    let made = admin.init(NewCluster { shards: SHARDS, id: None }).expect("a cluster");
    let mut nodes = Nodes::of(&settings, &made);
    ["a", "b", "c"].into_iter().for_each(|name| nodes.start(name));
    let status = must_find("owners and standbys that are spread", || {
        let status = settled(&mut admin);
        let counts: Vec<_> = status.nodes.iter().map(|one| (one.is_alive, one.owned, one.standby)).collect();
        (counts == [(true, 2, 2); 3]).then_some(status)
    });
    assert!(status.planner.is_some() && status.is_balancing && status.requests.is_empty());
    assert!(status.etcd.len() == 1 && status.etcd[0].is_healthy && status.etcd[0].is_leader);
    assert!(status.etcd[0].revision.is_some_and(|revision| revision >= status.revision));

    let report = admin.nodes().expect("nodes");
    let [first, ..] = &report.nodes[..] else { panic!("{report:?}") };
    let about = first.alive.as_ref().expect("it is alive");
    assert_eq!((about.zone.as_deref(), about.versions.program.as_str()), (Some("zone-a"), "test"));
    assert_eq!((first.in_step, about.incarnation.len()), (2, 16));

    // A planner that balances would take a moved shard back.
    assert_eq!(admin.balance(false), Ok(true));
    assert_eq!(admin.balance(false), Ok(false));
    moves_happen(&mut admin, &status);
    refusals_change_nothing(&mut admin);
    let drained = drains_happen(&mut admin);

    assert_eq!(admin.balance(true), Ok(true));
    settled(&mut admin);
    examined(&mut admin);

    // A node that is lost is missed until its grace time is over.
    let lost = if drained.as_str() == "a" { "b" } else { "a" };
    nodes.stop(lost);
    must_hold("the shards of the lost node have owners", || {
        admin.status().is_ok_and(|status| {
            let is_lost = status.nodes.iter().any(|one| one.node.as_str() == lost && !one.is_alive);
            is_lost && status.without_owner.is_empty()
        })
    });
    // The planner may balance meanwhile: a shard that is handed over has no owner for a moment.
    let report = must_find("three views that agree on the standbys that are missed", || {
        let status = admin.status().ok()?;
        let report = admin.shards(Some(&node(lost)), true).ok()?;
        let of_lost: Vec<Shard> = report.shards.iter().map(|shard| shard.shard).collect();
        let report = admin.examine().ok()?;
        let problems = with(&report.checks, Area::Shards, Verdict::Problem).len();
        let are_missed = !status.is_healthy && !of_lost.is_empty() && of_lost == status.few_standbys;
        (are_missed && problems == 1).then_some(report)
    });
    let warnings = with(&report.checks, Area::Nodes, Verdict::Warning);
    assert!(warnings.iter().any(|finding| finding.contains(&format!("not alive: {lost}"))), "{warnings:?}");
}

/// A shard goes to the node that is no replica of it, which copies it first.
fn moves_happen(admin: &mut Admin, status: &StatusReport) {
    let before = admin.shards(None, false).expect("shards").shards[0].clone();
    let from = before.owner.clone().expect("an owner");
    let names = status.nodes.iter().map(|node| &node.node);
    let is_new = |name: &&NodeName| **name != from && **name != before.standbys[0].node;
    let to = names.clone().find(is_new).expect("one of three").clone();

    let (moved, told) = waiting(|waiting| admin.move_shard(Shard(0), &to, Some(waiting)));
    let moved = moved.expect("it moves");
    assert_eq!((moved.from.as_ref(), moved.is_done), (Some(&from), true));
    assert!(moved.took_ms.is_some() && !told.is_empty());
    let status = settled(admin);
    assert_eq!(status.owners[0].as_ref(), Some(&to));
    assert!(status.requests == [Request::BalanceOff] && !status.is_balancing, "{:?}", status.requests);

    // Its owner already.
    let again = admin.move_shard(Shard(0), &to, None).expect("nothing to do");
    assert_eq!((again.is_done, again.took_ms), (true, None));

    // A caller that stops waiting leaves the request.
    let back = Waiting { at_most: LONG, tell: &mut |_| ControlFlow::Break(()) };
    assert_eq!(admin.move_shard(Shard(0), &from, Some(back)), Err(Error::Interrupted));
    must_hold("the move happens all the same", || {
        admin.status().is_ok_and(|status| status.owners[0].as_ref() == Some(&from))
    });
    settled(admin);
}

fn refusals_change_nothing(admin: &mut Admin) {
    let before = admin.status().expect("a status").revision;
    let refused = [
        admin.move_shard(Shard(SHARDS), &node("a"), None).expect_err("no such shard").to_string(),
        admin.move_shard(Shard(0), &node("nobody"), None).expect_err("no such node").to_string(),
        admin.drain(&node("nobody"), None).expect_err("no such node").to_string(),
        admin.shards(Some(&node("nobody")), false).expect_err("no such node").to_string(),
        admin.undo_move(Shard(0)).expect_err("nobody asked").to_string(),
        admin.undo_drain(&node("a")).expect_err("nobody asked").to_string(),
    ];
    let words = [
        "its shards are 0 to 5",
        "it knows: a, b, c",
        "it knows: a, b, c",
        "no node nobody",
        "nobody asked",
        "nobody asked",
    ];
    for (refused, words) in refused.iter().zip(words) {
        assert!(refused.contains(words) && refused.ends_with("(CLU-109)"), "{refused}");
    }
    assert_eq!(admin.status().expect("a status").requests, [Request::BalanceOff]);
    // Loads are reported meanwhile, so only requests are compared; nothing is older than before.
    assert!(admin.status().expect("a status").revision >= before);
}

/// The planner's own node gives everything away, and gets shards again afterwards.
fn drains_happen(admin: &mut Admin) -> NodeName {
    let leaving = admin.nodes().expect("nodes").planner.expect("a planner");
    let owned = |admin: &mut Admin| {
        let report = admin.nodes().expect("nodes");
        report.nodes.into_iter().find(|one| one.node == leaving).expect("it is known")
    };
    let before = owned(admin).owned;
    assert!(before > 0, "it owns shards");
    let (drained, told) = waiting(|waiting| admin.drain(&leaving, Some(waiting)));
    let drained = drained.expect("it drains");
    assert_eq!((drained.owned_before, drained.owned, drained.is_leaving), (before, 0, true));
    assert!(told.iter().all(|progress| progress.done <= progress.all), "{told:?}");
    let now = owned(admin);
    assert!(now.is_draining() && now.is_leaving && now.owned == 0, "{now:?}");
    let refused = admin.move_shard(Shard(0), &leaving, None).expect_err("it drains").to_string();
    assert!(refused.contains("drains"), "{refused}");
    must_hold("its standbys go too", || {
        admin
            .nodes()
            .is_ok_and(|report| report.nodes.iter().all(|one| one.node != leaving || one.standby == 0))
    });
    let others: Vec<NodeName> = ["a", "b", "c"].map(node).into_iter().filter(|one| *one != leaving).collect();
    admin.drain(&others[0], None).expect("one is left");
    let refused = admin.drain(&others[1], None).expect_err("nobody is left").to_string();
    assert!(refused.contains("no other node is alive"), "{refused}");
    for name in [&leaving, &others[0]] {
        let undone = admin.undo_drain(name).expect("taken back");
        assert!(!undone.is_leaving);
    }
    leaving
}

fn examined(admin: &mut Admin) {
    let report = admin.examine().expect("a report");
    assert_eq!(report.problems, 0, "{:#?}", report.checks);
    let checks = &report.checks;
    assert_eq!(with(checks, Area::Links, Verdict::Ok).len(), 3, "{checks:#?}");
    assert_eq!(with(checks, Area::Shards, Verdict::Ok).len(), 2, "{checks:#?}");
    let brokers = with(checks, Area::Kafka, Verdict::Ok);
    assert_eq!(brokers.iter().filter(|finding| finding.starts_with("broker ")).count(), 3, "{checks:#?}");
    assert!(brokers.iter().any(|finding| finding.starts_with("topic ")), "{checks:#?}");
    // The brokers of the tests name no racks, and one member of etcd is none too many.
    assert!(
        with(checks, Area::Kafka, Verdict::Warning).iter().any(|one| one.contains("rack")),
        "{checks:#?}"
    );
    assert!(with(checks, Area::Etcd, Verdict::Warning).iter().any(|one| one.contains("1 member")));
    let all_have_a_remedy =
        checks.iter().all(|check| check.remedy.is_some() == (check.verdict != Verdict::Ok));
    assert!(all_have_a_remedy, "{checks:#?}");
}
