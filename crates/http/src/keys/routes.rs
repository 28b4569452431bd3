//! API keys over the API: list, make, rotate, revoke, explain.
//!
//! A secret is shown once, when it is made.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{FromRef, Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use stadium_grants::{Grant, Invalid};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;

use crate::key_store::{Error, Key, NewKey, Used};
use crate::keys::description::Description;
use crate::keys::words::{GrantText, RoleWord};
use crate::keys::{audit, explain};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::{read_json, read_json_or_default};
use crate::request::endpoints::endpoints;
use crate::request::problem::{
    API_KEY_UNKNOWN, FIELD_WRONG, KEYS_AWAY, KEYS_FULL, KEYS_NOT_WRITTEN, LAST_ADMIN, Problem, ProblemSchema,
    TIMED_OUT,
};
use crate::request::query::Name;
use crate::rfc3339;
use crate::shared_documents::NotChanged;

/// The endpoints of API keys and of the audit log.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
{
    endpoints![
        Description;
        list,
        create,
        rotate,
        revoke,
        explain::explain,
        audit::list,
    ]
}

/// A key, without its secret.
#[derive(Serialize, ToSchema)]
pub(crate) struct KeyView {
    /// Names the key.
    #[schema(example = "k_3f9a01c2d4e5")]
    id: String,
    /// The name that its owner gave it.
    name: String,
    /// The beginning of its secret, to recognise it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "sk_Zm9v")]
    prefix: Option<String>,
    /// Its roles.
    roles: Vec<RoleWord>,
    /// The apps that its roles are about; none for everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    apps: Option<Vec<String>>,
    /// Its grants beside those of its roles.
    #[schema(example = json!(["queue.put:votes*"]))]
    grants: Vec<String>,
    /// When it was made (RFC 3339).
    created_at: String,
    /// When it stops working (RFC 3339); none if it has no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// Until when the secret before its last rotation works (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    rotates_until: Option<String>,
    /// When it was used last (RFC 3339); none if it never was.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<String>,
    /// The address that used it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "192.0.2.7")]
    last_used_from: Option<String>,
}

impl KeyView {
    fn of(key: &Key, used: Option<Used>) -> Self {
        Self {
            id: key.id.clone(),
            name: key.name.clone(),
            prefix: key.prefix.clone(),
            roles: key.roles.iter().copied().map(RoleWord).collect(),
            apps: key.apps.clone(),
            grants: key.own_grants.clone(),
            created_at: rfc3339::format(key.created_at),
            expires_at: key.expires_at.map(rfc3339::format),
            rotates_until: key.rotates_until.map(rfc3339::format),
            last_used_at: used.map(|used| rfc3339::format(used.at)),
            last_used_from: used.and_then(|used| used.from).map(|address| address.to_string()),
        }
    }
}

/// All keys, oldest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct KeyList {
    keys: Vec<KeyView>,
}

/// A key to make. It has a role or a grant at least.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewKeyFields {
    /// Its name: 1 to 64 characters.
    #[schema(example = "campaign service")]
    name: String,
    /// Its roles.
    #[serde(default)]
    roles: Vec<RoleWord>,
    /// The apps that its roles are about. Without it they are about everything. Rights to queues,
    /// wallets and the node belong to no app: such a key holds them by grants.
    apps: Option<Vec<String>>,
    /// Grants beside those of its roles: `VERB:RESOURCE`, and a limit where there is one.
    #[serde(default)]
    #[schema(example = json!(["queue.put:votes* 100/s"]))]
    grants: Vec<GrantText>,
    /// Seconds for which it works. Without it, it has no end.
    #[schema(example = 2592000)]
    expires_in_s: Option<u64>,
}

impl NewKeyFields {
    fn check(self) -> Result<NewKey, Problem> {
        let mut grants = Vec::with_capacity(self.grants.len());
        for (index, GrantText(text)) in self.grants.iter().enumerate() {
            let grant: Result<Grant, _> = text.parse();
            let wrong =
                |error: Invalid| Problem::new(FIELD_WRONG, error.to_string()).at(format!("grants[{index}]"));
            grants.push(grant.map_err(wrong)?);
        }
        Ok(NewKey {
            name: self.name,
            roles: self.roles.into_iter().map(|RoleWord(role)| role).collect(),
            apps: self.apps,
            grants,
            expires_in: self.expires_in_s.map(Duration::from_secs),
        })
    }
}

/// A key that was just made or rotated.
#[derive(Serialize, ToSchema)]
pub(crate) struct CreatedKeyView {
    /// The key.
    key: KeyView,
    /// The text behind `Authorization: Bearer`. It cannot be seen again.
    #[schema(example = "sk_Zm9vYmFyYmF6cXV4...")]
    secret: String,
}

/// How a secret is replaced.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RotateFields {
    /// Seconds for which the secret before works still: 86,400 by default, 30 days at most.
    overlap_s: Option<u64>,
}

/// Seconds for which a secret that was replaced works, unless the caller asks for another time.
const OVERLAP_S: u64 = 86_400;

/// Seconds for which a secret that was replaced works at most.
const OVERLAP_S_MAX: u64 = 30 * 86_400;

/// The pause before another try while the keys of a cluster cannot be changed.
const RETRY: Duration = Duration::from_secs(2);

/// The API keys, without their secrets.
#[utoipa::path(get, operation_id = "list_keys", path = "/api/keys", tag = "API keys",
    extensions(("x-right" = json!("keys.manage"))),
    responses((status = 200, description = "The keys.", body = KeyList),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema)))]
