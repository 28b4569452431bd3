//! Books that are right, and each thing that can be wrong with them.
//!
//! The records are written by hand from the format; nothing here knows the wallet's code.

use crate::scribe;

use std::path::Path;

use scribe::{
    Party, Scribe, Transfer, began, confirmed, decided, held, item, item_at_home, item_of, prepared, settled,
    settled_at, voided, voted,
};
use stadium_audit::{Kind, Options, Report, verify};

fn look(directory: &Path) -> Report {
    verify(directory, &Options::default(), &mut |_| {}).expect("it can be read")
}

/// One shard: @mint is account 0, alice 1, bob 2; alice has 100.
fn books() -> Scribe {
    let mut scribe = Scribe::new(1);
    scribe.open(0, &["@mint", "alice", "bob"]);
    scribe.post(0, 1, 0, 1, 100);
    scribe
}

/// The only sort of thing that is wrong.
fn only(report: &Report) -> Kind {
    let kinds: std::collections::BTreeSet<Kind> =
        report.problems.iter().map(|problem| problem.kind).collect();
    assert_eq!(kinds.len(), 1, "{:#?}", report.problems);
    *kinds.first().expect("there is one")
}

fn balance(report: &Report, wallet: &str) -> (i128, u128) {
    let found = report.balances().find(|(name, ..)| *name == wallet);
    found.map(|(_, _, posted, held)| (posted, held)).expect("the wallet is there")
}

#[test]
fn sound_books_are_sound() {
    let mut scribe = books();
    for id in 2..300 {
        scribe.post(0, id, 1 + (id as u64 % 2), 2 - (id as u64 % 2), 1);
        if id % 100 == 0 {
            scribe.seal(0);
        }
    }
    let page = &mut scribe.pages[0];
    page.write(scribe.now, &[held(1_000, 30, 1, 2, 5_000), held(1_001, 5, 1, 2, 5_000)]);
    let capture = Transfer {
        kind: 1,
        id: 1_002,
        debit: 1,
        credit: 2,
        amount: 20,
        of: Some(1_000),
        ..Transfer::default()
    };
    let capture = page.transfer(&capture);
    page.write(scribe.now, &[capture, voided(1_003, 1_001, 5, 1, 2), held(1_004, 7, 1, 2, 1)]);
    let reversal = Transfer {
        kind: 2,
        id: 1_005,
        debit: 2,
        credit: 1,
        amount: 20,
        of: Some(1_002),
        ..Transfer::default()
    };
    let reversal = page.transfer(&reversal);
    page.write(scribe.now, &[reversal]);
    page.write(scribe.now + 2, &[[&[7][..], &1_004_u128.to_be_bytes()].concat()]);
    page.write(scribe.now + 2, &[held(1_006, 9, 1, 2, 5_000)]);
    let report = look(scribe.close().path());
    assert!(report.is_sound(), "{:#?}", report.problems);
    assert_eq!(
        (balance(&report, "alice"), balance(&report, "bob"), balance(&report, "@mint")),
        ((100, 9), (0, 0), (-100, 0))
    );
    let votes = &report.assets[0];
    assert_eq!((votes.accounts, votes.credit, votes.debit, votes.held), (3, 100, 100, 9));
    let shard = &report.shards[0];
    assert_eq!((shard.seals, shard.holds, shard.transfers), (2, 1, 301));
}

#[test]
fn progress_reaches_the_end() {
    let mut scribe = books();
    (2..2_000).for_each(|id| scribe.post(0, id, 0, 1, 1));
    let folder = scribe.close();
    let mut reported = Vec::new();
    verify(folder.path(), &Options::default(), &mut |progress| reported.push(progress))
        .expect("it can be read");
    let last = reported.last().expect("progress was reported");
    assert_eq!(last.bytes_done, last.bytes_all);
    assert!(last.bytes_all > 100_000);
    assert!(reported.is_sorted_by_key(|progress| progress.bytes_done));
}

/// Appends one record whose events are as the test wants them, and returns the audit's report.
fn after(make: impl FnOnce(&mut scribe::Page) -> Vec<Vec<u8>>) -> Report {
    let mut scribe = books();
    let (page, now) = (&mut scribe.pages[0], scribe.now + 1);
    let events = make(page);
    let at = page.write(now, &events);
    let report = look(scribe.close().path());
    let positions: Vec<_> = report.problems.iter().filter_map(|problem| problem.position).collect();
    assert!(positions.iter().all(|&position| position == at), "{:#?} should be at {at}", report.problems);
    report
}

