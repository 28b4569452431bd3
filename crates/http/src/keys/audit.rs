//! Who changed what: the newest entries of the audit log. Admins only.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use serde::Serialize;
use utoipa::ToSchema;

use crate::audit_log::Entry;
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::problem::{AUDIT_NOT_READ, Problem, ProblemSchema};
use crate::request::query::Query;

/// Entries shown unless the caller asks for another number.
const ENTRIES_DEFAULT: usize = 100;

/// Entries shown at most.
const ENTRIES_MAX: usize = 10_000;

/// The newest changes that were made over the API, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct AuditEntries {
    entries: Vec<Entry>,
}

/// Changes that were made over the API and logins that were refused, newest first.
///
/// Jobs, leases and transfers are not in it: queues and wallets keep histories of their own. Of a
/// key's changes in a second, those beyond 100 are counted by route.
#[utoipa::path(get, operation_id = "list_audit", path = "/api/audit", tag = "Operating",
    extensions(("x-right" = json!("audit.read"))),
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 10000, description = "How many; 100 by default."),
           ("skip" = Option<u32>, Query, description = "Entries of the pages before."),
           ("outcome" = Option<String>, Query, description = "Only changes that were `made`, or `refused`; `all` by default."),
           ("search" = Option<String>, Query, description = "Only entries with this in their key, name, role, address, route, path or code, in any case. The newest 10,000 entries are looked through.")),
    responses((status = 200, description = "The entries.", body = AuditEntries),
              (status = 400, description = "`HTTP-017`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 500, description = "`HTTP-029`", body = ProblemSchema)))]
pub(crate) async fn list(
    _: Caller,
    State(app): State<Arc<App>>,
    uri: Uri,
) -> Result<Json<AuditEntries>, Problem> {
    let query = Query::read(&uri, &["limit", "skip", "outcome", "search"])?;
    let limit = query.limit(ENTRIES_DEFAULT, ENTRIES_MAX)?;
    let skip: usize = query.number("skip")?.unwrap_or(0);
    let search = query.value("search").unwrap_or_default().to_lowercase();
    let refused =
        query.one_of("outcome", &[("all", None), ("made", Some(false)), ("refused", Some(true))])?;
    // The entry that is searched for may be the oldest of those that are read.
    let read_max = if search.is_empty() && refused.is_none() {
        skip.saturating_add(limit).min(ENTRIES_MAX)
    } else {
        ENTRIES_MAX
    };
    let read = tokio::task::spawn_blocking(move || app.audit.newest(read_max)).await;
    let entries = read.map_err(std::io::Error::other).and_then(|entries| entries);
    let entries = entries.map_err(|error| Problem::new(AUDIT_NOT_READ, error.to_string()))?;
    let fits = |entry: &Entry| {
        refused.is_none_or(|refused| (entry.status >= 400) == refused)
            && (search.is_empty() || entry.mentions(&search))
    };
    Ok(Json(AuditEntries { entries: entries.into_iter().filter(fits).skip(skip).take(limit).collect() }))
}
