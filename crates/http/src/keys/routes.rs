//! API keys over the API: list, make, revoke. Admins only.
//!
//! All of it takes an admin. A secret is shown once, when its key is made.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRef, Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;

use crate::key_store::{Error, Key, Role};
use crate::keys::audit;
use crate::keys::description::Description;
use crate::request::access::Admin;
use crate::request::app::App;
use crate::request::body::read_json;
use crate::request::endpoints::endpoints;
use crate::request::problem::{
    API_KEY_UNKNOWN, FIELD_WRONG, KEYS_FULL, KEYS_NOT_WRITTEN, LAST_ADMIN, Problem, ProblemSchema,
};
use crate::request::query::Name;
use crate::rfc3339;

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
        revoke,
        audit::list,
    ]
}

/// A key, without its secret.
#[derive(Serialize, ToSchema)]
pub(crate) struct KeyView {
    /// Names the key.
    #[schema(example = "k_3f9a01c2d4e5")]
    id: String,
    /// What its owner called it.
    name: String,
    /// What it may do.
    role: Role,
    /// When it was made (RFC 3339).
    created_at: String,
}

impl KeyView {
    fn of(key: &Key) -> Self {
        let created_at = rfc3339::format(key.created_at);
        Self { id: key.id.clone(), name: key.name.clone(), role: key.role, created_at }
    }
}

/// All keys, oldest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct KeyList {
    keys: Vec<KeyView>,
}

/// A key to make.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewKey {
    /// What to call it: 1 to 64 characters.
    #[schema(example = "campaign service")]
    name: String,
    /// What it may do.
    role: Role,
}

/// A key that was just made.
#[derive(Serialize, ToSchema)]
pub(crate) struct CreatedKeyView {
    /// The key.
    key: KeyView,
    /// What goes behind `Authorization: Bearer`. It cannot be seen again.
    #[schema(example = "sk_Zm9vYmFyYmF6cXV4...")]
    secret: String,
}

/// The API keys, without their secrets.
#[utoipa::path(get, operation_id = "list_keys", path = "/api/keys", tag = "API keys",
    responses((status = 200, description = "The keys.", body = KeyList),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema)))]
pub(crate) async fn list(_: Admin, State(app): State<Arc<App>>) -> Json<KeyList> {
    Json(KeyList { keys: app.keys.list().iter().map(KeyView::of).collect() })
}

/// Makes a key. Its secret is in this answer and nowhere else.
#[utoipa::path(post, operation_id = "create_key", path = "/api/keys", tag = "API keys", request_body = NewKey,
    responses((status = 201, description = "The key with its secret.", body = CreatedKeyView),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 409, description = "`HTTP-022`", body = ProblemSchema),
              (status = 422, description = "`HTTP-005`", body = ProblemSchema)))]
pub(crate) async fn create(
    admin: Admin,
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<impl IntoResponse, Problem> {
    let (new, _): (NewKey, _) = read_json(&app, request).await?;
    let keys = Arc::clone(&app.keys);
    let created = blocking(move || keys.create(&new.name, new.role)).await?;
    tracing::info!(key = created.key.id, role = created.key.role.word(), by = admin.key_id, "API key made");
    let view = CreatedKeyView { key: KeyView::of(&created.key), secret: created.secret };
    Ok((StatusCode::CREATED, Json(view)))
}

/// Takes a key away; it stops working at once.
#[utoipa::path(delete, operation_id = "revoke_key", path = "/api/keys/{id}", tag = "API keys",
    params(("id" = String, Path, description = "The key's id.")),
    responses((status = 204, description = "It no longer works."),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 404, description = "`HTTP-020`", body = ProblemSchema),
              (status = 409, description = "`HTTP-021`", body = ProblemSchema)))]
pub(crate) async fn revoke(
    admin: Admin,
    State(app): State<Arc<App>>,
    Name(id): Name,
) -> Result<StatusCode, Problem> {
    let keys = Arc::clone(&app.keys);
    let revoked = blocking(move || keys.revoke(&id)).await?;
    tracing::info!(key = revoked.id, by = admin.key_id, "API key revoked");
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
            Error::Name => Problem::new(FIELD_WRONG, detail).at("name"),
            Error::Full => Problem::new(KEYS_FULL, detail),
            Error::Unknown => Problem::new(API_KEY_UNKNOWN, detail),
            Error::LastAdmin => Problem::new(LAST_ADMIN, detail),
        }
    })
}
