//! The endpoints of all features, for the router and for the API's description.
use utoipa_axum::router::OpenApiRouter;

use crate::port::Port;
use crate::{apps, audiences, devices, keys, live, metrics, push, queue, wallet, webpush};

/// All of them, in the order in which the description has their tags.
pub(crate) fn endpoints() -> OpenApiRouter<Port> {
    push::routes::endpoints()
        .merge(apps::routes::endpoints())
        .merge(audiences::routes::endpoints())
        .merge(webpush::routes::endpoints())
        .merge(devices::routes::endpoints())
        .merge(queue::routes::endpoints())
        .merge(wallet::routes::endpoints())
        .merge(keys::routes::endpoints())
        .merge(live::routes::endpoints())
        .merge(metrics::routes::endpoints())
}
