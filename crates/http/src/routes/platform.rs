//! The push platform's routes: `/api/apps` and what stands below an app.
//!
//! Looking takes any role. Registering devices, saving audiences, pushing and scheduling take one that may send; apps, removals,
//! credentials and revocation take an admin.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post, put};
use stadium_registry::AppName;

use crate::app::App;
use crate::platform::in_path;
use crate::problem::Problem;

pub(crate) mod apps;
pub(crate) mod audiences;
pub(crate) mod credentials;
pub(crate) mod deliveries;
pub(crate) mod devices;
pub(crate) mod files;
pub(crate) mod live_push;
pub(crate) mod pushes;
pub(crate) mod schedules;

/// The path whose request takes as long as its file.
pub(super) const IMPORT: &str = "/api/apps/{app}/devices/import";

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/apps", get(apps::list))
        .route("/api/apps/{app}", get(apps::show).put(apps::declare).delete(apps::remove))
        .route(
            "/api/apps/{app}/devices",
            get(devices::list).post(devices::change_several).delete(devices::remove_several),
        )
        .route(IMPORT, post(files::import))
        .route("/api/apps/{app}/devices/export", get(files::export))
        .route(
            "/api/apps/{app}/devices/{device}",
            get(devices::show).put(devices::replace).patch(devices::change).delete(devices::remove),
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
        .route("/api/apps/{app}/schedules", get(schedules::list))
        .route("/api/apps/{app}/schedules/{name}", put(schedules::set).delete(schedules::end))
        .route("/api/apps/{app}/schedules/{name}/pause", post(schedules::pause))
        .route("/api/apps/{app}/schedules/{name}/resume", post(schedules::resume))
}

/// An app's name out of the path.
fn app_name(text: &str) -> Result<AppName, Problem> {
    in_path("app", AppName::new(text))
}
