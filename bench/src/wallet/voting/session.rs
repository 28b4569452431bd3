//! What the voting service is asked, one request after the other on a connection, and what it answers.
//!
//! Answers are read by their length only, so that the client costs little beside the service.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::harness::{self, Dialogue, Lane};
use crate::wire::http::{self, Answer};

/// Candidates of the poll, by their ids.
pub(super) const CANDIDATES: [&str; 4] = ["ann", "ben", "cleo", "dan"];

/// What a connection asks for.
#[derive(Clone, Copy)]
pub(super) enum Request<'a> {
    /// Voter so-and-so logs in, and is signed up the first time.
    LogIn { voter: u32 },
    /// Who can be voted for.
    List,
    /// How many votes are left.
    Balance { token: &'a str },
    /// One vote; asked again with the same number it counts once.
    Vote { token: &'a str, candidate: usize, number: u64 },
    /// All votes counted so far.
    Results,
}

/// What became of it.
#[derive(Debug)]
pub(super) enum Reply {
    /// The token of the other requests.
    Token(String),
    /// So many candidates.
    Listed(usize),
    /// So many votes are left.
    Left(i64),
    /// The vote is counted.
    Voted,
    /// So many votes are counted.
    Counted(i64),
    /// Nothing happened: the same again after a pause.
    Again(Duration),
}

/// What is asked of the voting service.
pub(super) struct Sessions;

impl Dialogue for Sessions {
    type Request<'a> = Request<'a>;
    type Outcome = Reply;

    fn again(reply: &Reply) -> Option<Duration> {
        match reply {
            Reply::Again(pause) => Some(*pause),
            _ => None,
        }
    }
}

type Event = harness::Event<Reply>;

/// A kept connection.
pub(super) struct Connection {
    asked: Option<Asked>,
    is_open: bool,
}

#[derive(Clone, Copy)]
enum Asked {
    LogIn,
    List,
    Balance,
    Vote,
    Results,
}

impl Connection {
    /// Not yet connected.
    pub(super) fn lane() -> Box<dyn Lane<Sessions>> {
        Box::new(Self { asked: None, is_open: false })
    }
}

impl Lane<Sessions> for Connection {
    fn open(&mut self, _outs: &mut [Vec<u8>]) {}

    fn start(&mut self, _worker: usize, request: Request<'_>, outs: &mut [Vec<u8>]) {
        let out = &mut outs[0];
        let mut ask = |method, path, token, body: String| {
            http::request(method, path, token, body.as_bytes(), out);
        };
        self.asked = Some(match request {
            Request::LogIn { voter } => {
                ask("POST", "/api/login", None, format!("{{\"voter\":\"v{voter}\"}}"));
                Asked::LogIn
            }
            Request::List => {
                ask("GET", "/api/candidates", None, String::new());
                Asked::List
            }
            Request::Balance { token } => {
                ask("GET", "/api/balance", Some(token), String::new());
                Asked::Balance
            }
            Request::Vote { token, candidate, number } => {
                let candidate = CANDIDATES[candidate % CANDIDATES.len()];
                let body = format!("{{\"candidate\":\"{candidate}\",\"id\":\"{number}\"}}");
                ask("POST", "/api/votes", Some(token), body);
                Asked::Vote
            }
            Request::Results => {
                ask("GET", "/api/results", None, String::new());
                Asked::Results
            }
        });
    }

    fn read(
        &mut self,
        _connection: usize,
        bytes: &[u8],
        _outs: &mut [Vec<u8>],
        events: &mut Vec<Event>,
    ) -> Result<usize> {
        if !self.is_open {
            self.is_open = true;
            events.push(Event::Open);
        }
        let Some((answer, length)) = http::parse(bytes)? else { return Ok(0) };
        let asked = self.asked.take().context("an answer to no request")?;
        events.push(Event::Answer(0, reply(asked, &answer)?));
        Ok(length)
    }
}

#[derive(Deserialize)]
struct LoggedIn {
    token: String,
}

#[derive(Deserialize)]
struct Ballot<'a> {
    #[serde(borrow)]
    candidates: Vec<Candidate<'a>>,
}

#[derive(Deserialize)]
struct Candidate<'a> {
    id: &'a str,
}

#[derive(Deserialize)]
struct Balance {
    votes: i64,
}

#[derive(Deserialize)]
struct Results {
    total: i64,
}

fn reply(asked: Asked, answer: &Answer<'_>) -> Result<Reply> {
    if answer.status == 503 {
        return Ok(Reply::Again(Duration::from_secs(answer.retry_after_s.unwrap_or(1))));
    }
    if !matches!(answer.status, 200 | 201) {
        bail!("the service answered {}: {}", answer.status, String::from_utf8_lossy(answer.body));
    }
    Ok(match asked {
        Asked::LogIn => Reply::Token(serde_json::from_slice::<LoggedIn>(answer.body)?.token),
        Asked::List => {
            let ballot: Ballot<'_> = serde_json::from_slice(answer.body)?;
            let known = ballot.candidates.iter().filter(|candidate| CANDIDATES.contains(&candidate.id));
            Reply::Listed(known.count())
        }
        Asked::Balance => Reply::Left(serde_json::from_slice::<Balance>(answer.body)?.votes),
        Asked::Vote => Reply::Voted,
        Asked::Results => Reply::Counted(serde_json::from_slice::<Results>(answer.body)?.total),
    })
}
