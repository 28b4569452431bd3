//! The demo's second act: the push asks for votes, the herd answers, and the books balance.
//!
//! The service is the example in examples/voting, as it is, talking to this process's node by RPC and MQTT. Every device has
//! credit for one vote; it is asked twice, so that the second vote of each must be refused.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde::Serialize;
use stadium_example_voting::access::{Access, Entry};
use stadium_example_voting::bank::Credit;
use stadium_example_voting::poll::{Poll, TransferId, Voter};
use stadium_example_voting::results::Results;
use stadium_example_voting::{Config, Stadium, Voting};
use stadium_load::swarm::{Answer, Level};
use stadium_node::Node;

use super::fleet::ID_PREFIX;
use crate::failure::Failure;
use crate::terminal::{Style, Terminal, count, short};

/// The text that asks the devices to vote.
pub(super) const ASKS: &str = "Vote now";

/// The queue in which votes' confirmations wait to be pushed.
pub(super) const PUSHES: &str = "/api/queues/stadium.pushes";

/// The candidates, and how many in ten of the devices vote for each.
const CANDIDATES: [(&str, &str, usize); 3] =
    [("ann", "Ann and the Bees", 5), ("ben", "Ben", 3), ("cleo", "Cleo", 2)];

/// How long the herd's votes may take to be in.
const VOTES_PATIENCE: Duration = Duration::from_secs(120);

/// What the second act measured.
#[derive(Debug, Serialize)]
pub(super) struct VoteFigures {
    /// Devices that had credit for one vote.
    asked: u32,
    /// Votes that counted.
    counted: u64,
    /// From the first vote that was booked to the last, by the server's clock, in seconds.
    took_s: f64,
    /// Votes booked a second.
    per_second: f64,
    /// Second votes, which nobody had paid for: all refused.
    refused: u64,
    /// The standings.
    candidates: Vec<CandidateFigures>,
    /// Votes of all candidates.
    total: i64,
    /// What all accounts above zero have, as a decimal.
    credit: String,
    /// What all below owe.
    debit: String,
    /// Whether those are the same.
    books_balance: bool,
    /// The page with the result.
    page_url: String,
}

#[derive(Debug, Serialize)]
struct CandidateFigures {
    id: String,
    name: String,
    votes: i64,
}

/// The answer of a device that is asked: a vote, with its response topic.
pub(super) fn answer() -> Answer {
    let template = |text: &str| text.parse().expect("the demo's templates are well formed");
    Answer {
        when: ASKS.to_owned(),
        topic: template("uplink/{id}/vote"),
        payloads: CANDIDATES
            .iter()
            .flat_map(|(id, _, share)| std::iter::repeat_n((*id).to_owned(), *share))
            .collect(),
        respond_to: template("inbox/{id}"),
        qos: Level::try_from(1).expect("QoS 1 exists"),
    }
}

/// The voting service over this node, with credit for one vote a device.
pub(super) fn open(node: &Node, key: String, listen: SocketAddr, devices: u32) -> Result<Voting, Failure> {
    let address = |name: &str| {
        node.address(name).ok_or_else(|| {
            Failure::new(format!("the demo's server does not listen for {name}; this is a bug"))
        })
    };
    let candidates: Vec<(String, String)> =
        CANDIDATES.iter().map(|(id, name, _)| ((*id).to_owned(), (*name).to_owned())).collect();
    let poll = Poll::new("demo", &candidates, None).map_err(|error| Failure::new(error.to_string()))?;
    let config = Config {
        stadium: Stadium { rpc: address("rpc")?, key, mqtt: Some((address("mqtt")?, None)) },
        poll,
        access: Access::ephemeral(Entry::Open).map_err(failed)?,
        listen,
        secured: None,
        welcome: 0,
        instance: "demo".to_owned(),
        threads: 0,
        cache: Vec::new(),
    };
    let voting = Voting::start(config).map_err(failed)?;
    let credits = (1..=devices).filter_map(|number| {
        let id = format!("{ID_PREFIX}{number}");
        let voter = Voter::new(&id).ok()?;
        Some(Credit {
            voter,
            votes: 1,
            id: TransferId::of(&[b"demo", id.as_bytes()]),
            reference: "demo".to_owned(),
        })
    });
    voting
        .credit(credits)
        .map_err(|refused| Failure::new(format!("the devices get no credit: {refused:?}")))?;
    Ok(voting)
}

