//! The way in for browsers and programs: a small JSON API, a page, and the standings as server-sent events.
//!
//! Log in for a token; the other requests carry it. Everything that is asked of Stadium goes through the [`Bank`], which
//! collects it; the answers have a length, so that connections are kept.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use futures::stream::{self, Stream};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::access::{Access, TOKEN_MS};
use crate::bank::{Bank, Credit, Vote, Voted, Way};
use crate::poll::{Poll, TransferId, Voter};
use crate::problem::Problem;
use crate::results::Board;

/// Bytes of a request's body: the largest has a name, a ticket and an id.
const BODY_BYTES_MAX: usize = 4_096;

/// Bytes of a client's own id of a vote, or of a payment's.
const ID_BYTES_MAX: usize = 128;

/// Votes in one payment.
const CREDIT_MAX: u64 = 1_000_000_000;

/// Pages that may watch at once; each costs a connection and a few kilobytes.
const WATCHERS_MAX: usize = 1_000;

/// What every request needs.
pub(crate) struct Shared {
    pub(crate) bank: Arc<Bank>,
    pub(crate) access: Access,
    pub(crate) board: Board,
    /// Changes when the service leaves.
    pub(crate) leaving: watch::Receiver<bool>,
    watchers: Arc<Semaphore>,
    candidates: Bytes,
}

impl Shared {
    pub(crate) fn new(bank: Arc<Bank>, access: Access, board: Board, leaving: watch::Receiver<bool>) -> Self {
        let candidates = ballot_paper(bank.poll());
        Self { bank, access, board, leaving, watchers: Arc::new(Semaphore::new(WATCHERS_MAX)), candidates }
    }
}

type App = State<Arc<Shared>>;

/// All routes.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/healthz", get(async || "ok\n"))
        .route("/api/login", post(login))
        .route("/api/candidates", get(candidates))
        .route("/api/balance", get(balance))
        .route("/api/votes", post(vote))
        .route("/api/credits", post(credit))
        .route("/api/results", get(results))
        .route("/api/results/stream", get(results_stream))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(shared)
}

async fn page() -> impl IntoResponse {
    let policy =
        "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'";
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(include_str!("page/voting.html")))
}

#[derive(Deserialize)]
struct LoginBody {
    voter: String,
    #[serde(default)]
    ticket: String,
}

#[derive(Serialize)]
struct LoggedIn<'a> {
    token: String,
    voter: &'a str,
    expires_s: u64,
}

async fn login(State(shared): App, body: Bytes) -> Result<Response, Problem> {
    let body: LoginBody = read(&body)?;
    let voter = voter(&body.voter)?;
    if !shared.access.admits(&voter, &body.ticket) {
        return Err(Problem::ticket());
    }
    shared.bank.welcome(&voter).await?;
    let token = shared.access.token(&voter);
    Ok(json(StatusCode::OK, &LoggedIn { token, voter: voter.name(), expires_s: TOKEN_MS / 1_000 }))
}

fn ballot_paper(poll: &Poll) -> Bytes {
    let candidates: Vec<_> = poll
        .candidates()
        .iter()
        .map(|candidate| serde_json::json!({ "id": candidate.id, "name": candidate.name }))
        .collect();
    let closes_at_ms = poll.closes_ms();
    let paper =
        serde_json::json!({ "poll": poll.name(), "closes_at_ms": closes_at_ms, "candidates": candidates });
    paper.to_string().into()
}

async fn candidates(State(shared): App) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], shared.candidates.clone()).into_response()
}

#[derive(Serialize)]
struct Balance<'a> {
    voter: &'a str,
    votes: i64,
}

async fn balance(State(shared): App, headers: HeaderMap) -> Result<Response, Problem> {
    let voter = logged_in(&shared, &headers)?;
    let votes = shared.bank.balance(&voter).await?;
    Ok(json(StatusCode::OK, &Balance { voter: voter.name(), votes }))
}

#[derive(Deserialize)]
struct VoteBody {
    candidate: String,
    #[serde(default)]
    id: String,
}

#[derive(Serialize)]
struct VoteAnswer<'a> {
    vote: String,
    candidate: &'a str,
    at_ms: u64,
    duplicate: bool,
}

async fn vote(State(shared): App, headers: HeaderMap, body: Bytes) -> Result<Response, Problem> {
    let voter = logged_in(&shared, &headers)?;
    let body: VoteBody = read(&body)?;
    let poll = shared.bank.poll();
    let candidate = poll.find(&body.candidate).ok_or_else(|| Problem::candidate(&body.candidate))?;
    let id = match own_id(&body.id, &headers)? {
        "" => TransferId::random(),
        own => vote_id(poll, &voter, own.as_bytes()),
    };
    let vote = Vote { voter, candidate, id, way: Way::Http };
    // On a task of its own: a voter who hangs up does not leave a late vote behind.
    let bank = Arc::clone(&shared.bank);
    let voted = tokio::spawn(async move { bank.vote(vote).await }).await;
    let Voted { at_ms, duplicate } =
        voted.unwrap_or_else(|_| Err(crate::bank::Refused::Busy("this service is ending".to_owned())))?;
    let status = if duplicate { StatusCode::OK } else { StatusCode::CREATED };
    Ok(json(status, &VoteAnswer { vote: id.to_string(), candidate: &body.candidate, at_ms, duplicate }))
}