fn post(id: u128, debit: u64, credit: u64, amount: u64) -> Transfer<'static> {
    Transfer { id, debit, credit, amount, ..Transfer::default() }
}

#[test]
fn a_debit_of_more_than_there_is_is_reported() {
    let report = after(|page| vec![page.transfer(&post(2, 1, 2, 101))]);
    assert_eq!(only(&report), Kind::Overdrawn);
    assert!(report.problems[0].what.contains("alice"), "{}", report.problems[0]);
    // Held amounts are not available.
    let report = after(|page| {
        let hold = held(2, 60, 1, 2, 5_000);
        vec![hold, page.transfer(&post(3, 1, 2, 41))]
    });
    assert_eq!(only(&report), Kind::Overdrawn);
}

#[test]
fn a_wrong_balance_is_reported() {
    let report = after(|page| {
        let mut event = page.transfer(&post(2, 1, 2, 10));
        // The balance of the debit entry: behind number, flags, kind, id, content, amount, account, entry number.
        let at = 3 + 16 + 8 + 1 + 1 + 1;
        assert_eq!(event[at..at + 2], scribe::signed(90));
        event.splice(at..at + 2, scribe::signed(91));
        vec![event]
    });
    let kinds: Vec<Kind> = report.problems.iter().map(|problem| problem.kind).collect();
    assert_eq!(kinds, [Kind::Balance, Kind::Sum], "the sum of all is wrong as well");
}

#[test]
fn an_entry_out_of_order_is_reported() {
    let report = after(|page| {
        let mut event = page.transfer(&post(2, 1, 2, 10));
        event[3 + 16 + 8 + 1 + 1] += 1;
        vec![event]
    });
    assert_eq!(only(&report), Kind::Order);
}

#[test]
fn a_way_back_that_leads_elsewhere_is_reported() {
    let report = after(|page| {
        let mut event = page.transfer(&post(2, 1, 2, 10));
        let back = 3 + 16 + 8 + 1 + 1 + 1 + 2;
        assert!(event[back] > 0, "alice has an entry before");
        event[back] ^= 8;
        vec![event]
    });
    assert_eq!(only(&report), Kind::Order);
}

#[test]
fn an_id_that_is_booked_twice_is_reported() {
    let report = after(|page| vec![page.transfer(&post(1, 1, 2, 10))]);
    assert_eq!(only(&report), Kind::Twice);
    // Nobody promises more than is remembered.
    let mut scribe = books();
    (2..12).for_each(|id| scribe.post(0, id, 0, 1, 1));
    scribe.post(0, 1, 0, 1, 1);
    let folder = scribe.close();
    let forgetful = Options { transfers_remembered: 10 };
    assert!(verify(folder.path(), &forgetful, &mut |_| {}).expect("it can be read").is_sound());
    let exact = Options { transfers_remembered: 11 };
    assert_eq!(only(&verify(folder.path(), &exact, &mut |_| {}).expect("it can be read")), Kind::Twice);
}

#[test]
fn holds_that_end_wrongly_are_reported() {
    let capture = |of, amount| Transfer {
        kind: 1,
        id: 9,
        debit: 1,
        credit: 2,
        amount,
        of: Some(of),
        ..Transfer::default()
    };
    let expired = |id: u128| [&[7][..], &id.to_be_bytes()].concat();
    // More than was held, one that is not there, twice, too early, another amount, other wallets.
    let report = after(|page| vec![held(2, 30, 1, 2, 5_000), page.transfer(&capture(2, 31))]);
    assert_eq!(only(&report), Kind::Hold);
    let report = after(|page| vec![page.transfer(&capture(2, 31))]);
    assert_eq!(only(&report), Kind::Hold);
    let report = after(|page| {
        let hold = held(2, 30, 1, 2, 5_000);
        vec![hold, page.transfer(&capture(2, 30)), voided(10, 2, 30, 1, 2)]
    });
    assert_eq!(only(&report), Kind::Hold);
    let report = after(|_| vec![held(2, 30, 1, 2, 5_000), expired(2)]);
    assert_eq!(only(&report), Kind::Hold);
    let report = after(|_| vec![held(2, 30, 1, 2, 5_000), voided(3, 2, 29, 1, 2)]);
    assert_eq!(only(&report), Kind::Hold);
    let report = after(|page| {
        let other = Transfer { credit: 0, ..capture(2, 30) };
        vec![held(2, 30, 1, 2, 5_000), page.transfer(&other)]
    });
    assert_eq!(only(&report), Kind::Hold);
}

