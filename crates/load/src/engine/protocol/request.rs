//! A step's request, put together: its templates filled in, the target's headers and those of the protocol beside them.
//!
//! HTTP/1.1, HTTP/2, event streams and the upgrade to WebSocket all begin with one.

use smallvec::SmallVec;
use stadium_http_client::{Header, Request};
use stadium_scenario::program::{Http, Scheme};
use stadium_scenario::scope::Scope;
use stadium_scenario::template::Template;

use super::talk::Ask;
use crate::engine::cookies::{Cookies, Place};
use crate::engine::planned::PlannedTarget;
use crate::engine::reply::Failure;

/// What the load lab calls itself.
const USER_AGENT: &str = concat!("stadium-load/", env!("CARGO_PKG_VERSION"));

/// A request before its templates are filled in.
pub(crate) struct Draft<'a> {
    pub(crate) method: &'a str,
    pub(crate) scheme: &'a str,
    pub(crate) authority: &'a str,
    /// The target's path, put before the step's.
    pub(crate) base: &'a str,
    pub(crate) path: &'a Template,
    pub(crate) headers: &'a [(String, Template)],
    /// Those of the user, where the target has them kept.
    pub(crate) cookies: Option<&'a Cookies>,
    /// Whose cookies go along.
    pub(crate) host: &'a str,
    /// The target's own.
    pub(crate) target_headers: &'a [(String, Template)],
    /// Headers of the protocol; they replace the scenario's headers of the same name.
    pub(crate) protocol_headers: &'a [Header<'a>],
    pub(crate) body: Option<&'a Template>,
}

impl<'a> Draft<'a> {
    /// That of a step of HTTP.
    pub(crate) fn of(request: &'a Http, ask: &Ask<'a>) -> Self {
        Draft {
            method: &request.method,
            scheme: scheme(ask.target),
            authority: &ask.target.authority,
            base: ask.path,
            path: &request.path,
            headers: &request.headers,
            cookies: ask.cookies,
            host: &ask.target.host,
            target_headers: ask.headers,
            protocol_headers: &[],
            body: request.body.as_ref(),
        }
    }

    /// Whether the scenario has something under this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers.iter().chain(self.target_headers).any(|(known, _)| known.eq_ignore_ascii_case(name))
    }
}

/// The value of `:scheme` in HTTP/2.
pub(crate) fn scheme(target: &PlannedTarget) -> &'static str {
    if target.scheme == Scheme::Https { "https" } else { "http" }
}

thread_local! {
    /// Where templates are written before they are put together.
    static SPACE: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Fills in a request's templates and gives it to `send`.
pub(crate) fn with_request<R>(
    draft: &Draft<'_>,
    scope: &mut Scope<'_>,
    send: impl FnOnce(&Request<'_>) -> R,
) -> Result<R, Failure> {
    SPACE.with_borrow_mut(|space| {
        space.clear();
        space.extend_from_slice(draft.base.as_bytes());
        draft.path.write(scope, space);
        let target_end = space.len();
        let mut values: SmallVec<[(&str, usize, usize); 12]> = SmallVec::new();
        let ours =
            |name: &str| draft.protocol_headers.iter().any(|header| header.name.eq_ignore_ascii_case(name));
        for (name, value) in draft.headers.iter().chain(draft.target_headers) {
            if ours(name) {
                continue;
            }
            let start = space.len();
            value.write(scope, space);
            values.push((name, start, space.len()));
        }
        if let Some(cookies) = draft.cookies.filter(|cookies| !cookies.is_empty() && !draft.has("cookie")) {
            let path = std::str::from_utf8(&space[..target_end]).ok().filter(|path| !path.is_empty());
            let path = path.unwrap_or("/");
            let secured = draft.scheme == "https";
            let chosen = cookies.of(&Place { host: draft.host, path, secured, wall_ms: scope.wall_ms });
            let start = space.len();
            cookies.write(chosen, space);
            if space.len() > start {
                values.push(("Cookie", start, space.len()));
            }
        }
        let body_start = space.len();
        if let Some(body) = draft.body {
            body.write(scope, space);
        }
        let target = std::str::from_utf8(&space[..target_end])
            .map_err(|_| Failure::from("not sent: the path is not text"))?;
        let mut headers: SmallVec<[Header<'_>; 18]> =
            values.iter().map(|&(name, start, end)| Header { name, value: &space[start..end] }).collect();
        headers.extend_from_slice(draft.protocol_headers);
        if !draft.has("user-agent") {
            headers.push(Header { name: "User-Agent", value: USER_AGENT.as_bytes() });
        }
        Ok(send(&Request {
            method: draft.method,
            scheme: draft.scheme,
            authority: draft.authority,
            target: if target.is_empty() { "/" } else { target },
            headers: &headers,
            body: &space[body_start..],
        }))
    })
}