/// The transfer that a voter's own id of a vote names: the same for both ways in.
pub(crate) fn vote_id(poll: &Poll, voter: &Voter, own: &[u8]) -> TransferId {
    TransferId::of(&[b"vote", poll.name().as_bytes(), voter.name().as_bytes(), own])
}

#[derive(Deserialize)]
struct CreditBody {
    voter: String,
    votes: u64,
    payment: String,
}

#[derive(Serialize)]
struct CreditAnswer<'a> {
    transfer: String,
    voter: &'a str,
    votes: u64,
    payment: &'a str,
    at_ms: u64,
    duplicate: bool,
}

/// Votes that were paid for; the payment's own name makes it count once.
async fn credit(State(shared): App, headers: HeaderMap, body: Bytes) -> Result<Response, Problem> {
    if !shared.access.may_credit(bearer(&headers)) {
        return Err(Problem::token());
    }
    let CreditBody { voter: name, votes, payment } = read(&body)?;
    let voter = voter(&name)?;
    if !(1..=CREDIT_MAX).contains(&votes) {
        return Err(Problem::malformed(format!("votes {votes} is not 1 to {CREDIT_MAX}")));
    }
    if payment.is_empty() || payment.len() > ID_BYTES_MAX || payment.chars().any(char::is_control) {
        return Err(Problem::malformed(format!("payment is not a text of 1 to {ID_BYTES_MAX} bytes")));
    }
    let id = TransferId::of(&[b"payment", payment.as_bytes()]);
    let credit = Credit { voter: voter.clone(), votes, id, reference: payment.clone() };
    let Voted { at_ms, duplicate } = shared.bank.credit(credit).await?;
    let status = if duplicate { StatusCode::OK } else { StatusCode::CREATED };
    let answer = CreditAnswer {
        transfer: id.to_string(),
        voter: voter.name(),
        votes,
        payment: &payment,
        at_ms,
        duplicate,
    };
    Ok(json(status, &answer))
}

async fn results(State(shared): App) -> Response {
    let text = Arc::clone(&shared.board.borrow().1);
    ([(header::CONTENT_TYPE, "application/json")], text.as_ref().to_owned()).into_response()
}

/// One watching page.
struct Watching {
    board: Board,
    leaving: watch::Receiver<bool>,
    is_first: bool,
    _permit: OwnedSemaphorePermit,
}

async fn results_stream(
    State(shared): App,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let permit = Arc::clone(&shared.watchers).try_acquire_owned().map_err(|_| {
        Problem::from(crate::bank::Refused::Busy(format!("{WATCHERS_MAX} pages watch already")))
    })?;
    let watching = Watching {
        board: shared.board.clone(),
        leaving: shared.leaving.clone(),
        is_first: true,
        _permit: permit,
    };
    let events = stream::unfold(watching, async |mut watching| {
        if !std::mem::take(&mut watching.is_first) {
            tokio::select! {
                changed = watching.board.changed() => changed.ok()?,
                _ = watching.leaving.wait_for(|leaving| *leaving) => return None,
            }
        }
        let text = Arc::clone(&watching.board.borrow_and_update().1);
        Some((Ok(Event::default().data(text)), watching))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

fn voter(name: &str) -> Result<Voter, Problem> {
    Voter::new(name).map_err(|error| Problem::malformed(error.to_string()))
}

/// The client's own id: in the body, or in the header.
fn own_id<'a>(in_body: &'a str, headers: &'a HeaderMap) -> Result<&'a str, Problem> {
    let in_header = match headers.get("idempotency-key") {
        Some(value) => value.to_str().map_err(|_| Problem::malformed("Idempotency-Key is no ASCII text"))?,
        None => "",
    };
    let own = if in_body.is_empty() { in_header } else { in_body };
    if own.len() > ID_BYTES_MAX {
        return Err(Problem::malformed(format!("an id has at most {ID_BYTES_MAX} bytes, not {}", own.len())));
    }
    Ok(own)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn logged_in(shared: &Shared, headers: &HeaderMap) -> Result<Voter, Problem> {
    bearer(headers).and_then(|token| shared.access.voter(token)).ok_or_else(Problem::token)
}

fn read<'a, T: Deserialize<'a>>(body: &'a Bytes) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| Problem::malformed(error.to_string()))
}

fn json(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(text) => (status, [(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => Problem::from(crate::bank::Refused::Busy(error.to_string())).into_response(),
    }
}
