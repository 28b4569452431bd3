//! Every MUST of MQTT 5.0 and 3.1.1 that concerns a server, as short behaviours.
//!
//! The doc comment of a test carries the numbers of the statements that it shows: `[MQTT-3.1.0-2]`
//! is of 5.0, `[3.1.1 MQTT-3.1.0-2]` of 3.1.1. docs/mqtt.md lists the statements; `index.rs` holds
//! list and behaviours together. The behaviours drive the broker without sockets, on a virtual
//! clock.

mod acknowledge;
mod connack;
mod connect;
mod format;
mod goodbye;
mod index;
mod publish;
mod session;
mod shared;
mod subscribe;
pub(crate) mod support;
mod topics;
mod unsubscribe;
mod will;
