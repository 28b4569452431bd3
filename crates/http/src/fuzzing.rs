//! The fuzz body for requests: paths, queries, headers and bodies of every route, without a socket.
//!
//! The target `http_bodies` of fuzz/ calls it through the feature `fuzzing`; the tests below run it
//! on stable with a fixed seed. Requests go through the real router, with an admin key or, where a
//! device asks, its token, and a fleet in memory. There are no shards: where a handler would hand
//! an understood request to them, the answer is `HTTP-026`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, header};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

use crate::config::Config;
use crate::fleet::memory::MemoryFleet;
use crate::me::tokens::{Claims, DeviceTokens};
use crate::request::problem::CODES;
use crate::{openapi, router};
use stadium_push::live::ClientId;
use stadium_registry::{AppName, DeviceId};

/// Bytes of an error's document at most: it names a value of the request and adds a sentence.
const PROBLEM_BYTES_MAX: usize = 64 * 1024;

/// The port without its listener.
struct Port {
    runtime: Runtime,
    router: Router,
    /// The header with the admin key.
    bearer: String,
    fleet: Arc<MemoryFleet>,
    tokens: Arc<DeviceTokens>,
    /// Devices that have asked for themselves.
    devices: AtomicU64,
    operations: Vec<Operation>,
    _data: TempDir,
}

/// One operation of the API's description.
struct Operation {
    method: String,
    /// The path, with the parameters in braces.
    path: String,
}

impl Operation {
    /// All of them, in the description's order.
    fn all() -> Vec<Self> {
        let api: Value = serde_json::from_str(&openapi::description("fuzz")).expect("our own JSON");
        let paths = api["paths"].as_object().expect("the description has paths");
        let operations = paths.iter().flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("a path has methods");
            methods.keys().map(move |method| Self { method: method.to_uppercase(), path: path.clone() })
        });
        operations.collect()
    }

    /// The path with these parameters; the last one stands for those that are missing.
    fn path(&self, parameters: &str) -> String {
        let mut parameters = parameters.split('/');
        let mut last = "";
        let mut path = String::new();
        for part in self.path.split('/').skip(1) {
            path.push('/');
            if part.starts_with('{') {
                last = parameters.next().unwrap_or(last);
                path.push_str(last);
            } else {
                path.push_str(part);
            }
        }
        path
    }
}

impl Port {
    /// A token of a device that has not asked before: the rate of one device is small.
    fn own_bearer(&self) -> String {
        let device = DeviceId::new(&format!("d{}", self.devices.fetch_add(1, Ordering::Relaxed)));
        let device = device.expect("letters and digits are a name");
        let claims = Claims { app: AppName::default(), device, expires_at_s: u64::MAX };
        format!("Bearer {}", self.tokens.sign(&claims))
    }
}

fn port() -> &'static Port {
    static PORT: OnceLock<Port> = OnceLock::new();
    PORT.get_or_init(|| {
        let data = tempfile::tempdir().expect("a temporary directory");
        let config = Config::new(([127, 0, 0, 1], 0).into(), data.path());
        let fleet = Arc::new(MemoryFleet::new());
        let shared = crate::port::Port::open(config, Arc::clone(&fleet) as _).expect("keys are made");
        let router = router::router(&shared);
        let secret = std::fs::read_to_string(data.path().join("admin.key")).expect("it was made");
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime without I/O");
        let (bearer, operations) = (format!("Bearer {}", secret.trim()), Operation::all());
        let (tokens, devices) = (shared.part(), AtomicU64::new(0));
        Port { runtime, router, bearer, fleet, tokens, devices, operations, _data: data }
    })
}

