//! A person votes at most as often as was paid for, whichever way the votes come and whatever is sent twice.
//!
//! The books of the server are asked in the end, not the service.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use stadium_testing::deadline::PATIENCE;
use stadium_testing::wallets::Wallets;

use crate::fixture::{Phone, Voting, audit, stadium};

#[test]
fn votes_over_both_ways_are_paid_for_confirmed_and_in_the_books() -> Result<()> {
    let stadium = stadium()?;
    let voting = Voting::start(&stadium.data(), &["--welcome", "3"])?;

    // Somebody on the web has three votes, and a fourth is refused.
    let ann = voting.voter("fan-1")?;
    ensure!(ann.left()? == 3);
    for n in 0..3 {
        let (status, answer) = ann.vote("ann", &format!("vote-{n}"))?;
        ensure!(status == 201 && answer["duplicate"] == false, "{status}: {answer}");
    }
    ensure!(ann.left()? == 0);
    let (status, answer) = ann.vote("ann", "vote-3")?;
    ensure!(status == 402 && answer["code"] == "VOT-005", "{status}: {answer}");
    // The first one again is the first one; with another candidate it is nothing.
    let (status, answer) = ann.vote("ann", "vote-0")?;
    ensure!(status == 200 && answer["duplicate"] == true, "{status}: {answer}");
    let (status, answer) = ann.vote("ben", "vote-0")?;
    ensure!(status == 422 && answer["code"] == "VOT-008", "{status}: {answer}");
    let (status, answer) = ann.vote("eve", "vote-9")?;
    ensure!(status == 422 && answer["code"] == "VOT-004", "{status}: {answer}");
    // Logging in again brings no more votes.
    ensure!(voting.voter("fan-1")?.left()? == 0);

    // A device has paid for two votes; each is answered, and confirmed by a push from the vote's own record.
    let mut phone = Phone::connect(&stadium, "seat-7")?;
    for status in [201, 200] {
        let payment = json!({"voter": "seat-7", "votes": 2, "payment": "store-4711"});
        let (given, answer) = voting.client().post("/api/credits", &payment)?;
        ensure!(given == status, "{given}: {answer}");
    }
    let mut pushed = Vec::new();
    let first = phone.vote("ben", b"1", &mut pushed)?;
    ensure!(first["status"] == "counted" && first["candidate"] == "ben", "{first}");
    let again = phone.vote("ben", b"1", &mut pushed)?;
    ensure!(again["vote"] == first["vote"] && again["duplicate"] == true, "{again}");
    let second = phone.vote(r#"{"candidate": "ann"}"#, b"2", &mut pushed)?;
    ensure!(second["status"] == "counted", "{second}");
    for (payload, correlation, code) in
        [("ben", &b"3"[..], "VOT-005"), ("eve", b"4", "VOT-004"), ("ben", b"", "VOT-001")]
    {
        let answer = phone.vote(payload, correlation, &mut pushed)?;
        ensure!(answer["code"] == code && answer["status"] == "refused", "{payload}: {answer}");
    }
    while pushed.len() < 2 {
        pushed.push(phone.hear()?.1);
    }
    let confirmed: Vec<&Value> = pushed.iter().map(|push| &push["vote"]).collect();
    for vote in [&first["vote"], &second["vote"]] {
        ensure!(confirmed.contains(&vote), "{vote} is not confirmed: {pushed:?}");
    }
    ensure!(pushed.iter().all(|push| push["status"] == "counted"), "{pushed:?}");

    // Nobody has answers sent to somebody else: the one that comes is that of the next vote.
    let mut other = Phone::connect(&stadium, "seat-8")?;
    other.send("ben", Some("inbox/seat-7"), b"x")?;
    let own = other.vote("ben", b"y", &mut Vec::new())?;
    ensure!(own["code"] == "VOT-005", "{own}");
    let next = phone.vote("ben", b"5", &mut pushed)?;
    ensure!(next["code"] == "VOT-005" && pushed.len() == 2, "{next}, {pushed:?}");

    let results = voting.results("five votes", |results| {
        results["total"] == 5 && results["ballots"]["http"] == 3 && results["ballots"]["mqtt"] == 2
    })?;
    ensure!(results["books"]["balance"] == true, "{results}");
    ensure!(results["candidates"][0]["votes"] == 4 && results["candidates"][1]["votes"] == 1, "{results}");
    voting.leave()?;
    // The books are Stadium's: they are the same without the service.
    let votes = Wallets::of(stadium.api())?;
    ensure!(votes.posted("@final:ann")? == 4 && votes.posted("@final:ben")? == 1);
    votes.balanced(PATIENCE)?;
    audit(stadium)
}

#[test]
fn people_vote_over_https_and_over_http_in_the_same_poll() -> Result<()> {
    let stadium = stadium()?;
    let folder = tempfile::tempdir()?;
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    std::fs::write(&certificate, made.cert.pem())?;
    std::fs::write(&key, made.signing_key.serialize_pem())?;
    let path = |path: &std::path::Path| path.to_str().map(str::to_owned).context("a path is text");
    let (certificate_flag, key_flag) = (path(&certificate)?, path(&key)?);
    let tls = ["--tls-listen", "127.0.0.1:0", "--tls-certificate", &certificate_flag, "--tls-key", &key_flag];
    let voting = Voting::start(&stadium.data(), &[&["--welcome", "2"], &tls[..]].concat())?;

    let at_home = voting.secured_client(&certificate)?.logged_in("fan-1")?;
    let (status, answer) = at_home.vote("ann", "vote-0")?;
    ensure!(status == 201, "{status}: {answer}");
    // The same person, the same vote, the other way in.
    let in_the_hall = voting.voter("fan-1")?;
    let (status, answer) = in_the_hall.vote("ann", "vote-0")?;
    ensure!(status == 200 && answer["duplicate"] == true, "{status}: {answer}");
    ensure!(in_the_hall.left()? == 1);
    // A certificate that is not believed lets nobody speak.
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    std::fs::write(&certificate, other.cert.pem())?;
    ensure!(voting.secured_client(&certificate)?.logged_in("fan-1").is_err());
    drop((at_home, in_the_hall));
    voting.leave()?;
    audit(stadium)
}

#[test]
fn sixty_four_programs_of_one_voter_cast_exactly_the_votes_that_were_paid_for() -> Result<()> {
    const PAID: i64 = 100;
    let stadium = stadium()?;
    let voting = Voting::start(&stadium.data(), &["--welcome", "100"])?;
    let voter = voting.voter("greedy")?;
    let voter = Arc::new(voter);
    let programs: Vec<_> = (0..64)
        .map(|program| {
            let voter = Arc::clone(&voter);
            std::thread::spawn(move || -> Result<(i64, i64)> {
                let (mut counted, mut again) = (0, 0);
                for n in 0..4 {
                    // Every second id is shared with the neighbour: both send the same vote.
                    let id =
                        if n % 2 == 0 { format!("{}-{n}", program / 2) } else { format!("{program}-{n}") };
                    let candidate = if n < 2 { "ann" } else { "ben" };
                    match voter.vote(candidate, &id)? {
                        (201, _) => counted += 1,
                        (200, _) => again += 1,
                        (402, answer) => ensure!(answer["code"] == "VOT-005", "{answer}"),
                        (status, answer) => bail!("{status}: {answer}"),
                    }
                }
                Ok((counted, again))
            })
        })
        .collect();
    let mut counted = 0;
    for program in programs {
        counted += program.join().ok().context("a program panicked")??.0;
    }
    ensure!(counted == PAID, "{counted} votes of {PAID} paid for were counted");
    ensure!(voter.left()? == 0);
    let results = voting.results("all votes", |results| results["total"] == PAID)?;
    ensure!(results["books"]["balance"] == true && results["books"]["credit"] == "100", "{results}");
    voting.leave()?;
    audit(stadium)
}

#[test]
fn a_service_that_is_killed_counts_votes_of_devices_once() -> Result<()> {
    const VOTES: usize = 200;
    let stadium = stadium()?;
    let mut voting = Voting::start(&stadium.data(), &[])?;
    let payment = json!({"voter": "seat-7", "votes": VOTES, "payment": "store-1"});
    let (status, answer) = voting.client().post("/api/credits", &payment)?;
    ensure!(status == 201, "{status}: {answer}");
    let mut phone = Phone::connect(&stadium, "seat-7")?;
    for n in 0..VOTES {
        phone.send("ann", Some("inbox/seat-7/answers"), format!("{n}").as_bytes())?;
        if n == VOTES / 2 {
            // Stadium keeps what the service had not acknowledged, and gives it to the next one.
            voting.kill()?;
        }
    }
    let voting = Voting::start(&stadium.data(), &[])?;
    let results = voting.results("every vote", |results| results["total"] == VOTES)?;
    ensure!(results["books"]["balance"] == true, "{results}");
    // Each has an answer; a vote that the first service answered and had not acknowledged may have
    // two.
    voting.leave()?;
    ensure!(Wallets::of(stadium.api())?.posted("voter:seat-7")? == 0);
    audit(stadium)
}

#[test]
fn a_ticket_is_needed_where_the_service_is_not_open() -> Result<()> {
    let stadium = stadium()?;
    let place = tempfile::tempdir()?;
    let secret = place.path().join("voting.secret");
    let secret = secret.to_str().context("a path")?;
    let run = |arguments: &[&str]| -> Result<String> {
        let shown = std::process::Command::new(env!("CARGO_BIN_EXE_voting")).args(arguments).output()?;
        ensure!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
        Ok(String::from_utf8(shown.stdout)?.trim_end().to_owned())
    };
    let ticket = run(&["ticket", "--secret", secret, "fan-1"])?;
    let ticket = ticket.strip_prefix("fan-1 ").context("no ticket")?;
    let operator = run(&["operator-key", "--secret", secret])?;

    let voting = Voting::start_with_tickets(&stadium.data(), secret, &[])?;
    let mut client = voting.client();
    for wrong in [json!({"voter": "fan-1"}), json!({"voter": "fan-2", "ticket": ticket})] {
        let (status, answer) = client.post("/api/login", &wrong)?;
        ensure!(status == 401 && answer["code"] == "VOT-002", "{status}: {answer}");
    }
    let payment = json!({"voter": "fan-1", "votes": 1, "payment": "store-1"});
    let (status, answer) = client.post("/api/credits", &payment)?;
    ensure!(status == 401 && answer["code"] == "VOT-003", "{status}: {answer}");
    client.token = operator;
    let (status, answer) = client.post("/api/credits", &payment)?;
    ensure!(status == 201, "{status}: {answer}");

    let (status, answer) = client.post("/api/login", &json!({"voter": "fan-1", "ticket": ticket}))?;
    ensure!(status == 200, "{status}: {answer}");
    client.token = answer["token"].as_str().context("no token")?.to_owned();
    ensure!(client.vote("ann", "1")?.0 == 201);
    client.token.push('x');
    let (status, answer) = client.vote("ann", "2")?;
    ensure!(status == 401 && answer["code"] == "VOT-003", "{status}: {answer}");
    voting.leave()?;
    audit(stadium)
}
