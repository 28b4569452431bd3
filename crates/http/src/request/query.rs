//! The query of a request's URL, read strictly: an unknown or repeated parameter is an error that
//! names it.

use std::collections::HashMap;
use std::str::FromStr;

use axum::extract::{FromRequestParts, MatchedPath, Path};
use axum::http::request::Parts;
use axum::http::{Method, Uri};
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::{OpenApi, RefOr};

use crate::request::problem::{PATH_UNKNOWN, Problem, QUERY_WRONG};

/// The one variable part of a path, percent-decoded.
pub(crate) struct Name(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let name = Path::from_request_parts(parts, state).await;
        name.map(|Path(name)| Self(name)).map_err(|error| Problem::new(PATH_UNKNOWN, error.to_string()))
    }
}

/// The two variable parts of a path, percent-decoded.
pub(crate) struct Names(pub(crate) String, pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Names {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let names = Path::from_request_parts(parts, state).await;
        names
            .map(|Path((first, second))| Self(first, second))
            .map_err(|error| Problem::new(PATH_UNKNOWN, error.to_string()))
    }
}

/// The three variable parts of a path, percent-decoded.
pub(crate) struct Three(pub(crate) String, pub(crate) String, pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Three {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let names = Path::from_request_parts(parts, state).await;
        names
            .map(|Path((first, second, third))| Self(first, second, third))
            .map_err(|error| Problem::new(PATH_UNKNOWN, error.to_string()))
    }
}

/// The query parameters that each change takes, by its method and its path: those of its
/// description.
pub(crate) struct Parameters(HashMap<(Method, String), Vec<String>>);

impl Parameters {
    /// Those of every operation of a description.
    pub(crate) fn of(api: &OpenApi) -> Self {
        let mut parameters = HashMap::new();
        for (path, item) in &api.paths.paths {
            let operations = [
                (Method::PUT, &item.put),
                (Method::POST, &item.post),
                (Method::PATCH, &item.patch),
                (Method::DELETE, &item.delete),
            ];
            for (method, operation) in operations {
                let Some(operation) = operation else { continue };
                // Each handler describes its own parameters: none refers to another place.
                let declared =
                    operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
                        RefOr::T(parameter) => Some(parameter),
                        RefOr::Ref(_) => None,
                    });
                let named = declared.filter(|parameter| parameter.parameter_in == ParameterIn::Query);
                let names = named.map(|parameter| parameter.name.clone()).collect();
                parameters.insert((method, path.clone()), names);
            }
        }
        Self(parameters)
    }

    /// Refuses a change with a parameter that its description does not have: it would be run as if
    /// the parameter were not there. `dry_run` is the one that matters.
    pub(crate) fn check(&self, request: &Parts) -> Result<(), Problem> {
        if request.uri.query().is_none() {
            return Ok(());
        }
        let Some(path) = request.extensions.get::<MatchedPath>() else { return Ok(()) };
        let known = self.0.get(&(request.method.clone(), path.as_str().to_owned()));
        let Some(known) = known else { return Ok(()) };
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        Query::read(&request.uri, &known).map(|_| ())
    }
}

/// The parameters of a request, each at most once, all of them known.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn read(uri: &Uri, known: &[&str]) -> Result<Self, Problem> {
        Self::read_lists(uri, known, &[])
    }

    /// As [`Self::read`], where some parameters may be given several times.
    pub(crate) fn read_lists(uri: &Uri, known: &[&str], lists: &[&str]) -> Result<Self, Problem> {
        let pairs: axum::extract::Query<Vec<(String, String)>> = axum::extract::Query::try_from_uri(uri)
            .map_err(|error| Problem::new(QUERY_WRONG, format!("the query cannot be read: {error}")))?;
        for (index, (name, _)) in pairs.0.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let detail = match known {
                    [] => format!("there is no parameter `{name}`: this takes none"),
                    _ => format!("there is no parameter `{name}`; there are: {}", known.join(", ")),
                };
                return Err(Problem::new(QUERY_WRONG, detail).at(name));
            }
            let is_list = lists.contains(&name.as_str());
            if !is_list && pairs.0[..index].iter().any(|(earlier, _)| earlier == name) {
                return Err(Problem::new(QUERY_WRONG, format!("`{name}` is given twice")).at(name));
            }
        }
        Ok(Self(pairs.0))
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// All values of a parameter that may be given several times.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// A parameter that is a whole number.
    pub(crate) fn number<N: FromStr>(&self, name: &str) -> Result<Option<N>, Problem> {
        let Some(text) = self.value(name) else { return Ok(None) };
        let wrong = |_| wrong(name, format!("`{name}` is a number, not {text:?}"));
        text.parse().map(Some).map_err(wrong)
    }

    /// A parameter that is one of several words; the first of them where it is not given.
    pub(crate) fn one_of<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<T, Problem> {
        let Some(given) = self.value(name) else { return Ok(words[0].1) };
        let found = words.iter().find(|(word, _)| *word == given);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            wrong(name, format!("`{name}` is one of {}, not {given:?}", words.join(", ")))
        })
    }

    /// The parameter `limit`: between 1 and `max`.
    pub(crate) fn limit(&self, default: usize, max: usize) -> Result<usize, Problem> {
        let Some(text) = self.value("limit") else { return Ok(default) };
        match text.parse() {
            Ok(limit @ 1..) if limit <= max => Ok(limit),
            _ => Err(wrong("limit", format!("`limit` is a number from 1 to {max}, not {text:?}"))),
        }
    }
}

pub(crate) fn wrong(name: &str, detail: String) -> Problem {
    Problem::new(QUERY_WRONG, detail).at(name)
}
