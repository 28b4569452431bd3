//! MQTT in the simulation: brokers of several loops above the shards' sessions, devices, and the books of what they were promised.
//!
//! The brokers and the session machine are the product's; an edge without sockets carries what goes between them.

mod books;
mod device;
mod groups;
mod host;
mod lane;
mod mapping;
mod node;
mod origins;
mod plan;
mod retained;
mod timestamp;
mod wills;

pub use books::{Admission, Books};
pub use device::{Device, Heard, Outgoing, WillAsked};
pub use groups::Shared;
pub use mapping::Clocks;
pub use node::Node;
pub use plan::{DevicePlan, Limits, MqttPlan};
pub use retained::RetainedBooks;
pub use timestamp::{Over, Timestamp};
pub use wills::{Leaves, Outcome};
