//! Transfers: amounts moved, held, captured, given back.
//!
//! Each is booked at most once for its id, so a request that was not answered can be sent again as it was. An answer
//! means that the record is on disk.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use stadium_push::PushId;
use stadium_queue::{NewJob, QueueName};
use stadium_shard::{Done, Together};
use stadium_wallet::{Command, NewTransfer, Outcome, TransferId, TransferView};

use crate::push::direct::fields::{PUSHES_QUEUE, PushRequest};
use crate::queue::fields::Payload;
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::{parse, read_json, read_json_or_default};
use crate::request::problem::{NAME_WRONG, Problem};
use crate::request::query::Name;
use crate::shards::{ask, ask_for, strange};
use crate::spelling::named;
use crate::wallet::description::{MoneyLookProblems, MoneyProblems};
use crate::wallet::fields::{BatchFields, KindWord, StepFields, TogetherFields, TransferFields, transfers};
use crate::wallet::ids::{RequestId, derived};
use crate::wallet::movers::Movers;
use crate::wallet::views::{BookedTransfer, BookedTransfers, PutJob, TogetherReport, TransferReport};

/// Books a transfer: moves an amount, holds it, or ends a hold.
///
/// 201: it is on disk. 200 with `duplicate`: it had been, nothing happened now. 409: `WAL-023` there is less available,
/// `WAL-024` the ceiling, `WAL-025` the account is closed. The id is the body's, or made of the header `Idempotency-Key`: a UUID
/// is the id itself, any other key is hashed to one of the caller's own.
#[utoipa::path(post, operation_id = "transfer", path = "/api/transfers", tag = "Wallets",
    extensions(("x-right" = json!("wallet.transfer:debit={wallet}"))), request_body = TransferFields,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters that name this request, best a UUID.")),
    responses((status = 201, description = "It is booked, on disk.", body = BookedTransfer,
               headers(("Location" = String, description = "The transfer."))),
              (status = 200, description = "It had been booked before.", body = BookedTransfer,
               headers(("Idempotent-Replayed" = String, description = "`true`"))),
              MoneyProblems))]
pub(crate) async fn create(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(movers): State<Arc<Movers>>,
    request: Request,
) -> Result<Response, Problem> {
    let name = RequestId::of(request.headers(), caller.key_id().to_owned())?;
    let (fields, _): (TransferFields, _) = read_json(&app, request).await?;
    let id = name.only(fields.id.as_deref())?;
    book(&caller, &app, &movers, fields.check("", id)?).await
}

/// Books one transfer.
async fn book(
    caller: &Caller,
    app: &App,
    movers: &Movers,
    transfer: NewTransfer,
) -> Result<Response, Problem> {
    let transfers = vec![transfer.clone()];
    let command = Command::Transfer { transfers, linked: false, principal: caller.principal() };
    caller.may_ask_wallet(app, &command).await?;
    let outcomes: Vec<Outcome> = ask_for(app, command).await?;
    let booked = outcomes.into_iter().next().ok_or_else(strange)??;
    let body = Json(BookedTransfer::of(&booked));
    if booked.duplicate {
        return Ok((StatusCode::OK, [(REPLAYED, HeaderValue::from_static("true"))], body).into_response());
    }
    movers.booked([&transfer].into_iter(), Instant::now());
    let location = format!("/api/transfers/{}", booked.transfer);
    let location = HeaderValue::from_str(&location).expect("letters, digits and hyphens are a header value");
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], body).into_response())
}

/// The header that distinguishes a repeated request from a first one.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Books up to 1,000 transfers, each with an outcome of its own; with `linked` all of them or none.
///
/// Without `linked` those that one shard decides are booked in their order; of other shards' each may come first or last.
/// A linked list that is refused is `WAL-032`, and the detail names the transfer that is to blame.
/// Ids that the transfers lack are made of the header `Idempotency-Key` and each one's place.
#[utoipa::path(post, operation_id = "transfer_batch", path = "/api/transfers/batch", tag = "Wallets",
    extensions(("x-right" = json!("wallet.transfer:debit={wallet}"))), request_body = BatchFields,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters that name this request.")),
    responses((status = 200, description = "What became of each.", body = BookedTransfers), MoneyProblems))]
