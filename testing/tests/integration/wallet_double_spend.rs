//! Many clients spend one account's credit at once: exactly the credit is spent, whatever way they take.
//!
//! The account is the bookkeeper's case: its credit is the sum of the accepted transfers, and
//! nothing of a refused one happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use stadium_testing::deadline::PATIENCE;
use stadium_testing::server::Server;
use stadium_testing::wallets::{ASSET, Wallets, id, number, transfer};

const CLIENTS: u64 = 64;

/// Runs `client` on as many threads as there are clients, and adds up their results.
fn run_clients(client: impl Fn(u64) -> Result<u64> + Send + Sync + 'static) -> Result<u64> {
    let client = Arc::new(client);
    let threads: Vec<_> = (0..CLIENTS)
        .map(|name| {
            let client = Arc::clone(&client);
            std::thread::spawn(move || client(name))
        })
        .collect();
    let mut sum = 0;
    for thread in threads {
        sum += thread.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
    }
    Ok(sum)
}

fn server(shards: u16) -> Result<(Server, Wallets)> {
    let server = Server::with(&format!("[shards]\ncount = {shards}\n"))?;
    let wallets = Wallets::of(server.api())?;
    Ok((server, wallets))
}

#[test]
fn sixty_four_clients_spend_exactly_the_credit() -> Result<()> {
    const CREDIT: u64 = 500;
    let (_server, wallets) = server(2)?;
    wallets.open(&["ann".to_owned(), "ben".to_owned(), "eve".to_owned()])?;
    wallets.book(1, "@shop", "ann", CREDIT)?;
    // To the house, to another person of whichever shard, linked, held and captured: each is one vote.
    let spending = wallets.clone();
    let accepted = run_clients(move |client| {
        let mut accepted = 0;
        for attempt in 0..16 {
            let number = 1_000 + client * 100 + attempt * 2;
            let (path, body) = match attempt % 4 {
                0 => ("/api/transfers", transfer(number, "ann", "@candidate:7", 1)),
                1 => ("/api/transfers", transfer(number, "ann", "ben", 1)),
                2 => ("/api/transfers", transfer(number, "ann", "eve", 1)),
                _ => {
                    let transfers =
                        [transfer(number, "ann", "ben", 1), transfer(number + 1, "ann", "eve", 1)];
                    ("/api/transfers/batch", json!({"linked": true, "transfers": transfers}))
                }
            };
            let (status, answer) = spending.settle(path, &body, || false)?.context("no answer")?;
            match (status, attempt % 4) {
                (201, 0..3) => accepted += 1,
                (200, 3) => accepted += 2,
                (409, 0..3) => ensure!(answer["code"] == "WAL-023", "{answer}"),
                (409, _) => ensure!(answer["code"] == "WAL-032", "{answer}"),
                _ => bail!("{status}: {answer}"),
            }
        }
        Ok(accepted)
    })?;
    // 64 clients x (12 single + 4 pairs) = 1,280 votes were asked for. A pair may find one vote left and take none.
    let left = wallets.posted("ann")?;
    ensure!((0..=1).contains(&left), "ann has {left} left");
    ensure!(accepted == CREDIT - u64::try_from(left)?, "{accepted} of {CREDIT} accepted, {left} left");
    let given = wallets.posted("ben")? + wallets.posted("eve")? + wallets.posted("@candidate:7")?;
    ensure!(given == i64::try_from(accepted)?, "{accepted} accepted, {given} arrived");
    ensure!(wallets.posted("@shop")? == -500, "the shop sold 500");
    wallets.balanced(PATIENCE).map(drop)
}

