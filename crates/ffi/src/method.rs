//! A method by its route, as bindings know it: nothing but text and two facts.

use stadium_rpc::{Idempotency, Interaction};

use crate::error::Error;

/// A method that is called or served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodId {
    route: String,
    /// How its messages go.
    pub interaction: Interaction,
    /// Whether it may be called twice.
    pub idempotency: Idempotency,
}

impl MethodId {
    /// A method. `route` is `SERVICE/METHOD`, of at most 255 bytes together.
    ///
    /// # Errors
    /// [`Error::Invalid`]: the route is not of that form.
    pub fn new(route: &str, interaction: Interaction, idempotency: Idempotency) -> Result<Self, Error> {
        let parts =
            route.split_once('/').filter(|(service, method)| !service.is_empty() && !method.is_empty());
        if parts.is_none() || route.len() > 255 {
            return Err(Error::invalid(format!(
                "the route {route:?} is not SERVICE/METHOD, up to 255 bytes"
            )));
        }
        Ok(Self { route: route.to_owned(), interaction, idempotency })
    }

    /// `SERVICE/METHOD`.
    #[must_use]
    pub fn route(&self) -> &str {
        &self.route
    }

    /// The part before the slash.
    #[must_use]
    pub fn service(&self) -> &str {
        self.route.split_once('/').map_or("", |(service, _)| service)
    }
}