#[test]
fn reversals_that_are_none_are_reported() {
    let reversal = |id, of| Transfer {
        kind: 2,
        id,
        debit: 1,
        credit: 0,
        amount: 100,
        of: Some(of),
        ..Transfer::default()
    };
    assert!(after(|page| vec![page.transfer(&reversal(2, 1))]).is_sound());
    let twice = after(|page| {
        let again = post(3, 0, 1, 100);
        vec![page.transfer(&reversal(2, 1)), page.transfer(&again), page.transfer(&reversal(4, 1))]
    });
    assert_eq!(only(&twice), Kind::Reversal);
    let other = after(|page| vec![page.transfer(&Transfer { amount: 99, ..reversal(2, 1) })]);
    assert_eq!(only(&other), Kind::Reversal);
    assert_eq!(only(&after(|page| vec![page.transfer(&reversal(2, 77))])), Kind::Reversal);
    assert_eq!(
        only(&after(|page| vec![
            held(5, 10, 1, 0, 9_000),
            page.transfer(&Transfer { amount: 10, ..reversal(6, 5) })
        ])),
        Kind::Reversal
    );
}

#[test]
fn rules_of_accounts_are_held() {
    let changed = |rules: &[u8]| [&[3, 2][..], rules].concat();
    let report = after(|page| vec![changed(&[2, 50]), page.transfer(&post(2, 1, 2, 51))]);
    assert_eq!(only(&report), Kind::Ceiling);
    assert!(after(|page| vec![changed(&[2, 50]), page.transfer(&post(2, 1, 2, 50))]).is_sound());
    let report = after(|page| vec![changed(&[4]), page.transfer(&post(2, 1, 2, 1))]);
    assert_eq!(only(&report), Kind::Closed);
    let report = after(|_| vec![changed(&[4]), held(2, 1, 1, 2, 5_000)]);
    assert_eq!(only(&report), Kind::Closed);
}

#[test]
fn events_about_nothing_are_reported() {
    assert_eq!(only(&after(|_| vec![[&[3][..], &[9, 0]].concat()])), Kind::Unknown);
    assert_eq!(only(&after(|_| vec![vec![99]])), Kind::Unreadable);
    assert_eq!(only(&after(|_| vec![vec![3, 1, 0, 0]])), Kind::Unreadable);
    let opened =
        |account: u8, asset: u8, wallet: &str| [&[2, account, asset, 0][..], &scribe::text(wallet)].concat();
    assert_eq!(only(&after(|_| vec![opened(5, 0, "carol")])), Kind::Order);
    assert_eq!(only(&after(|_| vec![opened(3, 0, "alice")])), Kind::Order);
    assert_eq!(only(&after(|_| vec![opened(3, 7, "carol")])), Kind::Unknown);
}

#[test]
fn a_wrong_seal_is_reported() {
    let report = after(|page| {
        let mut seal = page.seal();
        *seal.last_mut().expect("32 bytes") ^= 1;
        vec![seal]
    });
    assert_eq!(only(&report), Kind::Seal);
    let report = after(|page| {
        let mut seal = page.seal();
        seal[2] += 1;
        vec![seal]
    });
    assert_eq!(only(&report), Kind::Seal);
}

#[test]
fn a_record_that_was_written_anew_breaks_the_chain() {
    let mut scribe = books();
    let (page, now) = (&mut scribe.pages[0], scribe.now);
    let before = page.chain;
    let event = page.transfer(&post(2, 1, 2, 10));
    let at = page.write_with(now, std::slice::from_ref(&event), &before);
    let report = look(scribe.close().path());
    assert_eq!(only(&report), Kind::Chain);
    assert_eq!((report.problems.len(), report.problems[0].position), (1, Some(at)));
}

