//! The endpoints of topics.

use std::sync::Arc;

use axum::extract::FromRef;
use utoipa_axum::router::OpenApiRouter;

use crate::request::app::App;
use crate::request::endpoints::endpoints;
use crate::topics::description::Description;
use crate::topics::publish;
pub(crate) use crate::topics::publish::PublishIds;
use crate::topics::stream::{self, StreamEnds};
use crate::topics::tickets::Tickets;

/// All of them.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
    Arc<PublishIds>: FromRef<S>,
    Arc<Tickets>: FromRef<S>,
    Arc<StreamEnds>: FromRef<S>,
{
    endpoints![Description; publish::one, publish::batch, publish::raw, stream::events, stream::ticket]
}
