//! The endpoints of queues, jobs, leases and schedules.

use std::sync::Arc;

use axum::extract::FromRef;
use utoipa_axum::router::OpenApiRouter;

use crate::queue::description::Description;
use crate::queue::samples::Samples;
use crate::request::app::App;
use crate::request::endpoints::endpoints;

pub(crate) mod jobs;
pub(crate) mod leases;
pub(crate) mod live;
pub(crate) mod queues;
pub(crate) mod schedules;

/// The endpoints of queues, jobs, leases and schedules.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
    Arc<Samples>: FromRef<S>,
{
    endpoints![
        Description;
        queues::list,
        queues::show,
        queues::declare,
        queues::remove,
        queues::peek,
        queues::pause,
        queues::resume,
        queues::purge,
        queues::kick,
        queues::redrive,
        live::show,
        schedules::list,
        schedules::set,
        schedules::end,
        jobs::put,
        jobs::show,
        jobs::history,
        jobs::edit,
        jobs::delete,
        jobs::delete_several,
        leases::reserve,
        leases::settle,
        leases::settle_several,
        leases::release,
        leases::release_several,
        leases::extend,
        leases::extend_several,
        leases::bury,
        leases::bury_several,
        leases::forward,
    ]
}
