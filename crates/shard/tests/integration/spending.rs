//! Behaviours of wallets on real shards: threads, files, restarts, many who spend at once.
//!
//! The amounts counted in the end are those that were acknowledged.

use crate::fixture;

use std::time::Duration;

use fixture::town::{on, post, votes_asset, wallet};
use fixture::{Data, LONG, named, queue};
use stadium_queue::Refusal;
use stadium_shard::{Shards, Together};
use stadium_wallet::{
    Answer, Balance, Command, Kind, NewAccount, NewTransfer, Outcome, Overdraft, TransferId,
};

fn asked(shards: &Shards, command: Command) -> Result<Answer, Refusal> {
    shards.submit_wallet(command).wait(LONG).expect("an answer within a minute")
}

fn done(shards: &Shards, command: Command) -> Answer {
    asked(shards, command).expect("it is accepted")
}

fn open(shards: &Shards, names: &[String], votes: u64) {
    done(shards, Command::Declare { asset: votes_asset(), scale: 0 });
    let account = |name: &String| NewAccount {
        wallet: wallet(name),
        asset: votes_asset(),
        overdraft: Overdraft::Never,
        ceiling: None,
    };
    let Answer::Opened(opened) =
        done(shards, Command::Open { accounts: names.iter().map(account).collect() })
    else {
        panic!("opened")
    };
    assert!(opened.iter().all(|one| *one == Ok(true)), "{opened:?}");
    let transfers = names.iter().zip(1_000_000..).map(|(name, id)| post(id, "@bank", name, votes)).collect();
    let Answer::Booked(outcomes) =
        done(shards, Command::Transfer { transfers, linked: false, principal: None })
    else {
        panic!("booked")
    };
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

fn balance(shards: &Shards, name: &str) -> Balance {
    let Answer::Accounts(accounts) = done(shards, Command::Wallet { wallet: wallet(name) }) else {
        panic!("accounts")
    };
    accounts[0].balance
}

fn outcome(answer: Option<Result<Answer, Refusal>>) -> Outcome {
    match answer.expect("an answer within a minute")? {
        Answer::Booked(mut outcomes) => outcomes.remove(0),
        other => panic!("{other:?}"),
    }
}

fn assert_sums(shards: &Shards) {
    let Answer::Assets(assets) = done(shards, Command::Assets) else { panic!("assets") };
    assert!(assets.iter().all(|asset| asset.credit == asset.debit), "{assets:?}");
}

#[test]
fn exactly_the_credit_is_spent_by_many_at_once() {
    let data = Data::new(2);
    let shards = data.open();
    open(&shards, &["ada".into()], 40);
    let spend = |client: u128| {
        let shards = shards.clone();
        std::thread::spawn(move || {
            let each = |number| {
                let transfers = vec![post(client * 100 + number, "ada", "@shop", 1)];
                outcome(
                    shards
                        .submit_wallet(Command::Transfer { transfers, linked: false, principal: None })
                        .wait(LONG),
                )
            };
            (0..4).map(each).collect::<Vec<_>>()
        })
    };
    let clients: Vec<_> = (1..=64).map(spend).collect();
    let outcomes: Vec<Outcome> =
        clients.into_iter().flat_map(|client| client.join().expect("it does not panic")).collect();
    assert_eq!(outcomes.iter().filter(|one| one.is_ok()).count(), 40);
    let codes = outcomes.iter().filter_map(|one| one.as_ref().err()).map(Refusal::code);
    assert!(codes.into_iter().all(|code| code == "WAL-023"));
    assert_eq!((balance(&shards, "ada").posted, balance(&shards, "@shop").posted), (0, 40));
    assert_sums(&shards);
    data.stop(shards);
}

#[test]
fn money_that_goes_round_between_shards_stays_the_same() {
    let data = Data::new(3);
    let shards = data.open();
    let names = one_on_each();
    open(&shards, &names, 100);
    let tickets: Vec<_> = (0..300_u128)
        .map(|number| {
            let from = number as usize % 3;
            let to = (from + 1 + number as usize / 3 % 2) % 3;
            let transfers = vec![post(number, &names[from], &names[to], 1 + number as u64 % 5)];
            shards.submit_wallet(Command::Transfer { transfers, linked: false, principal: None })
        })
        .collect();
    let booked: Vec<Outcome> = tickets.into_iter().map(|ticket| outcome(ticket.wait(LONG))).collect();
    assert!(booked.iter().filter(|one| one.is_ok()).count() > 100, "most have enough");
    let mut before = Vec::new();
    fixture::until("all has arrived, and 300 are there", || {
        before = balances(&shards, &names);
        is_at_rest(&shards) && before.iter().sum::<i64>() == 300
    });
    assert_sums(&shards);
    data.stop(shards);
    let shards = data.open();
    assert_eq!(balances(&shards, &names), before);
    assert_sums(&shards);
    data.stop(shards);
}

#[test]
fn a_list_is_answered_in_its_order_whatever_shards_decide() {
    let data = Data::new(3);
    let shards = data.open();
    let names = one_on_each();
    open(&shards, &names, 10);
    let transfers = vec![
        post(1, &names[2], "@shop", 1),
        post(2, &names[0], &names[1], 4),
        post(3, "nobody", "@shop", 1),
        post(4, &names[0], "@shop", 7),
        post(5, &names[1], "@shop", 2),
    ];
    let Answer::Booked(outcomes) =
        done(&shards, Command::Transfer { transfers, linked: false, principal: None })
    else {
        panic!("booked")
    };
    let codes: Vec<_> =
        outcomes.iter().map(|one| one.as_ref().map_or_else(Refusal::code, |_| "ok")).collect();
    assert_eq!(codes, ["ok", "ok", "WAL-021", "WAL-023", "ok"]);
    let ids: Vec<_> = outcomes.iter().flatten().map(|booked| booked.transfer.0).collect();
    assert_eq!(ids, [1, 2, 5]);
    // Linked, over all shards: all or none.
    let linked = |first: u128, amount| Command::Transfer {
        transfers: vec![
            post(first, &names[0], &names[1], 1),
            post(first + 1, &names[1], &names[2], 1),
            post(first + 2, &names[2], "@shop", amount),
        ],
        linked: true,
        principal: None,
    };
    assert_eq!(asked(&shards, linked(20, 1_000)).expect_err("there is not so much").code(), "WAL-032");
    assert!(matches!(done(&shards, linked(30, 1)), Answer::Booked(all) if all.iter().all(Result::is_ok)));
    fixture::until("it is decided everywhere", || {
        shards.metrics().iter().all(|one| (one.wallet.pending, one.wallet.outgoing) == (0, 0))
    });
    assert_sums(&shards);
    data.stop(shards);
}

fn linked(shards: &Shards, transfers: &[NewTransfer]) -> Result<Vec<Outcome>, Refusal> {
    match asked(shards, Command::Transfer { transfers: transfers.to_vec(), linked: true, principal: None })? {
        Answer::Booked(outcomes) => Ok(outcomes),
        other => panic!("{other:?}"),
    }
}

fn alone(shards: &Shards, transfer: &NewTransfer) -> Outcome {
    let transfers = vec![transfer.clone()];
    outcome(shards.submit_wallet(Command::Transfer { transfers, linked: false, principal: None }).wait(LONG))
}

fn reversal(id: u128, of: u128) -> NewTransfer {
    NewTransfer { kind: Kind::Reverse { transfer: TransferId(of) }, ..post(id, "@a", "@b", 1) }
}

/// A wallet on each of three shards.
fn one_on_each() -> Vec<String> {
    (0..3).map(|shard| on(shard, 3)).collect()
}

fn balances(shards: &Shards, names: &[String]) -> Vec<i64> {
    names.iter().map(|name| balance(shards, name).posted).collect()
}

/// Figures are slightly old: only together with the balances do they show that nothing is under
/// way.
fn is_at_rest(shards: &Shards) -> bool {
    shards.metrics().iter().all(|one| (one.wallet.pending, one.wallet.outgoing) == (0, 0))
}

fn assert_balances(shards: &Shards, names: &[String], expected: [i64; 3]) {
    let mut last = Vec::new();
    fixture::until(&format!("{expected:?} are there"), || {
        last = balances(shards, names);
        is_at_rest(shards) && last == expected
    });
}

/// A list over all three shards: the first one's decides, and each of the others would be decided elsewhere alone.
fn over_three(names: &[String]) -> Vec<NewTransfer> {
    let elsewhere = |id: &u128| post(*id, "@prize", "@shop", 3).home(3) == Some(2);
    let by_id = (50..).find(elsewhere).expect("ids spread over shards");
    vec![
        post(20, &names[0], &names[1], 1),
        post(21, &names[1], &names[2], 2),
        post(22, &names[2], "@shop", 3),
        post(by_id, "@prize", "@shop", 3),
    ]
}

#[test]
fn a_transfer_of_a_list_over_several_shards_is_known_when_it_is_sent_alone() {
    let data = Data::new(3);
    let mut shards = data.open();
    let names = one_on_each();
    open(&shards, &names, 10);
    let list = over_three(&names);
    let first = linked(&shards, &list).expect("it is booked");
    assert_balances(&shards, &names, [9, 9, 9]);
    // After a start from what was written when it stopped, too.
    for _ in 0..2 {
        for (transfer, first) in list.iter().zip(&first) {
            let again = alone(&shards, transfer).expect("it is known");
            assert_eq!(
                (again.duplicate, Some(again.at)),
                (true, first.as_ref().ok().map(|booked| booked.at))
            );
            let other = NewTransfer { reference: "another".into(), ..transfer.clone() };
            assert_eq!(alone(&shards, &other).expect_err("it has other content").code(), "WAL-026");
        }
        assert!(linked(&shards, &list).expect("it is known").iter().flatten().all(|booked| booked.duplicate));
        assert_balances(&shards, &names, [9, 9, 9]);
        data.stop(shards);
        shards = data.open();
    }
    // A caller that asks for it or takes it back is answered by the shard that decided it.
    for id in [20, 21, 22] {
        let Answer::Transfer(view) = done(&shards, Command::Find { transfer: TransferId(id) }) else {
            panic!("one")
        };
        assert_eq!(view.amount, id as u64 - 19);
    }
    let backs: Vec<Outcome> = (70..74).map(|id| alone(&shards, &reversal(id, 20))).collect();
    let codes: Vec<&str> =
        backs.iter().map(|one| one.as_ref().map_or_else(Refusal::code, |_| "ok")).collect();
    assert_eq!(codes, ["ok", "WAL-029", "WAL-029", "WAL-029"]);
    assert_balances(&shards, &names, [10, 8, 9]);
    assert_sums(&shards);
    data.stop(shards);
}

#[test]
fn a_transfer_booked_alone_is_not_booked_by_a_list() {
    let data = Data::new(3);
    let shards = data.open();
    let names = one_on_each();
    open(&shards, &names, 10);
    let list = over_three(&names);
    for transfer in &list[1..] {
        assert!(!alone(&shards, transfer).expect("it is booked").duplicate);
    }
    assert_balances(&shards, &names, [10, 8, 9]);
    for (number, known) in (90..).zip(&list[1..]) {
        let two = [post(number, &names[0], "@shop", 1), known.clone()];
        let refused = linked(&shards, &two).expect_err("it was booked before");
        assert!(refused.code() == "WAL-032" && refused.to_string().contains("WAL-026"), "{refused}");
    }
    assert_eq!(linked(&shards, &list).expect_err("most of it was booked before").code(), "WAL-032");
    assert_balances(&shards, &names, [10, 8, 9]);
    assert_sums(&shards);
    data.stop(shards);
}

#[test]
fn a_list_and_its_transfers_alone_at_once_book_each_id_once() {
    const ROUNDS: u128 = 60;
    let data = Data::new(3);
    let shards = data.open();
    let names = one_on_each();
    open(&shards, &names, 10_000);
    let list = |round: u128| {
        let id = 1_000 + round * 10;
        vec![
            post(id, &names[0], "@shop", 1),
            post(id + 1, &names[1], "@shop", 10),
            post(id + 2, &names[2], "@shop", 100),
            post(id + 3, "@prize", "@shop", 1_000),
        ]
    };
    let go = std::sync::Barrier::new(5);
    let of_lists = std::thread::scope(|scope| {
        for at in 0..4 {
            let (shards, list, go) = (&shards, &list, &go);
            scope.spawn(move || {
                go.wait();
                for round in 0..ROUNDS {
                    // Until somebody knows: it may be under way in the list.
                    while let Err(refusal) = alone(shards, &list(round)[at]) {
                        assert_eq!(refusal.code(), "WAL-043");
                    }
                }
            });
        }
        go.wait();
        let mut booked = 0_i64;
        // From the other end: both are first somewhere.
        for round in (0..ROUNDS).rev() {
            let refused = loop {
                match linked(&shards, &list(round)) {
                    Err(Refusal::Busy { code: "WAL-043", .. } | Refusal::Unknown { code: "WAL-043", .. }) => {
                    }
                    other => break other.err(),
                }
            };
            booked += i64::from(refused.is_none());
            assert!(refused.is_none_or(|refusal| refusal.code() == "WAL-032"));
        }
        booked
    });
    let rounds = ROUNDS as i64;
    assert_balances(&shards, &names, [10_000 - rounds, 10_000 - 10 * rounds, 10_000 - 100 * rounds]);
    assert_eq!(balance(&shards, "@shop").posted, 1_111 * rounds);
    assert!((1..rounds).contains(&of_lists), "{of_lists} of {rounds} as a list: this tests little");
    assert_sums(&shards);
    data.stop(shards);
}

#[test]
fn totals_show_what_wallets_have_and_no_internal_accounts() {
    let data = Data::new(2);
    let shards = data.open();
    let names: Vec<String> = (0..2).map(|shard| on(shard, 2)).collect();
    open(&shards, &names, 1_000);
    assert!(!alone(&shards, &post(1, &names[0], &names[1], 250)).expect("it is booked").duplicate);
    fixture::until("it has arrived", || balances(&shards, &names) == [750, 1_250]);
    let Answer::Assets(assets) = done(&shards, Command::Assets) else { panic!("assets") };
    assert_eq!((assets[0].credit, assets[0].debit, assets[0].transit), (2_000, 2_000, 0));
    data.stop(shards);
}

#[test]
fn a_vote_and_its_confirmation_are_one() {
    let data = Data::new(2);
    let shards = data.open();
    open(&shards, &["ada".into()], 1);
    let vote = |id| Together {
        transfers: vec![post(id, "ada", "@candidate", 1)],
        jobs: vec![(queue("ballots"), named("for the candidate"))],
        principal: None,
    };
    let ask = |id| shards.submit_together(vote(id)).wait(LONG).expect("an answer within a minute");
    let done = ask(1).expect("voted");
    assert_eq!((done.booked.len(), done.placed.len()), (1, 1));
    assert!(ask(1).expect("known").placed.is_empty());
    assert!(ask(2).is_err());
    fixture::until("the ballot is there", || fixture::stats(&shards, "ballots").due == 1);
    assert_eq!(fixture::stats(&shards, "ballots").put, 1);
    data.stop(shards);
}

#[test]
fn an_asset_that_only_some_shards_know_is_known_to_all_after_the_next_start() {
    let data = Data::new(2);
    let shards = data.open();
    open(&shards, &["ada".into()], 1);
    data.stop(shards);
    // As if the other shard had never heard of it.
    let other = 1 - wallet("ada").home(2).expect("it lives somewhere");
    std::fs::remove_dir_all(data.path().join(format!("shard-{other:04}"))).expect("it was there");
    let shards = data.open();
    let far = on(other, 2);
    fixture::until("the asset is known there too", || {
        let account = NewAccount {
            wallet: wallet(&far),
            asset: votes_asset(),
            overdraft: Overdraft::Never,
            ceiling: None,
        };
        let opened = asked(&shards, Command::Open { accounts: vec![account] });
        matches!(opened, Ok(Answer::Opened(all)) if all[0].is_ok())
    });
    data.stop(shards);
}

#[test]
fn a_stopped_shard_answers_busy_and_a_stopping_one_finishes() {
    let data = Data::new(2);
    let shards = data.open();
    open(&shards, &["ada".into()], 1);
    shards.stop_waiting();
    let waits = shards.submit(fixture::wait_for("mail", 1, 60_000));
    assert_eq!(waits.wait(LONG), Some(Ok(stadium_queue::Answer::Reserved(Vec::new()))));
    data.stop(shards.clone());
    let refused = shards.submit_wallet(Command::Assets).wait(Duration::ZERO).expect("at once");
    assert!(matches!(refused, Err(Refusal::Busy { code: "SHARD-004", .. })), "{refused:?}");
}

#[test]
fn the_data_of_the_version_before_there_were_wallets_is_opened() {
    let data = Data::with(1, |settings| {
        settings.journal.segment_bytes = 9_437_184;
        settings.journal.reserve_bytes = 65_536;
    });
    let fixture =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/data-v1.tar.gz");
    let place = tempfile::tempdir().expect("a temporary directory");
    let unpacked =
        std::process::Command::new("tar").arg("-xzf").arg(fixture).arg("-C").arg(place.path()).status();
    assert!(unpacked.expect("tar runs").success());
    std::fs::rename(place.path().join("data/shards"), data.path()).expect("it is moved");
    for start in 0..2 {
        let shards = data.open();
        assert_eq!(fixture::stats(&shards, "mail").put, 20);
        if start == 0 {
            open(&shards, &["ada".into()], 5);
        }
        assert_eq!(balance(&shards, "ada").posted, 5);
        data.stop(shards);
    }
}
