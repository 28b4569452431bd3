//! The protocols that the benches speak, client side, as little of each as they need.
//!
//! MQTT 3.1.1 and NATS stand behind one trait, so that each scenario of the edge is written once; they are read by length
//! only: that client counts, it does not interpret. The others are functions from and to bytes. Bytes come from a server that
//! we started, so a malformed packet is an error of the bench and ends the run.

pub(crate) mod calls;
pub(crate) mod http;
mod mqtt;
mod nats;
pub(crate) mod postgres;
pub(crate) mod protobuf;
pub(crate) mod resp;
pub(crate) mod rsocket;

pub(crate) use mqtt::Mqtt;
pub(crate) use nats::Nats;

/// What a packet from the server is to the scenarios of the edge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming<'a> {
    /// The answer to the hello: the device is connected.
    Welcome,
    /// The answer to a subscription request.
    Subscribed,
    /// A message; `acknowledge` holds its packet id when the server wants an answer.
    Delivery {
        /// The message's content.
        payload: &'a [u8],
        /// Packet id of a QoS 1 delivery.
        acknowledge: Option<u16>,
    },
    /// The server owns a QoS 1 message that we sent.
    Accepted,
    /// The server asks whether we live.
    Ping,
    /// The server refuses the connection, or reports that it ends.
    Refused(&'static str),
    /// Anything that the scenarios don't care about.
    Other,
}

/// A message to send.
pub(crate) struct Message<'a> {
    /// Topic, in MQTT's spelling.
    pub(crate) topic: &'a str,
    /// Packet id for QoS 1; `None` for QoS 0.
    pub(crate) packet_id: Option<u16>,
    /// Content.
    pub(crate) payload: &'a [u8],
}

/// One protocol, as the client speaks it.
pub(crate) trait Wire {
    /// Opens a connection as device `id`.
    fn hello(&self, id: &str, out: &mut Vec<u8>);
    /// Asks for each (topic, QoS); returns how many [`Incoming::Subscribed`] answer it.
    fn subscribe(&self, topics: &[(String, u8)], out: &mut Vec<u8>) -> usize;
    /// Sends a message.
    fn publish(&self, message: &Message<'_>, out: &mut Vec<u8>);
    /// Answers a delivery that wants an acknowledgement.
    fn acknowledge(&self, packet_id: u16, out: &mut Vec<u8>);
    /// Answers [`Incoming::Ping`].
    fn pong(&self, out: &mut Vec<u8>);
    /// The first whole packet in `bytes` and its length; `None` when there is none yet.
    fn parse<'a>(&self, bytes: &'a [u8]) -> Option<(Incoming<'a>, usize)>;
}