#[test]
fn an_account_on_the_wrong_shard_is_reported() {
    let mut scribe = Scribe::new(2);
    let names: Vec<String> = (0..16).map(|number| format!("wallet-{number}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    scribe.open(0, &all);
    scribe.open(1, &["@mint"]);
    let report = look(scribe.close().path());
    assert_eq!(only(&report), Kind::Home);
    assert!((2..15).contains(&report.problems.len()), "about half of them: {}", report.problems.len());
}

#[test]
fn a_flipped_byte_names_the_record() {
    let mut scribe = books();
    (2..40).for_each(|id| scribe.post(0, id, 0, 1, 1));
    let at = scribe.pages[0].next();
    scribe.post(0, 40, 0, 1, 1);
    (41..50).for_each(|id| scribe.post(0, id, 0, 1, 1));
    let folder = scribe.close();
    let segment = folder.path().join("shards/shard-0000/journal/000000000001.segment");
    let mut bytes = std::fs::read(&segment).expect("the segment is there");
    // Its base is position 0; the frame's header has eight bytes, the record's frame 24.
    bytes[at as usize + 8 + 40] ^= 4;
    std::fs::write(&segment, bytes).expect("written");
    let report = look(folder.path());
    assert_eq!(report.problems[0].kind, Kind::Damage);
    assert_eq!((report.problems[0].shard, report.problems[0].position), (0, Some(at)));
    assert!(
        report.problems[0].to_string().contains("checksum")
            || report.problems[0].to_string().contains("no record")
    );
    // And the records behind it do not continue those before: balances are reported, the chain is
    // not blamed for the gap.
    assert!(report.problems.iter().all(|problem| problem.kind != Kind::Chain), "{:#?}", report.problems);
    assert!(!report.is_sound());
}

/// Two shards: on each @mint, @transit, and one of names at home there, with 100.
fn two_shards() -> (Scribe, [&'static str; 2]) {
    // "a" and "b" are found by asking the audit itself who is at home where.
    let mut homes = [""; 2];
    for name in ["ann", "bea", "cid", "dan", "eve", "fay"] {
        let mut scribe = Scribe::new(2);
        scribe.open(0, &[name]);
        let is_here = look(scribe.close().path()).is_sound();
        homes[usize::from(!is_here)] = name;
    }
    assert!(homes.iter().all(|name| !name.is_empty()), "{homes:?}");
    let mut scribe = Scribe::new(2);
    for shard in 0..2 {
        scribe.open(shard, &["@mint", "@transit", homes[usize::from(shard)]]);
        scribe.post(shard, 1 + u128::from(shard), 0, 2, 100);
    }
    (scribe, homes)
}

/// What goes wrong with a transfer of 30 from the wallet of shard 0 to that of shard 1.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    None,
    OtherAmount,
    NeverSettled,
    ConfirmedOnly,
    SettledOtherwise,
    NotBookedThere,
    NotBookedHere,
    NoYes,
    Refused,
    RefusedButBooked,
}

fn group(fault: Fault) -> Report {
    let (mut scribe, [ann, bea]) = two_shards();
    let now = scribe.now;
    let booked = !matches!(fault, Fault::Refused | Fault::RefusedButBooked);
    let there = if fault == Fault::OtherAmount { 31 } else { 30 };
    let asked = item(9, 30, Party::Here(2), Party::There(1, bea), true);
    scribe.pages[0].write(now, &[began(1, &[asked])]);
    if fault != Fault::NoYes {
        let taken = item(9, there, Party::There(0, ann), Party::Here(2), false);
        scribe.pages[1].write(now, &[prepared(0, 1, 1, &[taken])]);
        if booked {
            scribe.pages[0].write(now, &[voted(1)]);
        }
    }
    let mut events = vec![decided(1, booked)];
    if booked && fault != Fault::NotBookedHere {
        let leg = Transfer { other: Some(bea), of_group: true, ..post(9, 2, 1, 30) };
        events.push(scribe.pages[0].transfer(&leg));
    }
    scribe.pages[0].write(now, &events);
    if !matches!(fault, Fault::NeverSettled | Fault::ConfirmedOnly) {
        let outcome = match fault {
            Fault::SettledOtherwise => false,
            Fault::RefusedButBooked => true,
            _ => booked,
        };
        let mut events = vec![settled(0, 2, 1, 1, outcome)];
        if outcome && fault != Fault::NotBookedThere {
            let leg = Transfer { other: Some(ann), of_group: true, ..post(9, 1, 2, there) };
            events.push(scribe.pages[1].transfer(&leg));
        }
        scribe.pages[1].write(now, &events);
    }
    if fault != Fault::NeverSettled {
        scribe.pages[0].write(now, &[confirmed(2)]);
    }
    look(scribe.close().path())
}

#[test]
fn a_transfer_between_shards_is_the_same_on_both() {
    let report = group(Fault::None);
    assert!(report.is_sound(), "{:#?}", report.problems);
    assert_eq!((report.groups, report.groups_open), (1, 0));
    assert_eq!(balance(&report, "@transit"), (0, 0));
    let report = group(Fault::Refused);
    assert!(report.is_sound(), "{:#?}", report.problems);
    assert_eq!(balance(&report, "@mint"), (-200, 0));
}

#[test]
fn a_decision_on_its_way_is_no_mistake() {
    let report = group(Fault::NeverSettled);
    assert!(report.is_sound(), "{:#?}", report.problems);
    // On one shard it is booked; on the other @transit still has it promised.
    assert_eq!((report.groups_open, balance(&report, "@transit")), (1, (30, 30)));
}

#[test]
fn shards_that_disagree_are_reported() {
    for fault in [
        Fault::OtherAmount,
        Fault::ConfirmedOnly,
        Fault::SettledOtherwise,
        Fault::NotBookedThere,
        Fault::NotBookedHere,
        Fault::NoYes,
        Fault::RefusedButBooked,
    ] {
        let report = group(fault);
        assert!(!report.is_sound(), "{fault:?}");
        assert_eq!(only(&report), Kind::Group, "{fault:?}");
    }
}

/// A list of shard 0: its own wallet gives 30 to shard 1's, that one 5 to @mint, and @mint 2 to
/// itself elsewhere. The parameters: the content that shard 1 is sent, and the transfer that is
/// booked there alone afterwards.
fn list_at_home(content: u8, alone: Option<u128>) -> Report {
    let (mut scribe, [ann, bea]) = two_shards();
    scribe.open(0, &["@shop"]);
    let now = scribe.now;
    let list = [
        item(9, 30, Party::Here(2), Party::There(1, bea), true),
        item(10, 5, Party::There(1, bea), Party::There(1, "@mint"), true),
        item_of(1, 11, 2, 0, 3),
    ];
    scribe.pages[0].write(now, &[began(1, &list)]);
    let sent = [
        item(9, 30, Party::There(0, ann), Party::Here(2), false),
        item_at_home(10, 5, Party::Here(2), Party::Here(0), content),
        item_at_home(11, 2, Party::There(0, "@mint"), Party::There(0, "@shop"), 7),
    ];
    let sent: Vec<Vec<u8>> =
        sent.into_iter().map(|item| if content == 0 { plain(item) } else { item }).collect();
    scribe.pages[1].write(now, &[prepared(0, 1, 1, &sent)]);
    scribe.pages[0].write(now, &[voted(1)]);
    let mut events = vec![decided(1, true)];
    let leg = Transfer { other: Some(bea), of_group: true, ..post(9, 2, 1, 30) };
    events.push(scribe.pages[0].transfer(&leg));
    events.push(scribe.pages[0].transfer(&Transfer { of_group: true, ..post(11, 0, 3, 2) }));
    scribe.pages[0].write(now, &events);
    let mut events = vec![settled_at(0, 2, 1, 1, 3)];
    let leg = Transfer { other: Some(ann), of_group: true, ..post(9, 1, 2, 30) };
    events.push(scribe.pages[1].transfer(&leg));
    events.push(scribe.pages[1].transfer(&Transfer { of_group: true, ..post(10, 2, 0, 5) }));
    scribe.pages[1].write(now, &events);
    scribe.pages[0].write(now, &[confirmed(2)]);
    if let Some(id) = alone {
        scribe.post(1, id, 2, 0, 5);
    }
    look(scribe.close().path())
}

/// As it was written before shards were notified that they would decide it alone.
fn plain(mut item: Vec<u8>) -> Vec<u8> {
    if item[0] == 64 {
        item[0] = 0;
        item.drain(18..26);
    }
    item
}

#[test]
fn a_transfer_of_a_list_is_not_booked_again_where_it_would_be_decided_alone() {
    let report = list_at_home(7, None);
    assert!(report.is_sound(), "{:#?}", report.problems);
    assert_eq!((balance(&report, "@transit"), balance(&report, "@shop")), ((0, 0), (2, 0)));
    for id in [10, 11] {
        assert_eq!(only(&list_at_home(7, Some(id))), Kind::Twice);
    }
    assert!(list_at_home(7, Some(12)).is_sound());
    assert_eq!(only(&list_at_home(8, None)), Kind::Group, "it was sent other content than was asked");
    assert!(list_at_home(0, None).is_sound(), "books of before that was sent");
}

#[test]
fn amounts_between_shards_are_counted_as_one_balance() {
    let report = group(Fault::None);
    let totals = |report: &Report| (report.assets[0].credit, report.assets[0].debit);
    assert_eq!(totals(&report), (200, 200), "two wallets have 200, and @mint gave them");
    let report = group(Fault::NeverSettled);
    assert_eq!(totals(&report), (200, 200), "170 in wallets, and 30 under way");
}

#[test]
fn an_amount_held_for_a_group_is_not_available() {
    let (mut scribe, [_, bea]) = two_shards();
    let now = scribe.now;
    scribe.pages[0].write(now, &[began(1, &[item(9, 90, Party::Here(2), Party::There(1, bea), true)])]);
    let spent = scribe.pages[0].transfer(&post(10, 2, 0, 11));
    scribe.pages[0].write(now, &[spent]);
    assert_eq!(only(&look(scribe.close().path())), Kind::Overdrawn);
}

/// Events with damage, and a right chain all the same: whatever they contain is reported, and
/// nothing panics.
#[test]
fn any_events_are_read_or_reported() {
    let mut random = 0x4175_6469_7400_0001_u64;
    let mut below = |end: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % end
    };
    for _ in 0..12 {
        let (mut scribe, [ann, bea]) = two_shards();
        for turn in 0..150_u128 {
            let page = &mut scribe.pages[below(2)];
            let mut events = vec![
                page.transfer(&post(100 + turn, 0, 2, 1 + below(9) as u64)),
                held(1_000 + turn, 1, 2, 0, 5_000),
                voided(2_000 + turn, 1_000 + turn, 1, 2, 0),
                began(1 + turn as u64, &[item(3_000 + turn, 2, Party::Here(2), Party::There(1, bea), true)]),
                prepared(
                    0,
                    turn as u64,
                    turn as u64,
                    &[item(9, 3, Party::There(0, ann), Party::Here(2), false)],
                ),
                settled(0, 2, 1, turn as u64, turn % 2 == 0),
                voted(1 + turn as u64),
                decided(1 + turn as u64, turn % 3 == 0),
                confirmed(1 + turn as u64),
                page.seal(),
            ];
            for _ in 0..4 {
                let one = below(events.len());
                let at = below(events[one].len());
                events[one][at] = [0, 1, 0x7f, 0x80, 0xff, below(256) as u8][below(6)];
            }
            let (first, count) = (below(events.len()), 1 + below(4));
            let some: Vec<Vec<u8>> = events.iter().cycle().skip(first).take(count).cloned().collect();
            page.write(scribe.now, &some);
        }
        let folder = scribe.close();
        let report = look(folder.path());
        assert!(!report.is_sound());
        assert!(report.problems.iter().all(|problem| problem.kind != Kind::Chain), "the chain is right");
        for id in ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000070"] {
            let _ = stadium_audit::receipt(folder.path(), id, &mut |_| {});
        }
        let _ = stadium_audit::bookings(folder.path(), &Default::default(), &mut |_| {});
        assert!(stadium_audit::roots(folder.path(), &mut |_| {}).is_ok());
    }
}

#[test]
fn every_kind_has_a_code_of_its_own() {
    let codes: std::collections::BTreeSet<&str> = Kind::ALL.iter().map(|kind| kind.code()).collect();
    assert_eq!(codes.len(), Kind::ALL.len());
    let page = include_str!("../../../../docs/reference/errors/audit.md");
    for kind in Kind::ALL {
        assert!(page.contains(&format!("## {} ", kind.code())), "{} has no section", kind.code());
    }
}
