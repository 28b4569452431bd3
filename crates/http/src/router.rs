//! Every path of the HTTP port, and what holds for all of them.
//!
//! Each answer is counted, has a time limit (live views apart) and the headers that a browser needs to be careful.
//! The API's description names the same paths; a test compares the two.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware;
use axum::response::Redirect;
use axum::routing::{delete, get, post, put};

use crate::apps::routes as apps;
use crate::audiences::routes as audiences;
use crate::devices::routes::{connections, credentials, files, registered, traces};
use crate::keys::{audit, routes as keys};
use crate::live::{health, routes as live};
use crate::metrics::routes as metrics;
use crate::push::direct::routes as direct;
use crate::push::routes::{deliveries, live as live_push, pushes, schedules as push_schedules};
use crate::queue::routes::{jobs, leases, live as live_queues, queues, schedules};
use crate::request::app::App;
use crate::request::problem::{METHOD_WRONG, PATH_UNKNOWN, Problem, WEBSOCKET_ELSEWHERE};
use crate::router::around::around;
use crate::router::port::Port;
use crate::wallet::routes::{accounts, entries, live as live_wallets, transfers};
use crate::webpush::routes as webpush;
use crate::{console, docs};

mod around;
pub(crate) mod port;

/// The router over the shared parts.
pub(crate) fn router(port: &Port) -> Router {
    Router::new()
        .route("/", get(|| async { Redirect::temporary("/live") }))
        .route("/api/push", post(direct::create))
        .route("/api/pushes", get(direct::list))
        .route("/api/pushes/{id}", get(direct::show))
        .route("/api/devices", get(connections::list))
        .route("/api/devices/{id}", get(connections::show))
        .route("/api/devices/{id}/connection", delete(connections::kick))
        .merge(about_queues())
        .merge(about_wallets())
        .merge(about_apps())
        .merge(about_webpush())
        .route("/api/audit", get(audit::list))
        .route("/api/keys", get(keys::list).post(keys::create))
        .route("/api/keys/{id}", delete(keys::revoke))
        .route("/api/live", get(live::events))
        .route("/api/trace", get(traces::events))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::metrics))
        .route("/openapi.json", get(docs::openapi))
        .route("/docs", get(docs::reference))
        .route("/docs/errors/{code}", get(docs::error))
        .route("/live", get(console::live))
        .route("/queues", get(console::queues))
        .route("/queues/{queue}", get(console::queues))
        .route("/pushes", get(console::pushes))
        .route("/pushes/{push}", get(console::pushes))
        .route("/devices", get(console::devices))
        .route("/devices/{device}", get(console::devices))
        .route("/audiences", get(console::audiences))
        .route("/compose", get(console::compose))
        .route("/schedules", get(console::schedules))
        .route("/wallets", get(console::wallets))
        .route("/wallets/{wallet}", get(console::wallets))
        .route("/assets/{file}", get(console::asset))
        .route("/mqtt", get(mqtt_elsewhere))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(port.part::<Arc<App>>().config.body_bytes_max))
        .layer(middleware::from_fn_with_state(port.clone(), around))
        .with_state(port.clone())
}

fn about_queues() -> Router<Port> {
    Router::new()
        .route("/api/queues", get(queues::list))
        .route("/api/live/queues", get(live_queues::show))
        .route("/api/queues/{queue}", get(queues::show).put(queues::declare).delete(queues::remove))
        .route("/api/queues/{queue}/jobs", get(queues::peek).post(jobs::put))
        .route("/api/queues/{queue}/reserve", post(leases::reserve))
        .route("/api/queues/{queue}/pause", post(queues::pause))
        .route("/api/queues/{queue}/resume", post(queues::resume))
        .route("/api/queues/{queue}/purge", post(queues::purge))
        .route("/api/queues/{queue}/kick", post(queues::kick))
        .route("/api/queues/{queue}/redrive", post(queues::redrive))
        .route("/api/queues/{queue}/schedules", get(schedules::list))
        .route("/api/queues/{queue}/schedules/{name}", put(schedules::set).delete(schedules::end))
        .route("/api/jobs/delete", post(jobs::delete_several))
        .route("/api/jobs/{job}", get(jobs::show).patch(jobs::edit).delete(jobs::delete))
        .route("/api/jobs/{job}/history", get(jobs::history))
        .route("/api/leases/settle", post(leases::settle_several))
        .route("/api/leases/release", post(leases::release_several))
        .route("/api/leases/extend", post(leases::extend_several))
        .route("/api/leases/bury", post(leases::bury_several))
        .route("/api/leases/{lease}/settle", post(leases::settle))
        .route("/api/leases/{lease}/release", post(leases::release))
        .route("/api/leases/{lease}/extend", post(leases::extend))
        .route("/api/leases/{lease}/bury", post(leases::bury))
        .route("/api/leases/{lease}/forward", post(leases::forward))
}

