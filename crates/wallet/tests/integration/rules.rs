//! The rules as tables that a bookkeeper can read: tests/rules/tables.txt. This file reads them.
//!
//! Each row is asked of a ledger; after a refusal every account must be as it was, and no record written. At the end of each table a
//! replay of the records must give the same accounts.

use crate::harness;

use std::collections::BTreeSet;

use harness::{Harness, Place, account, asset, capture, hold, post, reverse, void, wallet};
use stadium_wallet::{
    AccountView, Answer, BookState, Bounds, CODES, Change, Command, NewTransfer, Outcome, Overdraft, Refusal,
    Time,
};

const TABLES: &str = include_str!("rules/tables.txt");

/// Codes that no table can show, and where they are shown.
const ELSEWHERE: &[(&str, &str)] = &[
    ("WAL-033", "the_rest_of_the_codes"),
    ("WAL-034", "the_rest_of_the_codes"),
    ("WAL-035", "crates/wallet/src/history.rs: it takes a journal whose segments were moved"),
    ("WAL-042", "the_rest_of_the_codes"),
    ("WAL-043", "the_rest_of_the_codes"),
    ("WAL-044", "the_rest_of_the_codes"),
    ("WAL-045", "crates/wallet/src/history.rs: it takes a history of millions"),
];

/// Where each table's ids begin, so that `t1` of one is not that of another.
fn id(word: &str) -> u128 {
    word.strip_prefix('t')
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_else(|| panic!("{word:?} is no id like t1"))
}

fn amount(word: &str) -> u64 {
    match word {
        "max" => Bounds::AMOUNT_MAX,
        "max+1" => Bounds::AMOUNT_MAX + 1,
        digits => digits.parse().unwrap_or_else(|_| panic!("{digits:?} is no amount")),
    }
}

fn balance(word: &str) -> i64 {
    match word.strip_prefix('-') {
        Some(size) => -(amount(size) as i64),
        None => amount(word) as i64,
    }
}

fn span(word: &str) -> u64 {
    if let Some(digits) = word.strip_suffix("ms") {
        return digits.parse().expect("a span");
    }
    word.strip_suffix('s').and_then(|digits| digits.parse::<u64>().ok()).expect("a span like 60s") * 1_000
}

/// One transfer, as it is written in a table.
fn transfer(text: &str) -> NewTransfer {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["post", of, debit, "->", credit, size, rest @ ..] => {
            let (asset, rest) = match rest {
                [code, rest @ ..] if code.bytes().all(|c| c.is_ascii_uppercase()) => (*code, rest),
                rest => ("VOTE", rest),
            };
            let mut new = post(id(of), debit, credit, asset, amount(size));
            match rest {
                [] => {}
                ["reference", "newline"] => new.reference = "a\nb".into(),
                ["reference", quoted] if quoted.starts_with('"') => {
                    new.reference = quoted.trim_matches('"').into()
                }
                ["reference", bytes] => new.reference = "r".repeat(bytes.parse().expect("a number of bytes")),
                ["metadata", bytes] => {
                    new.metadata = vec![7; bytes.parse().expect("a number of bytes")].into()
                }
                other => panic!("{other:?}"),
            }
            new
        }
        ["hold", of, debit, "->", credit, size, "for", time] => {
            hold(id(of), debit, credit, "VOTE", amount(size), span(time))
        }
        ["capture", of, "of", which] => capture(id(of), id(which), None),
        ["capture", of, "of", which, size] => capture(id(of), id(which), Some(amount(size))),
        ["void", of, "of", which] => void(id(of), id(which)),
        ["reverse", of, "of", which] => reverse(id(of), id(which)),
        _ => panic!("{text:?} is no transfer"),
    }
}

fn of_outcome(outcome: &Outcome) -> String {
    match outcome {
        Ok(booked) if booked.duplicate => "again".into(),
        Ok(_) => "booked".into(),
        Err(refusal) => refusal.code().into(),
    }
}

fn word(state: BookState) -> &'static str {
    match state {
        BookState::Posted => "posted",
        BookState::Held => "held",
        BookState::Captured => "captured",
        BookState::Voided => "voided",
        BookState::Expired => "expired",
        BookState::Reversed => "reversed",
        BookState::Pending => "pending",
    }
}

