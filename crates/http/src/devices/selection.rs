//! The registered devices that a query selects.

use serde_json::Value;
use stadium_registry::{Selector, UserName};

use crate::platform::mistake;
use crate::request::problem::Problem;
use crate::request::query::{Query, wrong};

/// What `audience` and `named_user` select together.
pub(crate) fn audience(query: &Query) -> Result<Option<Selector>, Problem> {
    let audience = query.value("audience").map(|text| selector("audience", text)).transpose()?;
    let user = query.value("named_user").map(UserName::new).transpose();
    let user = user.map_err(|error| wrong("named_user", error.to_string()))?.map(Selector::User);
    Ok(match (audience, user) {
        (Some(audience), Some(user)) => Some(Selector::And(vec![user, audience])),
        (audience, user) => audience.or(user),
    })
}

/// A selector as JSON in a query parameter.
fn selector(name: &str, text: &str) -> Result<Selector, Problem> {
    let json: Value = serde_json::from_str(text).map_err(|error| {
        crate::request::query::wrong(name, format!("`{name}` is a selector as JSON: {error}"))
    })?;
    Selector::parse(&json).map_err(|error| mistake(name, error))
}
