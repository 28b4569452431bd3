//! Behaviours of where calls go while nobody fails.
//!
//! Draws are seeded, so that each test goes the same way every time.

use super::fixture::*;
use crate::balance::*;

#[test]
fn of_two_drawn_the_one_with_less_to_do_is_chosen() {
    let mut fleet = Fleet::of(&["a:1", "b:1"]);
    fleet.calls(3, "a:1", Outcome::Ok);
    fleet.calls(3, "b:1", Outcome::Ok);
    let busy = fleet.id("a:1");
    fleet.balancer.began(busy, fleet.now_us);
    assert_eq!(fleet.next(), ("b:1".into(), Why::LowerCost));
}

#[test]
fn a_latency_above_the_average_counts_at_once() {
    let mut fleet = Fleet::of(&["a:1", "b:1"]);
    fleet.calls(50, "a:1", Outcome::Ok);
    fleet.calls(50, "b:1", Outcome::Ok);
    fleet.call("a:1", Outcome::Ok, 40 * MS);
    assert_eq!(fleet.shares(100, &["a:1"]), [0.0]);
}

#[test]
fn a_slow_instance_is_tried_again_after_a_while() {
    let mut fleet = Fleet::of(&["a:1", "b:1"]);
    fleet.call("a:1", Outcome::Ok, 20 * MS);
    let mut tried_after = None;
    for second in 0..60 {
        if fleet.next().0 == "a:1" {
            tried_after = Some(second);
            break;
        }
        for _ in 0..10 {
            fleet.call("b:1", Outcome::Ok, 2 * MS);
            fleet.wait(98 * MS);
        }
    }
    // Ten times as slow, and forgotten with a time constant of ten seconds: 10 s * ln 10.
    assert!((20..=27).contains(&tried_after.expect("it is tried again")), "{tried_after:?}");
}

#[test]
fn a_published_load_keeps_calls_away() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1"]);
    let loaded = fleet.id("a:1");
    fleet.balancer.load(loaded, 0.9, false);
    assert_eq!(fleet.shares(1_000, &["a:1"]), [0.0]);
    fleet.balancer.load(loaded, 0.0, false);
    assert!(fleet.shares(1_000, &["a:1"])[0] > 0.2);
}

#[test]
fn an_absurd_load_is_no_reason_to_panic() {
    let mut fleet = Fleet::of(&["a:1"]);
    let id = fleet.id("a:1");
    for load in [f32::NAN, f32::INFINITY, -5.0, f32::MAX] {
        fleet.balancer.load(id, load, false);
        assert_eq!(fleet.next(), ("a:1".into(), Why::OnlyOne));
    }
}

#[test]
fn weight_is_the_share_of_calls_under_way() {
    let mut fleet = Fleet::of(&[]);
    fleet.discover(&[known("a:1"), Known { weight: 300, ..known("b:1") }]);
    for _ in 0..400 {
        let chosen = fleet.balancer.choose(fleet.now_us, Choice::default()).expect("two are connected");
        fleet.balancer.began(chosen.id, fleet.now_us);
    }
    let (light, heavy) = (fleet.balancer.inflight(fleet.id("a:1")), fleet.balancer.inflight(fleet.id("b:1")));
    assert!((98..=102).contains(&light) && light + heavy == 400, "{light} and {heavy}");
}

#[test]
fn a_stream_that_lasted_long_makes_nobody_slow() {
    let mut fleet = Fleet::of(&["a:1", "b:1"]);
    fleet.calls(3, "a:1", Outcome::Ok);
    fleet.calls(3, "b:1", Outcome::Ok);
    for outcome in [Outcome::Ok, Outcome::Cancelled, Outcome::Broken] {
        let id = fleet.id("a:1");
        fleet.balancer.began(id, fleet.now_us);
        fleet.balancer.stream_ended(id, outcome, 3_600 * SECOND, fleet.now_us);
        assert_eq!(fleet.balancer.inflight(id), 0);
    }
    let share = fleet.shares(1_000, &["a:1"])[0];
    assert!(share > 0.0, "it still gets calls");
    for _ in 0..4 {
        fleet.balancer.stream_ended(
            fleet.balancer.find("a:1").expect("known"),
            Outcome::Broken,
            0,
            fleet.now_us,
        );
    }
    assert!(matches!(fleet.state("a:1"), State::Ejected { .. }), "but how they ended counts");
}

