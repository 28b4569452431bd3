//! Requests of the HTTP port by route and status: counted where they are answered, shown by
//! `/metrics`.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use parking_lot::Mutex;
use stadium_metrics::table::http;

use crate::fleet::Histogram;
use crate::metrics::encoder::{Encoder, buckets};

/// Requests answered since the start, by route and status. Its size is bounded by the routes and
/// the statuses they answer; paths of strangers count under one route.
#[derive(Default)]
pub(crate) struct Requests {
    by_answer: Mutex<BTreeMap<(Arc<str>, u16), Answered>>,
    /// `POST /api/push` and its like, by path: made once for each.
    labels: Mutex<HashMap<String, Labels>>,
}

/// What the methods of a path are called.
type Labels = Vec<(Method, Arc<str>)>;

#[derive(Clone, Default)]
struct Answered {
    count: u64,
    took: Histogram,
}

impl Requests {
    /// What metrics and log call a route: its method and its path, `other` for paths and methods of
    /// strangers.
    pub(crate) fn label(&self, method: &Method, path: Option<&str>) -> Arc<str> {
        const KNOWN: [Method; 6] =
            [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD];
        let Some(path) = path.filter(|_| KNOWN.contains(method)) else { return "other".into() };
        let mut labels = self.labels.lock();
        if !labels.contains_key(path) {
            labels.insert(path.to_owned(), Vec::new());
        }
        let of_path = labels.get_mut(path).expect("it is there now");
        if let Some((_, label)) = of_path.iter().find(|(known, _)| known == method) {
            return Arc::clone(label);
        }
        let label: Arc<str> = format!("{method} {path}").into();
        of_path.push((method.clone(), Arc::clone(&label)));
        label
    }

    pub(crate) fn answered(&self, route: Arc<str>, status: u16, took: Duration) {
        let mut by_answer = self.by_answer.lock();
        let answered = by_answer.entry((route, status)).or_default();
        answered.count += 1;
        answered.took.record(took);
    }
}

/// The series of them.
pub(crate) fn encode(to: &mut Encoder<'_>, requests: &Requests) -> fmt::Result {
    let by_answer = requests.by_answer.lock().clone();
    let mut family = to.family(http::HTTP_REQUESTS)?;
    for ((route, status), answered) in &by_answer {
        let labels = [("route", route.to_string()), ("status", status.to_string())];
        family.series(&labels, answered.count)?;
    }
    let mut by_route: BTreeMap<&str, Histogram> = BTreeMap::new();
    for ((route, _), answered) in &by_answer {
        by_route.entry(route).or_default().add(&answered.took);
    }
    let mut family = to.family(http::HTTP_REQUEST_DURATION)?;
    for (route, took) in by_route {
        family.histogram(&[("route", route)], &buckets(&took), took.sum_s)?;
    }
    Ok(())
}