pub(crate) async fn list(_: Caller, State(app): State<Arc<App>>) -> Json<KeyList> {
    let view = |key: &Arc<Key>| KeyView::of(key, app.keys.last_used(&key.id));
    Json(KeyList { keys: app.keys.list().iter().map(view).collect() })
}

/// Makes a key. Its secret is in this answer and nowhere else.
#[utoipa::path(post, operation_id = "create_key", path = "/api/keys", tag = "API keys",
    extensions(("x-right" = json!("keys.manage"))), request_body = NewKeyFields,
    responses((status = 201, description = "The key with its secret.", body = CreatedKeyView),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 409, description = "`HTTP-022`", body = ProblemSchema),
              (status = 422, description = "`HTTP-005`", body = ProblemSchema),
              (status = 503, description = "`HTTP-038`: nothing was changed", body = ProblemSchema),
              (status = 504, description = "`HTTP-018`: it may have been changed", body = ProblemSchema)))]
pub(crate) async fn create(
    caller: Caller,
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<impl IntoResponse, Problem> {
    let (fields, _): (NewKeyFields, _) = read_json(&app, request).await?;
    let new = fields.check()?;
    let keys = Arc::clone(&app.keys);
    let created = blocking(move || keys.create(&new)).await?;
    let roles = created.key.roles_in_words();
    tracing::info!(key = created.key.id, roles, by = caller.key_id(), "API key made");
    let view = CreatedKeyView { key: KeyView::of(&created.key, None), secret: created.secret };
    Ok((StatusCode::CREATED, Json(view)))
}

/// Gives a key another secret. The one before works for a time still, so that its users can change.
#[utoipa::path(post, operation_id = "rotate_key", path = "/api/keys/{id}/rotate", tag = "API keys",
    extensions(("x-right" = json!("keys.manage"))), request_body = Option<RotateFields>,
    params(("id" = String, Path, description = "The key's id.")),
    responses((status = 200, description = "The key with its secret.", body = CreatedKeyView),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 404, description = "`HTTP-020`", body = ProblemSchema),
              (status = 422, description = "`HTTP-005`", body = ProblemSchema),
              (status = 503, description = "`HTTP-038`: nothing was changed", body = ProblemSchema),
              (status = 504, description = "`HTTP-018`: it may have been changed", body = ProblemSchema)))]
pub(crate) async fn rotate(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(id): Name,
    request: Request,
) -> Result<Json<CreatedKeyView>, Problem> {
    let fields: RotateFields = read_json_or_default(&app, request).await?;
    let overlap_s = fields.overlap_s.unwrap_or(OVERLAP_S);
    if overlap_s > OVERLAP_S_MAX {
        let detail = format!("`overlap_s` is at most {OVERLAP_S_MAX}");
        return Err(Problem::new(FIELD_WRONG, detail).at("overlap_s"));
    }
    let keys = Arc::clone(&app.keys);
    let rotated = blocking(move || keys.rotate(&id, Duration::from_secs(overlap_s))).await?;
    tracing::info!(key = rotated.key.id, overlap_s, by = caller.key_id(), "API key rotated");
    let used = app.keys.last_used(&rotated.key.id);
    Ok(Json(CreatedKeyView { key: KeyView::of(&rotated.key, used), secret: rotated.secret }))
}

/// Takes a key away; it stops working at once.
#[utoipa::path(delete, operation_id = "revoke_key", path = "/api/keys/{id}", tag = "API keys",
    extensions(("x-right" = json!("keys.manage"))),
    params(("id" = String, Path, description = "The key's id.")),
    responses((status = 204, description = "It no longer works."),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 404, description = "`HTTP-020`", body = ProblemSchema),
              (status = 409, description = "`HTTP-021`", body = ProblemSchema),
              (status = 503, description = "`HTTP-038`: nothing was changed", body = ProblemSchema),
              (status = 504, description = "`HTTP-018`: it may have been changed", body = ProblemSchema)))]
pub(crate) async fn revoke(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(id): Name,
) -> Result<StatusCode, Problem> {
    let keys = Arc::clone(&app.keys);
    let revoked = blocking(move || keys.revoke(&id)).await?;
    tracing::info!(key = revoked.id, by = caller.key_id(), "API key revoked");
    Ok(StatusCode::NO_CONTENT)
}

/// Runs a change of the keys, which waits for the disk, beside the runtime.
async fn blocking<T: Send + 'static>(
    change: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Problem> {
    let changed = tokio::task::spawn_blocking(change).await;
    let changed = changed.map_err(|error| Problem::new(KEYS_NOT_WRITTEN, error.to_string()))?;
    changed.map_err(|error| {
        let detail = error.to_string();
        match error {
            Error::Io { .. } | Error::Format { .. } => Problem::new(KEYS_NOT_WRITTEN, detail),
            Error::Shared(NotChanged::Away(_)) => Problem::new(KEYS_AWAY, detail).retry_after(RETRY),
            Error::Shared(NotChanged::Unknown(_)) => Problem::new(TIMED_OUT, detail),
            Error::Shared(NotChanged::TooLarge(_)) => Problem::new(FIELD_WRONG, detail),
            Error::Name => Problem::new(FIELD_WRONG, detail).at("name"),
            Error::Rights(_) => Problem::new(FIELD_WRONG, detail),
            Error::Full => Problem::new(KEYS_FULL, detail),
            Error::Unknown => Problem::new(API_KEY_UNKNOWN, detail),
            Error::LastAdmin => Problem::new(LAST_ADMIN, detail),
        }
    })
}