fn about_apps() -> Router<Port> {
    Router::new()
        .route("/api/apps", get(apps::list))
        .route("/api/apps/{app}", get(apps::show).put(apps::declare).delete(apps::remove))
        .route(
            "/api/apps/{app}/devices",
            get(registered::list).post(registered::change_several).delete(registered::remove_several),
        )
        .route("/api/apps/{app}/devices/import", post(files::import))
        .route("/api/apps/{app}/devices/export", get(files::export))
        .route(
            "/api/apps/{app}/devices/{device}",
            get(registered::show)
                .put(registered::replace)
                .patch(registered::change)
                .delete(registered::remove),
        )
        .route(
            "/api/apps/{app}/devices/{device}/credential",
            post(credentials::issue).delete(credentials::withdraw),
        )
        .route("/api/apps/{app}/devices/{device}/revoke", post(credentials::revoke))
        .route("/api/apps/{app}/devices/{device}/restore", post(credentials::restore))
        .route("/api/apps/{app}/audiences", get(audiences::list))
        .route("/api/apps/{app}/audiences/preview", post(audiences::preview))
        .route("/api/apps/{app}/audiences/{name}", put(audiences::save).delete(audiences::remove))
        .route(
            "/api/apps/{app}/lists/{name}/devices",
            put(audiences::add_to_list).delete(audiences::remove_from_list),
        )
        .route("/api/apps/{app}/pushes", get(pushes::list).post(pushes::create))
        .route("/api/apps/{app}/pushes/{push}", get(pushes::show).patch(pushes::edit))
        .route("/api/apps/{app}/pushes/{push}/cancel", post(pushes::cancel))
        .route("/api/apps/{app}/pushes/{push}/live", get(live_push::events))
        .route("/api/apps/{app}/pushes/{push}/deliveries", get(deliveries::list))
        .route("/api/apps/{app}/pushes/{push}/devices/{device}", get(deliveries::trace))
        .route("/api/apps/{app}/pushes/{push}/opened", post(deliveries::opened))
        .route("/api/apps/{app}/schedules", get(push_schedules::list))
        .route("/api/apps/{app}/schedules/{name}", put(push_schedules::set).delete(push_schedules::end))
        .route("/api/apps/{app}/schedules/{name}/pause", post(push_schedules::pause))
        .route("/api/apps/{app}/schedules/{name}/resume", post(push_schedules::resume))
}

fn about_wallets() -> Router<Port> {
    Router::new()
        .route("/api/assets", get(accounts::assets))
        .route("/api/assets/{asset}", put(accounts::declare))
        .route("/api/wallets", get(accounts::list).post(accounts::open))
        .route("/api/wallets/roots", get(entries::roots))
        .route("/api/wallets/{wallet}", get(accounts::show))
        .route("/api/wallets/{wallet}/holds", get(accounts::holds))
        .route("/api/wallets/{wallet}/{asset}", get(accounts::account).patch(accounts::change))
        .route("/api/wallets/{wallet}/{asset}/history", get(entries::history))
        .route("/api/wallets/{wallet}/{asset}/balance", get(entries::balance))
        .route("/api/wallets/{wallet}/{asset}/statement", get(entries::statement))
        .route("/api/live/wallets", get(live_wallets::show))
        .route("/api/transfers", post(transfers::create))
        .route("/api/transfers/batch", post(transfers::batch))
        .route("/api/transfers/{id}", get(transfers::show))
        .route("/api/transfers/{id}/capture", post(transfers::capture))
        .route("/api/transfers/{id}/void", post(transfers::void))
        .route("/api/transfers/{id}/reverse", post(transfers::reverse))
        .route("/api/together", post(transfers::together))
}

fn about_webpush() -> Router<Port> {
    Router::new()
        .route(
            "/api/apps/{app}/devices/{device}/webpush",
            get(webpush::list).post(webpush::subscribe).delete(webpush::unsubscribe_all),
        )
        .route("/api/apps/{app}/devices/{device}/webpush/{subscription}", delete(webpush::unsubscribe))
        .route("/wp/{token}", post(webpush::send).get(webpush::discover))
        .route("/wp/m/{token}", get(webpush::receipt).delete(webpush::cancel))
}

async fn unknown_path(request: Request) -> Problem {
    Problem::new(PATH_UNKNOWN, format!("nothing is at {}; /docs lists what there is", request.uri().path()))
}

async fn wrong_method(request: Request) -> Problem {
    let detail = format!("{} does not take {}", request.uri().path(), request.method());
    Problem::new(METHOD_WRONG, detail)
}

async fn mqtt_elsewhere() -> Problem {
    Problem::new(WEBSOCKET_ELSEWHERE, "use a plain HTTP port, or the edge's own WebSocket listener")
}