fn failed(error: stadium_example_voting::Error) -> Failure {
    Failure::new(format!("the voting service cannot start: {error:#}"))
}

/// Looks at the results until they are so, or it is time to go.
pub(super) fn until(
    voting: &Voting,
    is_interrupted: impl Fn() -> bool,
    mut is_so: impl FnMut(&Results) -> bool,
) -> Result<bool, Failure> {
    let began = Instant::now();
    while !is_interrupted() {
        let results = voting.results();
        if is_so(&results) {
            return Ok(true);
        }
        if began.elapsed() > VOTES_PATIENCE {
            return Err(Failure::new(format!(
                "after {} s only {} votes are counted and {} refused: is the machine too busy? Try --devices with fewer",
                VOTES_PATIENCE.as_secs(),
                count(results.cast.counted),
                count(results.cast.refused),
            )));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(false)
}

/// Waits until every confirmation is pushed, or it is time to go.
pub(super) fn until_confirmed(
    mut all_confirmed: impl FnMut() -> Result<bool, Failure>,
    is_interrupted: impl Fn() -> bool,
) -> Result<(), Failure> {
    let began = Instant::now();
    while !is_interrupted() && !all_confirmed()? {
        if began.elapsed() > VOTES_PATIENCE {
            let seconds = VOTES_PATIENCE.as_secs();
            return Err(Failure::new(format!(
                "after {seconds} s not every vote is confirmed: is the machine too busy?"
            )));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

impl VoteFigures {
    /// From the service's results when all is in.
    pub(super) fn new(
        asked: u32,
        page_url: String,
        first: &Results,
        last: &Results,
    ) -> Result<Self, Failure> {
        let took_s = first.cast.last_at_ms.saturating_sub(first.cast.first_at_ms).max(1) as f64 / 1_000.0;
        let figures = Self {
            asked,
            counted: last.cast.counted,
            took_s,
            per_second: first.cast.counted as f64 / took_s,
            refused: last.cast.refused,
            candidates: last
                .candidates
                .iter()
                .map(|standing| CandidateFigures {
                    id: standing.id.clone(),
                    name: standing.name.clone(),
                    votes: standing.votes,
                })
                .collect(),
            total: last.total,
            credit: last.books.credit.clone(),
            debit: last.books.debit.clone(),
            books_balance: last.books.balance,
            page_url,
        };
        if !figures.books_balance || figures.total != i64::from(asked) {
            return Err(Failure::new(format!(
                "the books do not balance: {} votes for {asked} that were paid for, {} in, {} out; this is a bug",
                figures.total, figures.credit, figures.debit,
            )));
        }
        Ok(figures)
    }

    /// Lines for people.
    pub(super) fn lines(&self, terminal: &Terminal) -> [String; 3] {
        let standings: Vec<String> = self
            .candidates
            .iter()
            .map(|candidate| format!("{} {}", candidate.name, count(candidate.votes.unsigned_abs())))
            .collect();
        [
            format!(
                "{}    {} votes over MQTT in {}, {} a second",
                terminal.err(Style::Good, "voted   "),
                count(self.counted),
                terminal.err(Style::Strong, short(self.took_s)),
                terminal.err(Style::Strong, count(self.per_second as u64)),
            ),
            format!(
                "{}    {} second votes refused: one was paid for",
                terminal.err(Style::Good, "refused "),
                count(self.refused),
            ),
            format!(
                "{}    {}; {} paid for, {} cast: the books balance",
                terminal.err(Style::Good, "result  "),
                terminal.err(Style::Strong, standings.join(", ")),
                count(self.debit.parse().unwrap_or_default()),
                count(self.credit.parse().unwrap_or_default()),
            ),
        ]
    }

    /// Rows of the box at the end.
    pub(super) fn rows(&self) -> [(&'static str, String); 3] {
        [
            ("vote", format!("{} votes, {} a second", count(self.counted), count(self.per_second as u64))),
            ("", format!("each a debit, a job and a push in one record; {} refused", count(self.refused))),
            ("", format!("sum of the candidates {}, the books balance", count(self.total.unsigned_abs()))),
        ]
    }
}
