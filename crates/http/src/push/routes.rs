//! The endpoints of the push platform's pushes.

pub(crate) mod deliveries;
pub(crate) mod live;
pub(crate) mod pushes;
pub(crate) mod schedules;