#[test]
fn a_newcomer_is_thought_to_be_like_most() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1"]);
    for address in ["a:1", "b:1", "c:1"] {
        fleet.calls(10, address, Outcome::Ok);
    }
    fleet.discover(&[known("a:1"), known("b:1"), known("c:1"), known("new:1")]);
    let share = fleet.shares(1_000, &["new:1"])[0];
    assert!((0.1..=0.6).contains(&share), "neither drowned nor starved: {share}");
}

#[test]
fn what_is_known_of_an_instance_survives_an_update() {
    let mut fleet = Fleet::of(&["a:1", "b:1"]);
    fleet.call("a:1", Outcome::Ok, 500 * MS);
    fleet.call("b:1", Outcome::Ok, MS);
    let before = fleet.id("a:1");
    fleet.discover(&[known("b:1"), known("c:1"), Known { load: 0.1, ..known("a:1") }]);
    assert_eq!(fleet.id("a:1"), before);
    assert_eq!(fleet.shares(200, &["a:1"]), [0.0]);
}

#[test]
fn the_id_of_an_instance_that_has_gone_is_void() {
    let mut fleet = Fleet::of(&["a:1", "b:1"]);
    let gone = fleet.id("a:1");
    fleet.balancer.began(gone, fleet.now_us);
    fleet.discover(&[known("b:1")]);
    fleet.discover(&[known("b:1"), known("c:1")]);

    let heir = fleet.id("c:1");
    assert_eq!(heir.slot(), gone.slot(), "the slot is used again");
    assert_eq!(fleet.balancer.address(gone), None);
    for _ in 0..10 {
        fleet.balancer.ended(gone, Outcome::Broken, MS, fleet.now_us);
    }
    fleet.balancer.disconnected(gone, u64::MAX);
    assert_eq!(fleet.state("c:1"), State::Serving);
    assert_eq!(fleet.balancer.inflight(heir), 0);
}

#[test]
fn instances_beyond_the_bound_are_left_out_and_counted() {
    let names: Vec<String> = (0..INSTANCES_MAX + 3).map(name).collect();
    let all: Vec<Known<'_>> = names.iter().map(|name| known(name)).collect();
    let mut balancer = Balancer::new(BalanceSettings::default());
    let updated = balancer.update(&all, 0);
    assert_eq!(updated, Updated { added: INSTANCES_MAX, removed: 0, left_out: 3 });
    assert_eq!(balancer.len(), INSTANCES_MAX);
    assert_eq!(balancer.update(&[], 0).removed, INSTANCES_MAX);
    assert!(balancer.is_empty());
    assert_eq!(balancer.choose(0, Choice::default()), None);
}

#[test]
fn one_that_said_busy_is_avoided_until_its_time() {
    let mut fleet = Fleet::of(&["a:1", "b:1"]);
    fleet.call("a:1", Outcome::Busy { retry_after_ms: 120 }, MS);
    assert_eq!(fleet.shares(100, &["a:1"]), [0.0]);
    assert_eq!(fleet.next().1, Why::OnlyOne);
    fleet.wait(119 * MS);
    assert_eq!(fleet.shares(100, &["a:1"]), [0.0]);
    fleet.wait(MS);
    assert!(fleet.shares(100, &["a:1"])[0] > 0.0);
}

#[test]
fn when_all_are_busy_calls_still_go_somewhere() {
    let mut fleet = Fleet::of(&["a:1", "b:1"]);
    fleet.call("a:1", Outcome::Busy { retry_after_ms: 100 }, MS);
    fleet.call("b:1", Outcome::Busy { retry_after_ms: 100 }, MS);
    assert_eq!(fleet.next().1, Why::AllBusy);
}

