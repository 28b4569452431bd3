//! One push as it goes on, as server-sent events.
//!
//! A view takes one of the places of the live views and asks the shards twice a second; it ends by itself when nothing will happen to
//! the push any more, and when the server stops.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{self, KeepAlive, Sse};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

use crate::platform::app_name;
use crate::platform::problems::PlatformLookProblems;
use crate::push::routes::pushes::{find, known_id};
use crate::push::views::{Shown, is_over};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::problem::Problem;
use crate::request::query::Names;

/// How often the push is looked at.
const PERIOD: Duration = Duration::from_millis(500);

/// How a push goes on.
///
/// Server-sent events: `push` twice a second while something changes, the last one when it is settled or cancelled; then the
/// stream ends.
#[utoipa::path(get, operation_id = "live_push", path = "/api/apps/{app}/pushes/{push}/live", tag = "Push platform",
    extensions(("x-right" = json!(["push.read:{app}", "push.payload:{app}?"]))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("push" = String, Path, description = "The push.")),
    responses((status = 200, description = "Events as text; the data of `push` is a `PlatformPushReport`.", body = String, content_type = "text/event-stream"),
              PlatformLookProblems))]
pub(crate) async fn events(
    caller: Caller,
    State(app): State<Arc<App>>,
    Names(of, push): Names,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, Problem> {
    let (of, push) = (app_name(&of)?, known_id(&push)?);
    let place = app.views.place()?;
    let shown_to = Shown::one(&caller, &of);
    let mut view = find(&app, &of, push).await?;
    let (to, from) = mpsc::channel(1);
    let mut draining = app.draining.subscribe();
    tokio::spawn(async move {
        let _held_while_the_view_is_open = place;
        let mut ticks = tokio::time::interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut shown = String::new();
        loop {
            let report = view.report(shown_to);
            let data = serde_json::to_string(&report).expect("numbers, strings and lists always serialise");
            if data != shown {
                let event = sse::Event::default().event("push").data(&data);
                if to.send(Ok(event)).await.is_err() {
                    return;
                }
                shown = data;
            }
            if is_over(view.stage()) {
                return;
            }
            tokio::select! {
                _ = ticks.tick() => {}
                _ = draining.wait_for(|draining| *draining) => return,
                () = to.closed() => return,
            }
            // A shard that is busy or starts over is asked again.
            if let Ok(newer) = find(&app, &of, push).await {
                view = newer;
            }
        }
    });
    Ok(Sse::new(ReceiverStream::new(from)).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}
