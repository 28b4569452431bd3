//! The live view as server-sent events, and the history of the last hours.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{FromRef, State};
use axum::http::Uri;
use axum::response::sse::{self, KeepAlive, Sse};
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::{Stream, StreamExt};
use utoipa_axum::router::OpenApiRouter;

use crate::live::broadcast::{Event, Live, View};
use crate::live::description::Description;
use crate::live::health;
use crate::live::history::{History, HistorySpan, HistoryView};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::endpoints::endpoints;
use crate::request::problem::{Problem, ProblemSchema};
use crate::request::query::Query;

/// The endpoints of the live view and of health.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
    Arc<Live>: FromRef<S>,
    Arc<History>: FromRef<S>,
{
    endpoints![
        Description;
        events,
        history,
        health::healthz,
        health::readyz,
    ]
}

/// What the fleet does, as it happens.
///
/// Server-sent events: `history` once (two minutes of points), then `sample` each second, and
/// `push` whenever the newest push came further. A slow reader misses events and gets later ones.
#[utoipa::path(get, operation_id = "live", path = "/api/live", tag = "Operating",
    extensions(("x-right" = json!("node.read"))),
    responses((status = 200, description = "Events as text. The data of `history` is a list of `Point`, of `sample` a `Sample`, of `push` a `PushView`.",
               body = String, content_type = "text/event-stream"),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 503, description = "`HTTP-014`, `HTTP-019`", body = ProblemSchema)))]
pub(crate) async fn events(
    _: Caller,
    State(app): State<Arc<App>>,
    State(live): State<Arc<Live>>,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, Problem> {
    let place = app.views.place()?;
    let View { first, events } = live.join()?;
    // A view that lies too far behind gets the next event that is still there.
    let later = BroadcastStream::new(events).filter_map(Result::ok);
    let all = tokio_stream::iter(first).chain(later).map(move |event: Event| {
        let _held_while_the_stream_lives = &place;
        Ok(sse::Event::default().event(event.name).data(&*event.data))
    });
    Ok(Sse::new(all).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}

/// The fleet over the last hour or the last day.
///
/// `hour` has a point every 10 seconds, `day` one every minute. They are kept in this process: a
/// restart begins anew.
#[utoipa::path(get, operation_id = "history", path = "/api/history", tag = "Operating",
    extensions(("x-right" = json!("node.read"))),
    params(("span" = Option<String>, Query, description = "`hour` or `day`; `hour` by default.")),
    responses((status = 200, description = "The points, the oldest first.", body = HistoryView),
              (status = 400, description = "`HTTP-017`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema)))]
pub(crate) async fn history(
    _: Caller,
    State(history): State<Arc<History>>,
    uri: Uri,
) -> Result<Json<HistoryView>, Problem> {
    let query = Query::read(&uri, &["span"])?;
    let span = query.one_of("span", &[("hour", HistorySpan::Hour), ("day", HistorySpan::Day)])?;
    Ok(Json(history.view(span)))
}
