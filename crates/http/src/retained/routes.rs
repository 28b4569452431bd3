//! The endpoints of retained messages: list them, remove them.
//!
//! Pages are walked by topics, so that messages that come and go meanwhile make none be skipped.
//! Payloads are never shown.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRef, State};
use axum::http::Uri;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;

use crate::fleet::{NoRetained, PurgeMode, RetainedQuery, RetainedReport};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::endpoints::endpoints;
use crate::request::problem::{Problem, ProblemSchema};
use crate::request::query::{Query, wrong};
use crate::retained::description::Description;
use crate::rfc3339;

/// Messages on a page unless the caller asks for another number.
const PAGE_MESSAGES_DEFAULT: usize = 100;

/// Messages on a page at most, and messages that one request removes: a loop removes them in one
/// turn.
const PAGE_MESSAGES_MAX: usize = 1_000;

/// The endpoints of retained messages.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
{
    endpoints![Description; list, purge]
}

/// A page of retained messages.
#[derive(Serialize, ToSchema)]
pub(crate) struct RetainedList {
    /// In order of their topics' bytes. A page may be short, or empty, and not be the last one.
    messages: Vec<RetainedView>,
    /// Where the next page begins: give it as `from`. Missing on the last page. A topic of more
    /// than a request's head carries, 16 KiB in percent-encoding, cannot be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A retained message, without its payload.
#[derive(Serialize, ToSchema)]
pub(crate) struct RetainedView {
    /// Its topic.
    #[schema(example = "uplink/seat-0042/state")]
    topic: String,
    /// The principal whose device set it, and whose quota it counts for; empty for anonymous
    /// devices. Missing for messages of the server's own, and of versions that did not keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<String>,
    /// Bytes of its payload.
    payload_bytes: u64,
    /// Bytes for which it counts in the bounds and quotas: topic, properties, payload and its
    /// entry.
    bytes: u64,
    /// The QoS that it was published with.
    #[schema(maximum = 2)]
    qos: u8,
    /// When it was set (RFC 3339). Missing for messages of versions that did not keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    set_at: Option<String>,
    /// When it expires (RFC 3339). Missing where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
}

impl RetainedView {
    fn of(report: RetainedReport) -> Self {
        Self {
            topic: report.topic,
            principal: report.principal,
            payload_bytes: report.payload_bytes,
            bytes: report.bytes,
            qos: report.qos,
            set_at: report.set_at.map(rfc3339::format),
            expires_at: report.expires_at.map(rfc3339::format),
        }
    }
}

/// How many retained messages were removed.
#[derive(Serialize, ToSchema)]
pub(crate) struct PurgedRetained {
    /// Messages that are gone, on disk too; with `dry_run` those that would be.
    removed: u64,
    /// Messages that are there still, because a shard was busy or its disk full: ask again.
    refused: u64,
    /// Where the next part begins: give it as `from`. Missing where nothing is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Retained messages in order of their topics, without their payloads.
#[utoipa::path(get, operation_id = "list_retained_messages", path = "/api/retained", tag = "Retained messages",
    extensions(("x-right" = json!("retained.read"))),
    params(("filter" = Option<String>, Query, description = "Only topics that match this topic filter. `#` matches no topic that begins with `$`."),
           ("principal" = Option<String>, Query, description = "Only messages that devices of this principal set; empty for anonymous devices."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Messages on the page; 100 by default."),
           ("from" = Option<String>, Query, description = "Only this topic and those behind it: `next` of the page before.")),
    responses((status = 200, description = "A page of retained messages.", body = RetainedList),
              (status = 400, description = "`HTTP-017`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 431, description = "The path, the query and the headers have more than 16 KiB; without a body."),
              (status = 504, description = "`HTTP-018`", body = ProblemSchema)))]
pub(crate) async fn list(
    _: Caller,
    State(app): State<Arc<App>>,
    uri: Uri,
) -> Result<Json<RetainedList>, Problem> {
    let query = Query::read(&uri, &["filter", "principal", "limit", "from"])?;
    let page = app.fleet.retained(asked(&query, PAGE_MESSAGES_DEFAULT)?).await.map_err(problem)?;
    let messages = page.messages.into_iter().map(RetainedView::of).collect();
    Ok(Json(RetainedList { messages, next: page.next }))
}

/// Removes up to 1,000 retained messages that match; subscribers are sent nothing. A large store is
/// emptied in several requests: each gives the `next` of the one before as `from`, until there is
/// none. One that was cut off is sent again: a removed message is not counted twice.
#[utoipa::path(delete, operation_id = "purge_retained_messages", path = "/api/retained", tag = "Retained messages",
    extensions(("x-right" = json!("retained.manage"))),
    params(("filter" = Option<String>, Query, description = "Only topics that match this topic filter. One of `filter` and `principal` is needed; where both are given, both hold."),
           ("principal" = Option<String>, Query, description = "Only messages that devices of this principal set; empty for anonymous devices."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Messages removed at most; 1000 by default."),
           ("from" = Option<String>, Query, description = "Only this topic and those behind it: `next` of the answer before."),
           ("dry_run" = Option<bool>, Query, description = "`true`: count them, remove nothing.")),
    responses((status = 200, description = "How many are removed, and whether there may be more.", body = PurgedRetained),
              (status = 400, description = "`HTTP-017`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 431, description = "The path, the query and the headers have more than 16 KiB; without a body."),
              (status = 504, description = "`HTTP-018`: they may have been removed", body = ProblemSchema)))]
pub(crate) async fn purge(
    caller: Caller,
    State(app): State<Arc<App>>,
    uri: Uri,
) -> Result<Json<PurgedRetained>, Problem> {
    let query = Query::read(&uri, &["filter", "principal", "limit", "from", "dry_run"])?;
    let mode = query.one_of("dry_run", &[("false", PurgeMode::Remove), ("true", PurgeMode::DryRun)])?;
    let asked = asked(&query, PAGE_MESSAGES_MAX)?;
    if asked.filter.is_none() && asked.principal.is_none() {
        let detail = "say which messages: `filter`, `principal` or both; filter=# means all topics \
                      that do not begin with `$`";
        return Err(wrong("filter", detail.to_owned()));
    }
    let (filter, principal) = (asked.filter.clone(), asked.principal.clone());
    let purged = app.fleet.purge_retained(asked, mode).await.map_err(problem)?;
    if mode == PurgeMode::Remove {
        let (removed, refused) = (purged.removed, purged.refused);
        tracing::info!(
            ?filter,
            ?principal,
            removed,
            refused,
            by = caller.key_id(),
            "Retained messages removed"
        );
    }
    Ok(Json(PurgedRetained { removed: purged.removed, refused: purged.refused, next: purged.next }))
}

fn asked(query: &Query, limit_default: usize) -> Result<RetainedQuery, Problem> {
    let text = |name: &str| query.value(name).map(str::to_owned);
    Ok(RetainedQuery {
        filter: text("filter"),
        principal: text("principal"),
        from: text("from"),
        limit: query.limit(limit_default, PAGE_MESSAGES_MAX)?,
    })
}

fn problem(error: NoRetained) -> Problem {
    match error {
        NoRetained::Filter(why) => wrong("filter", format!("`filter` is no topic filter: {why}")),
        NoRetained::Refused(refusal) => refusal.into(),
    }
}