fn done(answer: Result<Answer, Refusal>) -> String {
    match answer {
        Ok(Answer::Done) => "done".into(),
        Ok(other) => format!("{other:?}"),
        Err(refusal) => refusal.code().into(),
    }
}

fn list(harness: &mut Harness, transfers: Vec<NewTransfer>, linked: bool) -> String {
    match harness.transfers(transfers, linked) {
        Ok(outcomes) => outcomes.iter().map(of_outcome).collect::<Vec<_>>().join(", "),
        Err(refusal) => refusal.code().into(),
    }
}

fn change(harness: &mut Harness, name: &str, change: Change) -> String {
    done(harness.ask(Command::Change { wallet: wallet(name), asset: asset("VOTE"), change }))
}

/// Opens an account with the rules that are written behind its name.
fn open(harness: &mut Harness, name: &str, rules: &[&str]) -> String {
    let mut new = account(name, "VOTE");
    let mut rules = rules.iter();
    while let Some(rule) = rules.next() {
        match *rule {
            "overdraft" => new.overdraft = Overdraft::Allowed,
            "ceiling" => new.ceiling = Some(amount(rules.next().expect("a ceiling has an amount"))),
            code => new.asset = asset(code),
        }
    }
    match harness.open(vec![new]).remove(0) {
        Ok(true) => "opened".into(),
        Ok(false) => "there".into(),
        Err(refusal) => refusal.code().into(),
    }
}

