//! Protocols from the client's side, as the engine's sessions need them.
//!
//! [`mod@talk`] is what each of them implements: one for each connection.

pub(crate) mod coding;
pub(crate) mod events;
pub(crate) mod http1;
pub(crate) mod http2;
pub(crate) mod mqtt;
pub(crate) mod request;
pub(crate) mod rsocket;
pub(crate) mod stamps;
pub(crate) mod talk;
pub(crate) mod tcp;
pub(crate) mod websocket;

use stadium_scenario::program::{Action, Step, Version};

use self::events::Events;
use self::http1::Http1;
use self::http2::Http2;
use self::talk::Talk;
use self::tcp::Tcp;
use self::websocket::WebSocket;
use super::planned::PlannedTarget;

/// What a new connection to a target speaks, opened for this step.
pub(crate) fn talk(step: &Step, target: &PlannedTarget) -> Box<dyn Talk> {
    match (&step.action, target.version) {
        (Action::Mqtt(_), _) => Box::new(mqtt::Mqtt::new(target)),
        (Action::Rsocket(ask), _) => Box::new(rsocket::Rsocket::new(&ask.mime)),
        (Action::Http(_), Version::Http2) => Box::new(Http2::default()),
        (Action::Http(_), _) => Box::new(Http1::default()),
        (Action::Events { .. }, _) => Box::new(Events::default()),
        (Action::WebSocket(_), _) => Box::new(WebSocket::default()),
        (Action::Tcp(_), _) => Box::new(Tcp::default()),
    }
}