#[test]
fn nobody_can_ban_himself_for_long() {
    let mut fleet = Fleet::of(&["a:1", "b:1"]);
    fleet.call("a:1", Outcome::Busy { retry_after_ms: u32::MAX }, MS);
    fleet.wait(5 * SECOND);
    assert_eq!(fleet.state("a:1"), State::Serving);
}

#[test]
fn a_quiescing_instance_gets_nothing_and_comes_back() {
    let mut fleet = Fleet::of(&["a:1", "b:1"]);
    let leaving = fleet.id("a:1");
    let key = a_key_of(&mut fleet, "a:1");
    fleet.balancer.load(leaving, 0.2, true);
    assert_eq!(fleet.shares(100, &["a:1"]), [0.0]);
    assert_eq!(fleet.choose(Choice { key: Some(key), exclude: &[] }).expect("b is left").0, "b:1");
    assert!(!fleet.balancer.is_wanted(leaving), "its connection may go");
    fleet.balancer.load(leaving, 0.2, false);
    assert!(fleet.balancer.is_wanted(leaving));
    assert_eq!(fleet.choose(Choice { key: Some(key), exclude: &[] }).expect("both serve").0, "a:1");

    fleet.discover(&[Known { quiescing: true, ..known("a:1") }, Known { weight: 0, ..known("b:1") }]);
    assert_eq!(fleet.choose(Choice::default()), None, "all are leaving");
}

#[test]
fn a_lost_connection_is_avoided_and_worth_a_try_later() {
    let mut fleet = Fleet::of(&["a:1", "b:1"]);
    let lost = fleet.id("a:1");
    fleet.balancer.disconnected(lost, fleet.now_us + SECOND);
    assert_eq!(fleet.next(), ("b:1".into(), Why::OnlyOne));
    assert!(fleet.balancer.is_wanted(lost), "it is to be reconnected");

    let other = fleet.id("b:1");
    fleet.balancer.disconnected(other, fleet.now_us + 2 * SECOND);
    assert_eq!(fleet.choose(Choice::default()), None);
    fleet.wait(SECOND);
    assert_eq!(fleet.next(), ("a:1".into(), Why::NotConnected));
    fleet.balancer.connected(lost);
    assert_eq!(fleet.next(), ("a:1".into(), Why::OnlyOne));
}

#[test]
fn before_any_connection_is_up_one_is_worth_connecting_to() {
    let mut balancer = Balancer::new(BalanceSettings::default());
    balancer.update(&[known("a:1"), known("b:1")], 0);
    let chosen = balancer.choose(0, Choice::default()).expect("two are known");
    assert_eq!((chosen.why, chosen.connected), (Why::NotConnected, false));
}

#[test]
fn a_retry_goes_to_another_instance_or_nowhere() {
    let mut fleet = Fleet::of(&["a:1", "b:1"]);
    let first = [fleet.id("a:1")];
    for _ in 0..50 {
        let chosen = fleet.choose(Choice { key: None, exclude: &first }).expect("b is left");
        assert_eq!(chosen, ("b:1".into(), Why::OnlyOne));
    }
    let both = [fleet.id("a:1"), fleet.id("b:1")];
    assert_eq!(fleet.choose(Choice { key: None, exclude: &both }), None);
    assert_eq!(fleet.choose(Choice { key: Some(KeyHash::of(b"k")), exclude: &both }), None);
}

/// A key that the instance at `address` owns.
fn a_key_of(fleet: &mut Fleet, address: &str) -> KeyHash {
    (0u32..)
        .map(|n| KeyHash::of(&n.to_be_bytes()))
        .find(|&key| {
            fleet.choose(Choice { key: Some(key), exclude: &[] }).is_some_and(|one| one.0 == address)
        })
        .expect("keys never end")
}