/// Executes a row, and answers in the table's words.
fn command(harness: &mut Harness, text: &str) -> String {
    if let Some((kind, rest)) = text.split_once('[') {
        let inner = rest.trim_end().strip_suffix(']').expect("a list ends with ]");
        return list(harness, inner.split(';').map(transfer).collect(), kind.trim() == "linked");
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let ceiling = |ceiling| Change { ceiling: Some(ceiling), ..Change::default() };
    let closed = |closed| Change { closed: Some(closed), ..Change::default() };
    let overdraft = |overdraft| Change { overdraft: Some(overdraft), ..Change::default() };
    match words.as_slice() {
        ["wait", time] => harness.pass(span(time)),
        ["back", time] => harness.now = Time(harness.now.0 - span(time)),
        ["crash"] => harness.crash(),
        ["restart"] => harness.restart(100),
        ["find", of] => {
            return match harness.find(id(of)) {
                Ok(view) => word(view.state).into(),
                Err(refusal) => refusal.code().into(),
            };
        }
        ["open", name, rules @ ..] => return open(harness, name, rules),
        ["close", name] => return change(harness, name, closed(true)),
        ["reopen", name] => return change(harness, name, closed(false)),
        ["set", name, "no", "ceiling"] => return change(harness, name, ceiling(None)),
        ["set", name, "ceiling", most] => return change(harness, name, ceiling(Some(amount(most)))),
        ["set", name, "overdraft"] => return change(harness, name, overdraft(Overdraft::Allowed)),
        ["set", name, "no", "overdraft"] => return change(harness, name, overdraft(Overdraft::Never)),
        ["declare", code, scale] => {
            let scale = scale.parse().expect("a number of digits");
            return done(harness.ask(Command::Declare { asset: asset(code), scale }));
        }
        ["transfers", count] => {
            let count: u128 = count.parse().expect("a number");
            let many = (0..count).map(|at| post(1_000_000 + at, "@mint", "@many", "VOTE", 1)).collect();
            return match harness.transfers(many, false) {
                Ok(outcomes) if outcomes.iter().all(Result::is_ok) => "done".into(),
                Ok(outcomes) => format!("{outcomes:?}"),
                Err(refusal) => refusal.code().into(),
            };
        }
        _ => return list(harness, vec![transfer(text)], false),
    }
    "done".into()
}

/// Every account there is.
fn everything(harness: &mut Harness) -> Vec<AccountView> {
    let all = Command::Accounts { prefix: String::new(), asset: None, after: None, accounts_max: 1_000 };
    match harness.ask(all) {
        Ok(Answer::Accounts(views)) => views,
        other => panic!("accounts are answered by {other:?}"),
    }
}

fn new_books(before: &str, bounds: Bounds) -> Harness {
    let mut harness = Harness::with(bounds, Place { shard: 0, shards: 1, hash_seed: 7 });
    harness.declare("VOTE", 0);
    harness.declare("EUR", 2);
    for (at, item) in before.split(',').enumerate() {
        let words: Vec<&str> = item.split_whitespace().collect();
        let [name, has, rules @ ..] = words.as_slice() else { panic!("{item:?} is no wallet") };
        assert_eq!(open(&mut harness, name, rules), "opened");
        if *has != "0" {
            let grant = post(9_000_000 + at as u128, "@mint", name, "VOTE", amount(has));
            assert_eq!(list(&mut harness, vec![grant], false), "booked");
        }
    }
    harness
}

fn check_after(harness: &mut Harness, after: &str, row: &str) {
    for item in after.split(',').filter(|item| !item.trim().is_empty()) {
        let words: Vec<&str> = item.split_whitespace().collect();
        let (name, posted, rest) = (words[0], balance(words[1]), &words[2..]);
        let (of, held) = match rest {
            [] => ("VOTE", 0),
            ["held", size] => ("VOTE", amount(size)),
            [code] => (*code, 0),
            other => panic!("{other:?}"),
        };
        let has = harness.balance(name, of);
        assert_eq!((has.posted, has.held), (posted, held), "{name} after: {row}");
    }
}

#[test]
fn the_rules_hold() {
    let mut harness: Option<Harness> = None;
    let mut bounds = Bounds::default();
    let mut seen = BTreeSet::new();
    let mut rows = 0;
    let mut title = "";
    for line in TABLES.lines().skip_while(|line| !line.starts_with('#')) {
        if let Some(of) = line.strip_prefix("# ") {
            title = of;
            bounds = Bounds::default();
            continue;
        }
        let Some((before, rest)) = line.split_once('|') else {
            match line.split_once(' ') {
                Some(("remembers", count)) => bounds.transfers_remembered = count.parse().expect("a number"),
                Some(("holds", count)) => bounds.holds_max = count.parse().expect("a number"),
                Some(("accounts", count)) => bounds.accounts_max = count.parse().expect("a number"),
                _ => assert!(line.trim().is_empty(), "{line:?} is no row"),
            }
            continue;
        };
        let columns: Vec<&str> = rest.split('|').map(str::trim).collect();
        let [asked, answer, after] = columns.as_slice() else { panic!("{line:?} has not four columns") };
        if *asked == "command" {
            continue;
        }
        rows += 1;
        let shown = format!("{title}: {line}");
        if !before.trim().is_empty() {
            if let Some(mut harness) = harness.take() {
                survives(&mut harness);
            }
            harness = Some(new_books(before, bounds.clone()));
        }
        let harness = harness.as_mut().expect("a table begins with what was before");
        let (records, was) = (harness.records.len(), everything(harness));
        let answered = command(harness, asked);
        assert_eq!(answered, *answer, "{shown}");
        if answer.starts_with("WAL-") {
            seen.insert((*answer).to_owned());
            assert_eq!(harness.records.len(), records, "a refusal writes nothing: {shown}");
            assert_eq!(everything(harness), was, "a refusal changes nothing: {shown}");
        }
        check_after(harness, after, &shown);
        harness.ledger.audit().unwrap_or_else(|wrong| panic!("{wrong}: {shown}"));
    }
    survives(&mut harness.expect("there are tables"));
    assert!(rows > 150, "only {rows} rows were read");
    for (code, what) in CODES {
        let is_seen = seen.contains(*code) || ELSEWHERE.iter().any(|(of, _)| of == code);
        assert!(is_seen, "no row shows {code}, {what}");
    }
}

/// The result of a table is restored from its records, and from a checkpoint.
fn survives(harness: &mut Harness) {
    let was = everything(harness);
    harness.crash();
    assert_eq!(everything(harness), was);
    harness.restart(64);
    assert_eq!(everything(harness), was);
}

#[test]
fn the_rest_of_the_codes() {
    let code = |refusal: Refusal| refusal.code();
    let first = |answer: Result<Vec<Outcome>, Refusal>| match answer {
        Ok(mut outcomes) => outcomes.remove(0).expect_err("it is refused").code(),
        Err(refusal) => refusal.code(),
    };
    // As many assets as there may be.
    let mut harness = Harness::new();
    for number in 0..Bounds::ASSETS_MAX {
        harness.declare(&format!("A{number}"), 0);
    }
    let one_more = Command::Declare { asset: asset("VOTE"), scale: 0 };
    assert_eq!(code(harness.ask(one_more).expect_err("there are enough")), "WAL-044");

    // Two shards: wallets that live here, and there.
    let bounds = Bounds { pending_max: 1, ..Bounds::default() };
    let mut harness = Harness::with(bounds, Place { shard: 0, shards: 2, hash_seed: 7 });
    harness.declare("VOTE", 0);
    let names: Vec<String> = (0..20).map(|number| format!("w{number}")).collect();
    let (here, there): (Vec<&str>, Vec<&str>) =
        names.iter().map(String::as_str).partition(|name| wallet(name).home(2) == Some(0));
    assert_eq!(
        code(harness.open(vec![account(there[0], "VOTE")]).remove(0).expect_err("it lives elsewhere")),
        "WAL-034"
    );
    assert_eq!(harness.open(vec![account(here[0], "VOTE"), account(here[1], "VOTE")]), [Ok(true), Ok(true)]);
    harness.book(post(1, "@mint", here[0], "VOTE", 100)).expect("the house gives");
    assert_eq!(first(harness.transfers(vec![post(2, there[0], here[0], "VOTE", 1)], false)), "WAL-034");
    // In one record with other work: on one shard only.
    let between = Command::Transfer {
        transfers: vec![post(3, here[0], there[0], "VOTE", 1)],
        linked: true,
        principal: None,
    };
    assert_eq!(
        code(harness.ledger.check(harness.now, &between).expect_err("it needs another shard")),
        "WAL-033"
    );
    assert!(harness.execute(&between).is_ok(), "by itself it may");
    // Now it is under way.
    assert_eq!(code(harness.execute(&between).expect_err("it is not decided")), "WAL-043");
    let another = Command::Transfer {
        transfers: vec![post(4, here[0], there[0], "VOTE", 1)],
        linked: true,
        principal: None,
    };
    assert_eq!(code(harness.execute(&another).expect_err("one is under way")), "WAL-042");
    assert_eq!(
        code(harness.ask(Command::Wallet { wallet: wallet("nobody") }).expect_err("there is none")),
        "WAL-021"
    );
    let misread =
        Command::History { wallet: wallet(here[0]), asset: asset("VOTE"), range: Default::default() };
    assert_eq!(code(harness.execute(&misread).expect_err("it is read from the journal")), "WAL-034");
}

/// A setting is raised between two starts: ids that were forgotten when they were repeated are
/// remembered now when the records are replayed.
#[test]
fn a_longer_memory_is_no_trouble() {
    let mut harness = new_books("alice 100, bob 0", Bounds { transfers_remembered: 2, ..Bounds::default() });
    for row in [
        "post t1 alice -> bob 1",
        "post t2 alice -> bob 2",
        "post t3 alice -> bob 3",
        "post t1 alice -> bob 4",
    ] {
        assert_eq!(command(&mut harness, row), "booked");
    }
    harness.bounds.transfers_remembered = 100;
    survives(&mut harness);
    assert_eq!(command(&mut harness, "post t1 alice -> bob 4"), "again", "the younger one is remembered");
    assert_eq!(command(&mut harness, "post t1 alice -> bob 1"), "WAL-026");
    harness.bounds.transfers_remembered = 1;
    harness.restart(100);
    for row in ["post t5 alice -> bob 1", "post t6 alice -> bob 1", "post t7 alice -> bob 1"] {
        assert_eq!(command(&mut harness, row), "booked");
    }
    survives(&mut harness);
}
