//! The edge: devices' connections, MQTT on the reactor.
//!
//! [`Edge`] runs one [`device_loop`] a core. A connection is accepted by any loop and, once its CONNECT
//! is read, belongs to the home loop of its client id, so that a session, its subscriptions and its
//! takeover are one loop's own business. Loops send each other messages through their mailboxes,
//! guided by [`interest`]. From outside the edge is reached by [`EdgeHandle`], which only ever
//! sends commands to the loops' mailboxes and reads published counts.

mod alarm;
mod arrival;
pub mod auth;
mod clock;
mod config;
mod counts;
mod device_loop;
mod devices;
mod drain;
mod edge;
mod handle;
mod interest;
mod limits;
mod listing;
mod message;
mod principals;
mod publishes;
mod purges;
mod push;
mod query;
mod rates;
mod refusals;
pub mod requests;
mod retained;
mod sessions;
mod streams;
mod sys_topics;
mod timer;
mod trace;
mod traced_publishes;
mod turn;
mod uplinks;

pub use config::{
    AddressLimits, BeforeAuthentication, CONNECT_BYTES_FREE, Config, ConnectBudget, ConnectionRates,
    Listener, Transport,
};
pub use counts::{CLOSES, Counts, DROPS, LATENCY_BUCKETS, latency_bucket_bound_us};
pub use edge::{Behind, Bound, Drain, Edge, Error};
pub use handle::{EdgeHandle, LoopAnswers};
pub use message::Message;
pub use publishes::{ApplicationMessage, NotPublished, PUBLISH_BATCH_MAX, PublishOutcome, PublishReply, QoS};
pub use purges::Purged;
pub use push::{PushRecord, PushShards, Refused};
pub use query::{DeviceConnection, DeviceView, DevicesQuery, Kicked, WhichDevices};
pub use retained::{PurgeMode, RetainedList, RetainedMessage};
pub use stadium_mqtt::broker::RetainedQuery;
pub use streams::{
    Gap, NoStream, RingLimits, SendRetained, StreamCounts, StreamItem, StreamLimits, StreamMessage,
    StreamPlace, TopicStream, TopicStreams,
};
pub use trace::{Direction, TRACES_MAX, Taken, TraceGuard, TraceLine, TraceSink, Traced, TracesFull};
pub use uplinks::MessageFeed;
