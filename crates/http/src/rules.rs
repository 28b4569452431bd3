//! The rules over topics: who may publish and subscribe to which, seen and replaced as a whole.

pub(crate) mod description;
pub(crate) mod fields;
pub(crate) mod routes;
