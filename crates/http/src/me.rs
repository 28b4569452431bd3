//! Devices that act for themselves over HTTP, with a token that an app's backend gives them.
//!
//! A token names its device and its end, signed ([`tokens`]); nothing is stored for it. A request
//! with one reaches `/api/me/...` and acts on the token's device alone ([`device`]): no path and no
//! body names another one. The device's shard decides about each request, as it does over MQTT.

pub(crate) mod description;
pub(crate) mod device;
pub(crate) mod routes;
pub(crate) mod tokens;
