//! The rights of the endpoints, read from the description: `x-right` of each operation.

use std::collections::HashMap;

use axum::http::Method;
use stadium_grants::Right;
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::{Operation, PathItem};

/// The field of an operation that names its rights: one, or a list.
pub(crate) const FIELD: &str = "x-right";

/// The rights of each endpoint, by its path and method.
pub(crate) struct Rights(HashMap<String, Vec<(Method, Vec<Right>)>>);

impl Rights {
    /// Those of every operation of a description.
    pub(crate) fn of_api(api: &OpenApi) -> Self {
        let paths = api.paths.paths.iter().map(|(path, item)| {
            let rights = operations(item).map(|(method, operation)| (method, rights(operation)));
            (path.clone(), rights.filter(|(_, rights)| !rights.is_empty()).collect())
        });
        Self(paths.collect())
    }

    /// Those of an endpoint; none where it names none.
    pub(crate) fn of(&self, method: &Method, path: &str) -> Option<&[Right]> {
        // A HEAD is answered by the handler of GET.
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        let (_, rights) = self.0.get(path)?.iter().find(|(known, _)| known == method)?;
        Some(rights)
    }
}

/// The operations of a path.
pub(crate) fn operations(item: &PathItem) -> impl Iterator<Item = (Method, &Operation)> {
    let all = [
        (Method::GET, &item.get),
        (Method::PUT, &item.put),
        (Method::POST, &item.post),
        (Method::PATCH, &item.patch),
        (Method::DELETE, &item.delete),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
}

/// The rights of an operation. A text that is no right counts for none: the endpoint stays closed,
/// and a test finds it.
pub(crate) fn rights(operation: &Operation) -> Vec<Right> {
    let field = operation.extensions.as_ref().and_then(|extensions| extensions.get(FIELD));
    let texts: Vec<&str> = match field {
        Some(serde_json::Value::String(text)) => vec![text],
        Some(serde_json::Value::Array(texts)) => texts.iter().filter_map(serde_json::Value::as_str).collect(),
        _ => Vec::new(),
    };
    let rights: Result<Vec<Right>, _> = texts.into_iter().map(str::parse).collect();
    rights.unwrap_or_default()
}
