//! Something to do on a running server: flags that name it, questions of JSON, and pages of answers.

use clap::Args;
use serde_json::Value;

use crate::api::{Api, Ask, Method, Refused, encoded};
use crate::failure::Failure;
use crate::server::ServerFlags;
use crate::terminal::Terminal;

/// Items asked for in one request.
const PAGE: u64 = 1_000;

/// Something to do, and the server to do it on.
#[derive(Debug, Args)]
pub(crate) struct On<What: Args> {
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    server: ServerFlags,
}

impl<What: Args> On<What> {
    /// What to do.
    pub(crate) fn what(&self) -> &What {
        &self.what
    }

    /// Does it.
    pub(crate) fn run(
        self,
        does: impl FnOnce(&Api, What, &Terminal) -> Result<(), Failure>,
        terminal: &Terminal,
    ) -> Result<(), Failure> {
        does(&Api::open(&self.server)?, self.what, terminal)
    }
}

/// Asks without a body, or with one.
pub(crate) fn ask(api: &Api, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
    let text = body.map(ToString::to_string);
    Ok(api.ask(Ask { method, path, body: text.as_deref(), idempotency_key: None })?)
}

/// Which list to read, page by page.
pub(crate) struct Pages<'a> {
    /// Its path.
    pub(crate) path: &'a str,
    /// More of the query, each with an `&` before it.
    pub(crate) filter: &'a str,
    /// The field of an answer that holds the items.
    pub(crate) field: &'a str,
    /// What the query calls the place where a page begins: the `next` of the page before.
    pub(crate) from: &'a str,
    /// Items at most.
    pub(crate) limit: u64,
}

impl Pages<'_> {
    /// The items, and where the next page would begin.
    pub(crate) fn read(&self, api: &Api) -> Result<(Vec<Value>, Option<String>), Refused> {
        let mut found: Vec<Value> = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let wanted = self.limit.saturating_sub(found.len() as u64).min(PAGE);
            if wanted == 0 {
                return Ok((found, next));
            }
            let Self { path, filter, field, from, .. } = self;
            let place = next.map(|next| format!("&{from}={}", encoded(&next))).unwrap_or_default();
            let path = format!("{path}?limit={wanted}{filter}{place}");
            let ask = Ask { method: Method::Get, path: &path, body: None, idempotency_key: None };
            let mut page = api.ask(ask)?;
            if let Some(Value::Array(items)) = page.get_mut(*field).map(Value::take) {
                found.extend(items);
            }
            next = match page.get("next") {
                None | Some(Value::Null) => return Ok((found, None)),
                Some(Value::String(next)) => Some(next.clone()),
                Some(next) => Some(next.to_string()),
            };
        }
    }
}

/// Reports where a list goes on.
pub(crate) fn more(next: Option<&String>, limit: u64, terminal: &Terminal) {
    if next.is_some() {
        terminal.note(format_args!("there are more: raise --limit above {limit}"));
    }
}
