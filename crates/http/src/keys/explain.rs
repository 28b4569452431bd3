//! The explanation of a key: the grant that decides about a verb and a resource.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use serde::Serialize;
use stadium_grants::{Held, Verb};
use utoipa::ToSchema;

use crate::keys::words::VerbWord;
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::problem::{API_KEY_UNKNOWN, Problem, ProblemSchema};
use crate::request::query::{Name, Query, wrong};

/// The decision about a key, a verb and a resource.
#[derive(Serialize, ToSchema)]
pub(crate) struct Explanation {
    /// Whether the key may do it, limits aside.
    allowed: bool,
    /// The decision in words.
    #[schema(example = "allowed by `queue.put:votes*`, a grant of its own")]
    reason: String,
    /// The grant that decided; none of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<HeldGrant>,
    /// All grants of the key for this verb, those of its roles included.
    held: Vec<HeldGrant>,
}

/// A grant of a key.
#[derive(Serialize, ToSchema)]
pub(crate) struct HeldGrant {
    /// The grant, with its limit.
    #[schema(example = "queue.put:votes*")]
    grant: String,
    /// The role that it comes from; none of one of the key's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
}

impl HeldGrant {
    fn of(held: &Held) -> Self {
        let role = match held.source() {
            stadium_grants::Source::Role(role) => Some(role.word().to_owned()),
            stadium_grants::Source::Own => None,
        };
        Self { grant: held.grant().to_string(), role }
    }
}

/// Whether a key may do something, and the grant that decides.
#[utoipa::path(get, operation_id = "explain_key", path = "/api/keys/{id}/explain", tag = "API keys",
    extensions(("x-right" = json!("keys.manage"))),
    params(("id" = String, Path, description = "The key's id."),
           ("verb" = inline(VerbWord), Query, description = "The verb, such as `queue.put`."),
           ("resource" = Option<String>, Query, description = "The resource, such as `votes`; all of them by default.")),
    responses((status = 200, description = "The decision.", body = Explanation),
              (status = 400, description = "`HTTP-017`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 404, description = "`HTTP-020`", body = ProblemSchema)))]
pub(crate) async fn explain(
    _: Caller,
    State(app): State<Arc<App>>,
    Name(id): Name,
    uri: Uri,
) -> Result<Json<Explanation>, Problem> {
    let query = Query::read(&uri, &["verb", "resource"])?;
    let verb = query.value("verb").ok_or_else(|| wrong("verb", "say which verb".to_owned()))?;
    let verb: Verb =
        verb.parse().map_err(|error: stadium_grants::Invalid| wrong("verb", error.to_string()))?;
    let resource = query.value("resource").unwrap_or("*");
    let key = app.keys.list().into_iter().find(|key| key.id == id);
    let key = key.ok_or_else(|| Problem::new(API_KEY_UNKNOWN, "no API key has this id"))?;
    let found = key.grants.find(verb, resource);
    let reason = match found {
        Some(held) => format!("allowed by `{}`, {}", held.grant(), held.source()),
        None => format!("denied: none of its grants means `{verb}:{resource}`"),
    };
    Ok(Json(Explanation {
        allowed: found.is_some(),
        reason,
        by: found.map(HeldGrant::of),
        held: key.grants.of(verb).iter().map(HeldGrant::of).collect(),
    }))
}