#[test]
fn one_transfer_sent_by_sixty_four_clients_is_booked_once() -> Result<()> {
    for shards in [1, 2] {
        let (_server, wallets) = server(shards)?;
        let names: Vec<String> = (0..8).map(|n| format!("person-{n}")).collect();
        wallets.open(&names)?;
        wallets.book(1, "@shop", "person-0", 1_000)?;
        for (round, other) in (2..).zip(&names[1..]) {
            let (sending, to) = (wallets.clone(), other.clone());
            let first = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&first);
            let asked = run_clients(move |_| {
                let body = transfer(round, "person-0", &to, 7);
                let (status, answer) =
                    sending.settle("/api/transfers", &body, || false)?.context("no answer")?;
                ensure!(status == 200 || status == 201, "{status}: {answer}");
                ensure!((answer["duplicate"] == true) == (status == 200), "{status}: {answer}");
                counted.fetch_add(u64::from(status == 201), Ordering::Relaxed);
                Ok(1)
            })?;
            let first = first.load(Ordering::Relaxed);
            ensure!(asked == CLIENTS && first == 1, "{first} of {asked} answers claimed to be the first");
            ensure!(wallets.posted(other)? == 7, "{other} got it {} / 7 times", wallets.posted(other)?);
        }
        wallets.balanced(PATIENCE)?;
    }
    Ok(())
}

#[test]
fn a_hold_is_spent_once_however_many_capture_it() -> Result<()> {
    let (_server, wallets) = server(2)?;
    wallets.open(&["ann".to_owned()])?;
    wallets.book(1, "@shop", "ann", 10)?;
    let hold = json!({"id": id(2), "kind": "hold", "debit": "ann", "credit": "@prize", "asset": ASSET, "amount": 10, "expires_after_ms": 600_000});
    let (status, answer) = wallets.api().post("/api/transfers", &hold)?;
    ensure!(status == 201, "{status}: {answer}");
    let account = wallets.account("ann")?;
    ensure!((number(&account["posted"])?, number(&account["available"])?) == (10, 0), "{account}");

    let ending = wallets.clone();
    let captured = run_clients(move |client| {
        let verb = if client % 2 == 0 { "capture" } else { "void" };
        let body = json!({"id": id(100 + client)});
        let path = format!("/api/transfers/{}/{verb}", id(2));
        let (status, answer) = ending.settle(&path, &body, || false)?.context("no answer")?;
        match status {
            201 => Ok(if verb == "capture" { 1_000 } else { 1 }),
            409 => {
                ensure!(answer["code"] == "WAL-027", "{answer}");
                Ok(0)
            }
            _ => bail!("{status}: {answer}"),
        }
    })?;
    let (prize, left) = match captured {
        1_000 => (10, 0),
        1 => (0, 10),
        _ => bail!(
            "the hold ended {} times by capture and {} times by void",
            captured / 1_000,
            captured % 1_000
        ),
    };
    let account = wallets.account("ann")?;
    ensure!((number(&account["posted"])?, number(&account["available"])?) == (left, left), "{account}");
    if prize > 0 {
        ensure!(wallets.posted("@prize")? == prize);
    }
    wallets.balanced(PATIENCE).map(drop)
}

#[test]
fn an_idempotency_key_is_the_transfers_id() -> Result<()> {
    let (_server, wallets) = server(2)?;
    wallets.open(&["ann".to_owned()])?;
    let body =
        json!({"debit": "@shop", "credit": "ann", "asset": ASSET, "amount": 5, "reference": "bill 17"});
    let (status, first) = wallets.api().post_keyed("/api/transfers", "store-bill-17", &body)?;
    ensure!(status == 201 && first["duplicate"] == false, "{status}: {first}");
    let (status, again) = wallets.api().post_keyed("/api/transfers", "store-bill-17", &body)?;
    ensure!(status == 200 && again["duplicate"] == true, "{status}: {again}");
    ensure!((&again["id"], &again["booked_at"]) == (&first["id"], &first["booked_at"]), "{first}, {again}");
    let mut other = body.clone();
    other["amount"] = Value::from(6);
    let (status, answer) = wallets.api().post_keyed("/api/transfers", "store-bill-17", &other)?;
    ensure!(status == 422 && answer["code"] == "WAL-026", "{status}: {answer}");
    // A UUID is the id itself, with or without hyphens.
    let (status, named) = wallets.api().post_keyed("/api/transfers", &id(77), &body)?;
    ensure!(status == 201 && named["id"] == id(77), "{status}: {named}");
    let (status, found) = wallets.api().read(&format!("/api/transfers/{}", id(77)))?;
    ensure!(
        status == 200 && found["reference"] == "bill 17" && found["state"] == "posted",
        "{status}: {found}"
    );
    ensure!(wallets.posted("ann")? == 10);
    Ok(())
}
