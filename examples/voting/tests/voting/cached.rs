//! Instances that share the standings through memcached, which is killed, paused and forged meanwhile.
//!
//! The cache decides nothing: each vote is paid for and counted, and every instance shows it.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use stadium_testing::deadline::{PATIENCE, until_true};
use stadium_testing::memcached::Memcached;
use stadium_testing::wallets::Wallets;

use crate::fixture::{Client, Voting, audit, stadium};

/// Voters, each with a vote for each round.
const VOTERS: i64 = 6;

/// Events of the cache; each is a round of votes.
const ROUNDS: [&str; 6] =
    ["it works", "it is killed", "it is back", "it is paused", "it goes on", "it is forged"];

/// Voters who are logged in, in turn at each of the instances.
fn voters(instances: &[&Voting], secret: &str) -> Result<Vec<Client>> {
    let names: Vec<String> = (0..VOTERS).map(|number| format!("fan-{number}")).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_voting"));
    let tickets = command.args(["ticket", "--secret", secret]).args(&names).output()?;
    let tickets = String::from_utf8(tickets.stdout)?;
    let voter = |(place, line): (usize, &str)| {
        let (name, ticket) = line.split_once(' ').context("no ticket")?;
        let mut client = instances[place % instances.len()].client();
        let (status, answer) = client.post("/api/login", &json!({"voter": name, "ticket": ticket}))?;
        ensure!(status == 200, "{status}: {answer}");
        client.token = answer["token"].as_str().context("no token")?.to_owned();
        Ok(client)
    };
    tickets.lines().enumerate().map(voter).collect()
}

#[test]
fn votes_are_paid_for_and_shown_whatever_happens_to_the_cache() -> Result<()> {
    let stadium = stadium()?;
    let mut memcached = Memcached::start(&[])?;
    let files = tempfile::tempdir()?;
    let secret = files.path().join("voting.secret");
    let secret = secret.to_str().context("a path of ASCII")?;
    let cache = memcached.address.to_string();
    let start = |instance: &str| {
        let flags = ["--cache", &cache, "--no-devices", "--welcome", "6", "--instance", instance];
        Voting::start_with_tickets(&stadium.data(), secret, &flags)
    };
    let (first, second) = (start("1")?, start("2")?);
    let instances = [&first, &second];

    // One asks, both show.
    until_true(PATIENCE, "looks at the cache", || Ok(memcached.statistic("cmd_get")? >= 16))?;
    let (looks, stores) = (memcached.statistic("cmd_get")?, memcached.statistic("cmd_set")?);
    ensure!(stores >= 1 && stores * 3 < looks, "{looks} looks, and {stores} stored the standings");

    let voters = voters(&instances, secret)?;
    ensure!(voters.len() as i64 == VOTERS);
    let mut total = 0;
    for (round, what) in ROUNDS.iter().enumerate() {
        match round {
            1 => memcached.kill(),
            2 => memcached.restart()?,
            3 => memcached.pause(),
            4 => memcached.resume(),
            5 => {
                let keys = memcached.keys()?;
                let key = keys.first().context("no standings in the cache")?;
                let votes = br#"{"votes":[1000000,0],"books":{"credit":"0","debit":"0","balance":true},"at_ms":1}~AAAA"#;
                memcached.put(key, votes)?;
            }
            _ => {}
        }
        for (place, voter) in voters.iter().enumerate() {
            let candidate = if place == 0 { "ben" } else { "ann" };
            let (status, answer) = voter.vote(candidate, &format!("round-{round}"))?;
            ensure!(status == 201, "{what}: {status}: {answer}");
        }
        total += VOTERS;
        for instance in instances {
            let results = instance.results(what, |results| {
                let shown = results["total"].as_i64().unwrap_or_default();
                assert!(shown <= total, "{what}: votes from nowhere: {results}");
                shown == total
            })?;
            ensure!(results["books"]["balance"] == true && results.get("trouble").is_none(), "{results}");
        }
    }
    // Nobody has a vote left, and nobody gets one.
    for voter in &voters {
        ensure!(voter.left()? == 0);
        let (status, answer) = voter.vote("ann", "one more")?;
        ensure!(status == 402 && answer["code"] == "VOT-005", "{status}: {answer}");
    }
    first.leave()?;
    second.leave()?;
    let votes = Wallets::of(stadium.api())?;
    ensure!(votes.posted("@final:ann")? == 30 && votes.posted("@final:ben")? == 6);
    votes.balanced(PATIENCE)?;
    audit(stadium)
}
