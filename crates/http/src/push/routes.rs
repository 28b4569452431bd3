//! The endpoints of pushes and of their schedules.

use std::sync::Arc;

use axum::extract::FromRef;
use parking_lot::Mutex;
use utoipa_axum::router::OpenApiRouter;

use crate::push::description::Description;
use crate::request::app::App;
use crate::request::endpoints::endpoints;
use crate::request::idempotency::Ids;

pub(crate) mod deliveries;
pub(crate) mod direct;
pub(crate) mod live;
pub(crate) mod pushes;
pub(crate) mod schedules;

/// The endpoints of pushes.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
    Arc<Mutex<Ids>>: FromRef<S>,
{
    endpoints![
        Description;
        direct::create,
        direct::list,
        direct::show,
        pushes::create,
        pushes::list,
        pushes::show,
        pushes::edit,
        pushes::cancel,
        live::events,
        deliveries::list,
        deliveries::trace,
        deliveries::opened,
        deliveries::clicked,
        schedules::list,
        schedules::set,
        schedules::end,
        schedules::pause,
        schedules::resume,
    ]
}
