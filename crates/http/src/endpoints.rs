//! The endpoints of all features, for the router and for the API's description.
//!
//! A feature that is not named here is not served.
use utoipa_axum::router::OpenApiRouter;

use crate::port::Port;
use crate::{
    about, apps, audiences, cluster, devices, keys, live, me, metrics, push, queue, retained, rules, topics,
    users, wallet, webpush,
};

/// All of them, in the order in which the description has their tags.
pub(crate) fn endpoints() -> OpenApiRouter<Port> {
    push::routes::endpoints()
        .merge(apps::routes::endpoints())
        .merge(audiences::routes::endpoints())
        .merge(webpush::routes::endpoints())
        .merge(devices::routes::endpoints())
        .merge(topics::routes::endpoints())
        .merge(retained::routes::endpoints())
        .merge(rules::routes::endpoints())
        .merge(me::routes::endpoints())
        .merge(queue::routes::endpoints())
        .merge(wallet::routes::endpoints())
        .merge(users::routes::endpoints())
        .merge(keys::routes::endpoints())
        .merge(live::routes::endpoints())
        .merge(about::routes::endpoints())
        .merge(cluster::routes::endpoints())
        .merge(metrics::routes::endpoints())
}

/// The rules that each feature lays over the description of its endpoints.
pub(crate) const RULES: [&str; 13] = [
    apps::description::RULES,
    audiences::description::RULES,
    cluster::description::RULES,
    devices::description::RULES,
    keys::description::RULES,
    me::description::RULES,
    push::description::RULES,
    queue::description::RULES,
    retained::description::RULES,
    topics::description::RULES,
    users::description::RULES,
    wallet::description::RULES,
    webpush::description::RULES,
];
