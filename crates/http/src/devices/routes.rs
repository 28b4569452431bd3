//! The endpoints of devices.

use std::sync::Arc;

use axum::extract::FromRef;
use utoipa_axum::router::OpenApiRouter;

use crate::devices::description::Description;
use crate::request::app::App;
use crate::request::endpoints::endpoints;

pub(crate) mod connections;
pub(crate) mod credentials;
pub(crate) mod files;
pub(crate) mod registered;
pub(crate) mod traces;

/// The endpoints of devices.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
{
    endpoints![
        Description;
        connections::list,
        connections::show,
        connections::kick,
        registered::list,
        registered::show,
        registered::change_several,
        registered::replace,
        registered::change,
        registered::remove,
        registered::remove_several,
        files::import,
        files::export,
        credentials::issue,
        credentials::withdraw,
        credentials::revoke,
        credentials::restore,
        traces::events,
    ]
}
