//! The closing time, under load: votes that were booked before it count, later ones are with their
//! voters again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail, ensure};
use stadium_testing::wallets::Wallets;

use crate::fixture::{Voting, audit, stadium};

/// People who vote without a pause.
const VOTERS: usize = 8;

/// The credit of each: more than can be cast.
const CREDIT: i64 = 100_000;

#[test]
fn votes_count_until_the_closing_time_and_none_after() -> Result<()> {
    let stadium = stadium()?;
    let closes = SystemTime::now() + Duration::from_secs(4);
    let closes_ms = u64::try_from(closes.duration_since(UNIX_EPOCH)?.as_millis())?;
    let closes_at = jiff::Timestamp::from_millisecond(i64::try_from(closes_ms)?)?.to_string();
    let voting = Voting::start(&stadium.data(), &["--welcome", "100000", "--closes-at", &closes_at])?;

    let voters: Vec<_> = (0..VOTERS)
        .map(|n| {
            let voter = voting.voter(&format!("fan-{n}"))?;
            Ok(std::thread::spawn(move || -> Result<(i64, u64)> {
                let (mut counted, mut last_ms) = (0, 0);
                for vote in 0.. {
                    let id = vote.to_string();
                    let (status, answer) = voter.vote("ann", &id)?;
                    match status {
                        201 => {
                            let at_ms = answer["at_ms"].as_u64().context("no time")?;
                            ensure!(
                                at_ms < closes_ms,
                                "a vote of {at_ms} counts, {closes_ms} is the closing"
                            );
                            counted += 1;
                            last_ms = at_ms;
                        }
                        403 => {
                            ensure!(answer["code"] == "VOT-006", "{answer}");
                            break;
                        }
                        _ => bail!("{status}: {answer}"),
                    }
                }
                // A vote that counted and is sent again is still answered that it does.
                let (status, answer) = voter.vote("ann", "0")?;
                ensure!(counted == 0 || status == 200, "{status}: {answer}");
                Ok((counted, last_ms))
            }))
        })
        .collect::<Result<_>>()?;
    let (mut counted, mut last_ms) = (Vec::new(), 0);
    for voter in voters {
        let (own, last) = voter.join().ok().context("a voter panicked")??;
        counted.push(own);
        last_ms = last_ms.max(last);
    }
    let total: i64 = counted.iter().sum();
    ensure!(total > 0, "nobody got a vote in before the closing");
    ensure!(
        closes_ms - last_ms < 1_000,
        "the last vote counted {} ms before the closing",
        closes_ms - last_ms
    );

    let results = voting.results("the poll to be settled", |results| results["state"] == "settled")?;
    ensure!(results["total"] == total, "{total} votes were answered that they count: {results}");
    ensure!(results["books"]["balance"] == true, "{results}");
    voting.leave()?;
    // Late votes went back: nobody has lost a vote that did not count, and the candidate has no
    // more than counts.
    let wallets = Wallets::of(stadium.api())?;
    ensure!(wallets.posted("@final:ann")? == total);
    for (n, own) in counted.iter().enumerate() {
        let left = wallets.posted(&format!("voter:fan-{n}"))?;
        ensure!(left == CREDIT - own, "fan-{n} cast {own} and has {left} left");
    }
    audit(stadium)
}