#[test]
fn a_key_stays_with_its_instance_also_when_that_is_slow_or_busy() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1"]);
    let key = a_key_of(&mut fleet, "b:1");
    fleet.call("b:1", Outcome::Ok, SECOND);
    fleet.call("b:1", Outcome::Busy { retry_after_ms: 1_000 }, MS);
    for _ in 0..100 {
        assert_eq!(fleet.choose(Choice { key: Some(key), exclude: &[] }), Some(("b:1".into(), Why::Key)));
    }
}

#[test]
fn a_key_moves_while_its_instance_is_away_and_returns() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1"]);
    let key = a_key_of(&mut fleet, "b:1");
    let choice = Choice { key: Some(key), exclude: &[] };

    fleet.calls(5, "b:1", Outcome::Broken);
    let (stand_in, _) = fleet.choose(choice).expect("two are left");
    assert_ne!(stand_in, "b:1");
    assert_eq!(fleet.choose(choice).expect("two are left").0, stand_in, "always the same");
    let why = fleet.balancer.explain(fleet.now_us, choice).why;
    assert!(why.starts_with("the key belongs to b:1, which is ejected for"), "{why}");

    fleet.wait(SECOND);
    for _ in 0..3 {
        assert_eq!(fleet.choose(choice).expect("b is on probation").0, "b:1");
        fleet.call("b:1", Outcome::Ok, MS);
    }
    assert_eq!(fleet.choose(choice).expect("b is back").0, "b:1");
    assert_eq!(fleet.state("b:1"), State::Serving);
}

#[test]
fn keys_reach_instances_outside_the_subset() {
    let names: Vec<String> = (0..60).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut fleet = Fleet::with(BalanceSettings { subset_size: 5, ..Default::default() }, &names);
    let mut other = Fleet::with(
        BalanceSettings { subset_size: 5, client: ClientId(99), ..Default::default() },
        &names.iter().rev().copied().collect::<Vec<_>>(),
    );
    let mut owners = std::collections::HashSet::new();
    for n in 0..2_000u32 {
        let choice = Choice { key: Some(KeyHash::of(&n.to_be_bytes())), exclude: &[] };
        let owner = fleet.choose(choice).expect("sixty are known").0;
        assert_eq!(other.choose(choice).expect("sixty are known").0, owner, "all clients agree");
        owners.insert(owner);
    }
    assert_eq!(owners.len(), 60);
}

#[test]
fn the_subset_is_small_and_the_same_after_a_restart() {
    let names: Vec<String> = (0..100).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let members = |client: u64, names: &[&str]| {
        let settings = BalanceSettings { client: ClientId(client), ..Default::default() };
        let fleet = Fleet::with(settings, names);
        let mut members: Vec<String> = fleet.balancer.wanted().map(|id| fleet.address(id)).collect();
        members.sort();
        members
    };
    let mine = members(1, &names);
    assert_eq!(mine.len(), 20);
    let mut shuffled = names.clone();
    shuffled.reverse();
    assert_eq!(members(1, &shuffled), mine);
    assert_ne!(members(2, &names), mine);

    let without_one: Vec<&str> = names.iter().copied().filter(|name| *name != mine[0]).collect();
    let after = members(1, &without_one);
    assert_eq!(after.iter().filter(|name| !mine.contains(name)).count(), 1, "one goes, one comes");
}

#[test]
fn clients_together_use_all_instances_about_equally() {
    let names: Vec<String> = (0..50).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut used = std::collections::HashMap::<String, u32>::new();
    for client in 0..500 {
        let settings = BalanceSettings {
            client: ClientId::of(&format!("client-{client}")),
            subset_size: 10,
            ..Default::default()
        };
        let fleet = Fleet::with(settings, &names);
        for id in fleet.balancer.wanted() {
            *used.entry(fleet.address(id)).or_default() += 1;
        }
    }
    // 500 clients with 10 each over 50 instances: 100 each, plus or minus what chance allows.
    assert!(used.len() == 50 && used.values().all(|&count| (60..=140).contains(&count)), "{used:?}");
}

