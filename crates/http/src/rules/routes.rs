//! The endpoints of the rules over topics: see them, replace them.
//!
//! A caller that read them before gives their `ETag` as `If-Match`, and so never undoes a change of
//! another one.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{FromRef, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;

use crate::fleet::{NewRules, NotSet, RulesReport};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::{bytes, read_json};
use crate::request::endpoints::endpoints;
use crate::request::problem::{
    BODY_NOT_JSON, FLEET_BUSY, Problem, ProblemSchema, RULES_CHANGED, RULES_FIXED, RULES_NOT_WRITTEN,
    RULES_WRONG,
};
use crate::rules::description::Description;
use crate::rules::fields::{RuleFields, RulesFields, RulesView};

/// The content type of a rules file.
const TOML: &str = "application/toml";

/// The endpoints of the rules.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
{
    endpoints![Description; show, set]
}

/// The rules over topics that are in force, with their `ETag`.
#[utoipa::path(get, operation_id = "rules", path = "/api/rules", tag = "Rules",
    extensions(("x-right" = json!("rules.read"))),
    responses((status = 200, description = "The rules.", body = RulesView,
               headers(("ETag" = String, description = "Names this state of the rules, for `If-Match`."))),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema)))]
pub(crate) async fn show(_: Caller, State(app): State<Arc<App>>) -> Response {
    answer(app.fleet.rules())
}

/// Replaces the rules over topics as a whole. They are on disk and in force when this answers:
/// subscriptions that they deny end. A body of `application/toml` is the text of a rules file, and
/// is kept with its comments.
#[utoipa::path(put, operation_id = "set_rules", path = "/api/rules", tag = "Rules",
    extensions(("x-right" = json!("rules.write"))), request_body = RulesFields,
    params(("If-Match" = Option<String>, Header, description = "The `ETag` of the rules that these replace; without it, whatever rules are in force.")),
    responses((status = 200, description = "They are in force.", body = RulesView,
               headers(("ETag" = String, description = "Names the new rules."))),
              (status = 400, description = "`HTTP-004`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 409, description = "`RULES-003`", body = ProblemSchema),
              (status = 412, description = "`RULES-001`", body = ProblemSchema),
              (status = 413, description = "`HTTP-007`", body = ProblemSchema),
              (status = 415, description = "`HTTP-006`", body = ProblemSchema),
              (status = 422, description = "`HTTP-005`, `RULES-002`", body = ProblemSchema),
              (status = 500, description = "`RULES-004`", body = ProblemSchema)))]
pub(crate) async fn set(
    caller: Caller,
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Response, Problem> {
    let expected = if_match(request.headers());
    let new = if is_toml(request.headers()) {
        let text = bytes(&app, request).await?;
        let text = std::str::from_utf8(&text)
            .map_err(|error| Problem::new(BODY_NOT_JSON, format!("the rules are no UTF-8 text: {error}")))?;
        NewRules::Text(text.to_owned())
    } else {
        let (fields, _): (RulesFields, _) = read_json(&app, request).await?;
        NewRules::List(fields.rules.into_iter().map(RuleFields::rule).collect())
    };
    let report = app.fleet.set_rules(new, expected).await.map_err(problem)?;
    tracing::info!(rules = report.rules.len(), by = caller.key_id(), "Rules over topics replaced");
    Ok(answer(report))
}

fn answer(report: RulesReport) -> Response {
    let tag = HeaderValue::from_str(&format!("\"{}\"", report.name));
    let mut response = Json(RulesView::of(report)).into_response();
    if let Ok(tag) = tag {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// The names in `If-Match` (RFC 9110, 13.1.1); none where any state will do.
fn if_match(headers: &HeaderMap) -> Option<Vec<String>> {
    let values: Vec<&str> =
        headers.get_all(header::IF_MATCH).iter().filter_map(|value| value.to_str().ok()).collect();
    let mut tags = values.iter().flat_map(|value| value.split(',')).map(str::trim);
    if !headers.contains_key(header::IF_MATCH) || tags.clone().any(|tag| tag == "*") {
        return None;
    }
    // A weak tag never matches there.
    let strong = tags.by_ref().filter_map(|tag| tag.strip_prefix('"')?.strip_suffix('"'));
    Some(strong.map(str::to_owned).collect())
}

fn is_toml(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(TOML)
}

fn problem(error: NotSet) -> Problem {
    match error {
        NotSet::Mistake(mistake) => {
            let problem = Problem::new(RULES_WRONG, mistake.words);
            match mistake.rule {
                Some(rule) => problem.at(format!("rules[{}]", rule - 1)),
                None => problem,
            }
        }
        NotSet::Changed(name) => {
            let detail =
                format!("`If-Match` names other rules than those in force, \"{name}\": read them again");
            Problem::new(RULES_CHANGED, detail)
        }
        NotSet::Fixed(why) => Problem::new(RULES_FIXED, why),
        NotSet::NotWritten(why) => Problem::new(RULES_NOT_WRITTEN, why),
        NotSet::Ending => Problem::new(FLEET_BUSY, "the server is ending; nothing was changed")
            .retry_after(Duration::from_secs(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_names_strong_tags() {
        for (given, expected) in [
            (&[][..], None),
            (&["*"][..], None),
            (&["\"a1\""][..], Some(vec!["a1"])),
            (&["\"a1\", \"b2\"", "\"c3\""][..], Some(vec!["a1", "b2", "c3"])),
            (&["W/\"a1\"", "a1"][..], Some(vec![])),
        ] {
            let mut headers = HeaderMap::new();
            for value in given {
                headers.append(header::IF_MATCH, HeaderValue::from_static(value));
            }
            let expected = expected.map(|tags| tags.into_iter().map(str::to_owned).collect());
            assert_eq!(if_match(&headers), expected, "{given:?}");
        }
    }
}