/// Reads `data` as a request and answers it. Returns whether its handler understood it.
///
/// ```text
/// byte        which operation of the description; beyond them GET of any path
/// text        values of the path's parameters, with / between them, then ? and the query
/// \n          headers, one a line
/// \n\n        the body
/// ```
pub fn http_bodies(data: &[u8]) -> bool {
    let Some((&which, rest)) = data.split_first() else { return false };
    let end = rest.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = end.map_or((rest, &[][..]), |end| (&rest[..end], &rest[end + 2..]));
    let Ok(head) = std::str::from_utf8(head) else { return false };
    let mut lines = head.split('\n');
    let target = lines.next().unwrap_or_default();
    let (parameters, query) = target.split_once('?').unwrap_or((target, ""));

    let port = port();
    // A request before this one may have cut its connection.
    port.fleet.connect(&ClientId::new("a").expect("an id"), &["news"]);
    let (method, path) = match port.operations.get(usize::from(which)) {
        Some(operation) => (operation.method.as_str(), operation.path(parameters)),
        None => ("GET", format!("/{parameters}")),
    };
    let mut request = Request::builder().method(method).uri(format!("{path}?{query}"));
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        request = request.header(name, value.trim_start());
    }
    let bearer = if path.starts_with("/api/me/") { port.own_bearer() } else { port.bearer.clone() };
    for (name, value) in [(header::AUTHORIZATION, bearer.as_str()), (header::HOST, "localhost")] {
        if request.headers_ref().is_some_and(|headers| !headers.contains_key(&name)) {
            request = request.header(name, value);
        }
    }
    // Bytes that are no request of HTTP are refused before the router.
    let Ok(request) = request.body(Body::from(body.to_vec())) else { return false };
    port.runtime.block_on(async {
        let response = port.router.clone().oneshot(request).await;
        understood(response.unwrap_or_else(|never| match never {})).await
    })
}

/// Whether the request was understood, by its answer. An error must be a problem with a known code.
async fn understood(response: Response<Body>) -> bool {
    let status = response.status().as_u16();
    if status < 400 {
        // The body may be a live view, which has no end.
        return true;
    }
    let kind = response.headers().get(header::CONTENT_TYPE).cloned();
    let body = to_bytes(response.into_body(), PROBLEM_BYTES_MAX).await.expect("an error is short");
    assert_eq!(kind.as_ref().map(|kind| kind.as_bytes()), Some(&b"application/problem+json"[..]), "{status}");
    let problem: Value = serde_json::from_slice(&body).expect("a problem is JSON");
    assert_eq!(problem["status"], status, "{problem}");
    let code = problem["code"].as_str().unwrap_or_default();
    let known = CODES.iter().find(|known| known.code == code);
    assert!(known.is_some() || !code.starts_with("HTTP-"), "nobody knows the code: {problem}");
    assert!(
        code.len() >= 7 && problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()),
        "{problem}"
    );
    // Nothing but a bound or a part that is not there may fail: no 500, no 504.
    assert!(matches!(status, 400..=499 | 501 | 503), "{problem}");
    code == "HTTP-026"
}

#[cfg(test)]
#[path = "../../../fuzz/src/damage.rs"]
mod damage;
#[cfg(test)]
#[path = "../../../fuzz/src/random.rs"]
mod random;
#[cfg(test)]
mod samples;

#[cfg(test)]
mod tests {
    use super::*;
    use damage::damaged_runs;
    use random::Random;

    /// Operations on what only this server names: a key, a push, a Web Push message or endpoint, by
    /// a signed token; those of a cluster, which it is not a part of; and rules, which a trial has not.
    const NOTHING_THERE: [&str; 11] = [
        "DELETE /api/erasures/nodes/{node}",
        "GET /api/cluster/shards",
        "DELETE /api/keys/{id}",
        "GET /api/keys/{id}/explain",
        "POST /api/keys/{id}/rotate",
        "GET /api/pushes/{id}",
        "PUT /api/rules",
        "DELETE /wp/m/{token}",
        "GET /wp/m/{token}",
        "GET /wp/{token}",
        "POST /wp/{token}",
    ];

    #[test]
    fn a_request_of_each_operation_is_understood() {
        let mut random = Random(1);
        let mut missing = Vec::new();
        for (which, operation) in port().operations.iter().enumerate() {
            let mut samples = (0..200).map(|_| samples::request(&mut random, which));
            let name = format!("{} {}", operation.method, operation.path);
            if !NOTHING_THERE.contains(&name.as_str()) && !samples.any(|sample| http_bodies(&sample)) {
                missing.push(name);
            }
        }
        assert!(missing.is_empty(), "no request was understood: {missing:#?}");
    }

    #[test]
    fn any_request_is_understood_or_refused_with_a_problem() {
        let mut random = Random(7);
        let operations = port().operations.len();
        let mut samples: Vec<_> =
            (0..operations * 8).map(|number| samples::request(&mut random, number % operations)).collect();
        samples.push(b"\xffassets/console.js".to_vec());
        samples.push(b"\xffdocs/errors/HTTP-001".to_vec());
        let taken = damaged_runs(&mut random, 20_000, &samples, http_bodies);
        assert!(taken > 1_000 && taken < 19_000, "{taken} of 20000 were understood");
    }
}