#[test]
fn another_instance_stands_in_for_a_lost_member() {
    let names: Vec<String> = (0..10).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut fleet = Fleet::with(BalanceSettings { subset_size: 3, ..Default::default() }, &names);
    let members: Vec<InstanceId> = fleet.balancer.wanted().collect();
    let version = fleet.balancer.wanted_version();
    fleet.balancer.disconnected(members[1], fleet.now_us + SECOND);

    let now: Vec<InstanceId> = fleet.balancer.wanted().collect();
    assert_ne!(fleet.balancer.wanted_version(), version);
    assert_eq!(now.len(), 4);
    assert!(members.iter().all(|member| now.contains(member)));
    fleet.balancer.connected(members[1]);
    assert_eq!(fleet.balancer.wanted().collect::<Vec<_>>(), members);
}

#[test]
fn a_client_without_network_does_not_call_at_everyone() {
    let names: Vec<String> = (0..100).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut fleet = Fleet::with(BalanceSettings { subset_size: 5, ..Default::default() }, &names);
    for _ in 0..20 {
        let wanted: Vec<InstanceId> = fleet.balancer.wanted().collect();
        assert!(wanted.len() <= 10, "{}", wanted.len());
        for id in wanted {
            fleet.balancer.disconnected(id, fleet.now_us + SECOND);
        }
    }
    fleet.wait(SECOND);
    let (address, _) = fleet.next();
    let back = fleet.id(&address);
    fleet.balancer.connected(back);
    assert!(fleet.balancer.is_wanted(back), "an instance that can be reached is used");
    assert_eq!(fleet.next(), (address, Why::OnlyOne));
}

#[test]
fn the_own_zone_is_preferred_while_it_has_enough() {
    let names: Vec<String> = (0..12).map(name).collect();
    let zones = ["a", "b"];
    let all: Vec<Known<'_>> =
        names.iter().enumerate().map(|(n, address)| Known { zone: zones[n % 2], ..known(address) }).collect();
    let settings = BalanceSettings { zone: "b".into(), zone_instances_min: 4, ..Default::default() };
    let mut fleet = Fleet::with(settings, &[]);
    fleet.discover(&all);
    assert_eq!(fleet.balancer.wanted().count(), 6, "only those in b");

    let mine: Vec<InstanceId> = fleet.balancer.wanted().collect();
    for id in &mine[..3] {
        fleet.balancer.disconnected(*id, fleet.now_us + SECOND);
    }
    assert_eq!(fleet.balancer.wanted().count(), 12, "three are not enough, so everyone helps");
}

#[test]
fn round_robin_takes_turns_and_looks_at_nothing_else() {
    let mut fleet = Fleet::with(
        BalanceSettings { policy: Policy::RoundRobin, ..Default::default() },
        &["a:1", "b:1", "c:1"],
    );
    fleet.calls(10, "b:1", Outcome::Broken);
    let order: Vec<String> = (0..6).map(|_| fleet.next().0).collect();
    assert_eq!(order, ["a:1", "b:1", "c:1", "a:1", "b:1", "c:1"]);
    let lost = fleet.id("b:1");
    fleet.balancer.disconnected(lost, fleet.now_us + SECOND);
    let order: Vec<String> = (0..4).map(|_| fleet.next().0).collect();
    assert_eq!(order, ["a:1", "c:1", "a:1", "c:1"]);
}

#[test]
fn an_explanation_names_everyone_and_says_why() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1"]);
    fleet.calls(3, "a:1", Outcome::Ok);
    fleet.call("b:1", Outcome::Busy { retry_after_ms: 120 }, MS);
    fleet.calls(5, "c:1", Outcome::Broken);

    let explanation = fleet.balancer.explain(fleet.now_us, Choice::default());
    assert_eq!(explanation.chosen.as_deref(), Some("a:1"));
    let text = explanation.to_string();
    for part in
        ["INSTANCE", "busy for 115 ms", "ejected for 1000 ms", "serving", "chosen a:1: a:1 is the only"]
    {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    let nobody = Fleet::of(&[]);
    let explanation = nobody.balancer.explain(0, Choice::default());
    assert_eq!((explanation.chosen, explanation.why.as_str()), (None, "no instance is known"));
}