pub(crate) async fn batch(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(movers): State<Arc<Movers>>,
    request: Request,
) -> Result<Json<BookedTransfers>, Problem> {
    let name = RequestId::of(request.headers(), caller.key_id().to_owned())?;
    let (BatchFields { linked, transfers: fields }, _) = read_json(&app, request).await?;
    let asked = transfers(fields, &name)?;
    let command = Command::Transfer { transfers: asked.clone(), linked, principal: caller.principal() };
    caller.may_ask_wallet(&app, &command).await?;
    let outcomes: Vec<Outcome> = ask_for(&app, command).await?;
    if outcomes.len() != asked.len() {
        return Err(strange());
    }
    let booked = asked.iter().zip(&outcomes);
    let booked = booked.filter(|(_, outcome)| matches!(outcome, Ok(booked) if !booked.duplicate));
    movers.booked(booked.map(|(transfer, _)| transfer), Instant::now());
    let ids: Vec<_> = asked.iter().map(|transfer| transfer.id).collect();
    Ok(Json(BookedTransfers::of(&ids, outcomes)))
}

/// One transfer, as long as its id is remembered; older ones are in the histories of their accounts.
#[utoipa::path(get, operation_id = "find_transfer", path = "/api/transfers/{id}", tag = "Wallets",
    extensions(("x-right" = json!("wallet.read:{wallet}"))),
    params(("id" = String, Path, description = "The transfer's id.")),
    responses((status = 200, description = "The transfer.", body = TransferReport), MoneyLookProblems))]
pub(crate) async fn show(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(id): Name,
) -> Result<Json<TransferReport>, Problem> {
    let found: Box<TransferView> = ask_for(&app, Command::Find { transfer: in_path(&id)? }).await?;
    caller.may_see(&found)?;
    Ok(Json(TransferReport::of(&found)))
}

/// Moves what is held, or a part of it, and ends the hold; the rest is available again.
///
/// It is a transfer with an id of its own, answered as `POST /api/transfers` is.
#[utoipa::path(post, operation_id = "capture_hold", path = "/api/transfers/{id}/capture", tag = "Wallets",
    extensions(("x-right" = json!("wallet.transfer:debit={wallet}"))), request_body = Option<StepFields>,
    params(("id" = String, Path, description = "The hold's id."),
           ("Idempotency-Key" = Option<String>, Header, description = "Names this request, best a UUID.")),
    responses((status = 201, description = "It is booked, on disk.", body = BookedTransfer),
              (status = 200, description = "It had been booked before.", body = BookedTransfer), MoneyProblems))]
pub(crate) async fn capture(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(movers): State<Arc<Movers>>,
    Name(id): Name,
    request: Request,
) -> Result<Response, Problem> {
    step(caller, (app, movers), &id, request, KindWord::Capture).await
}

/// Gives what is held back to its owner and ends the hold.
#[utoipa::path(post, operation_id = "void_hold", path = "/api/transfers/{id}/void", tag = "Wallets",
    extensions(("x-right" = json!("wallet.transfer:debit={wallet}"))), request_body = Option<StepFields>,
    params(("id" = String, Path, description = "The hold's id."),
           ("Idempotency-Key" = Option<String>, Header, description = "Names this request, best a UUID.")),
    responses((status = 201, description = "It is booked, on disk.", body = BookedTransfer),
              (status = 200, description = "It had been booked before.", body = BookedTransfer), MoneyProblems))]
pub(crate) async fn void(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(movers): State<Arc<Movers>>,
    Name(id): Name,
    request: Request,
) -> Result<Response, Problem> {
    step(caller, (app, movers), &id, request, KindWord::Void).await
}

/// Moves all of a posted or captured transfer back, as a new transfer; `WAL-023` where the one who got it has it no more.
#[utoipa::path(post, operation_id = "reverse_transfer", path = "/api/transfers/{id}/reverse", tag = "Wallets",
    extensions(("x-right" = json!("wallet.transfer:debit={wallet}"))), request_body = Option<StepFields>,
    params(("id" = String, Path, description = "The transfer's id."),
           ("Idempotency-Key" = Option<String>, Header, description = "Names this request, best a UUID.")),
    responses((status = 201, description = "It is booked, on disk.", body = BookedTransfer),
              (status = 200, description = "It had been booked before.", body = BookedTransfer), MoneyProblems))]
pub(crate) async fn reverse(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(movers): State<Arc<Movers>>,
    Name(id): Name,
    request: Request,
) -> Result<Response, Problem> {
    step(caller, (app, movers), &id, request, KindWord::Reverse).await
}

/// Does something to the transfer in the path, by a transfer of its own.
async fn step(
    caller: Caller,
    (app, movers): (Arc<App>, Arc<Movers>),
    of: &str,
    request: Request,
    kind: KindWord,
) -> Result<Response, Problem> {
    let of = in_path(of)?;
    let name = RequestId::of(request.headers(), caller.key_id().to_owned())?;
    let fields: StepFields = read_json_or_default(&app, request).await?;
    let id = name.only_or(fields.id.as_deref(), || Ok(derived(kind.word(), of)))?;
    book(&caller, &app, &movers, fields.check(kind, of, id)?).await
}

/// Books transfers, puts jobs and makes pushes in one record: all of it or none.
///
/// The transfers are linked, and their accounts, but for system wallets, live on one shard (`WAL-033`). A repeated request with the same
/// transfers books, puts and pushes nothing again. A push is made right after the record is on disk, at least once.
#[utoipa::path(post, operation_id = "together", path = "/api/together", tag = "Wallets",
    extensions(("x-right" = json!(["wallet.transfer:debit={wallet}", "queue.put:{queue}?", "push.send:{app}?"]))), request_body = TogetherFields,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters that name this request.")),
    responses((status = 201, description = "All of it is on disk.", body = TogetherReport),
              (status = 200, description = "It had been done before.", body = TogetherReport,
               headers(("Idempotent-Replayed" = String, description = "`true`"))),
              MoneyProblems))]
pub(crate) async fn together(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(movers): State<Arc<Movers>>,
    request: Request,
) -> Result<Response, Problem> {
    let name = RequestId::of(request.headers(), caller.key_id().to_owned())?;
    let (TogetherFields { transfers: fields, jobs, pushes }, _) = read_json(&app, request).await?;
    let asked = transfers(fields, &name)?;
    let jobs_asked = jobs.len();
    let mut all: Vec<(QueueName, NewJob)> = Vec::with_capacity(jobs_asked + pushes.len());
    for (index, queued) in jobs.into_iter().enumerate() {
        let queue = named(&format!("jobs[{index}].queue"), QueueName::new(&queued.queue))?;
        all.push((queue, queued.job.check(&format!("jobs[{index}].job."), Payload::Needed)?));
    }
    for (index, push) in pushes.iter().enumerate() {
        let at = format!("pushes[{index}].");
        let body = Bytes::copy_from_slice(push.get().as_bytes());
        // A push gets its id when its job is done.
        let checked =
            parse::<PushRequest>(&body).and_then(|push| push.check(PushId(0), app.config.push_bounds()));
        checked.map_err(|problem| problem.within(&at))?;
        all.push((
            QueueName::new(PUSHES_QUEUE).expect("it is one"),
            NewJob { payload: body, ..NewJob::default() },
        ));
    }
    let command = Together { transfers: asked.clone(), jobs: all, principal: caller.principal() };
    caller.may_ask_together(&app, &command).await?;
    let done: Done = ask(&app, command).await?;
    let duplicate = !done.booked.is_empty() && done.booked.iter().all(|booked| booked.duplicate);
    if !duplicate {
        movers.booked(asked.iter(), Instant::now());
    }
    let mut put = done.placed.iter().map(PutJob::of);
    let report = TogetherReport {
        transfers: done.booked.iter().map(BookedTransfer::of).collect(),
        jobs: put.by_ref().take(jobs_asked).collect(),
        pushes: put.collect(),
    };
    Ok(if duplicate {
        (StatusCode::OK, [(REPLAYED, HeaderValue::from_static("true"))], Json(report)).into_response()
    } else {
        (StatusCode::CREATED, Json(report)).into_response()
    })
}

/// A transfer's id out of the path.
fn in_path(text: &str) -> Result<TransferId, Problem> {
    text.parse()
        .map_err(|error: stadium_wallet::InvalidName| Problem::new(NAME_WRONG, error.to_string()).at("id"))
}
