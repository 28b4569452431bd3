//! Stadium's load lab: simulated users and devices that speak real protocols over real sockets, and measure.
//!
//! [`engine`] runs scenarios: sessions of simulated users. [`swarm`] connects a fleet of MQTT devices from as many
//! processes as the open-file limit asks, holds it, cuts it, and reports. [`workers`] lets many machines make one run,
//! [`search`] finds the highest rate, [`view`], [`keep`] and [`scrape`] show and keep what came of it. [`stamp`] is how a
//! message says when it was sent, so that whoever receives it knows how long it took; [`clock`] is the clock both sides
//! read. Nothing here knows a particular server.

mod account;
mod client_tls;
pub mod clock;
mod conceal;
pub mod engine;
mod interrupt;
pub mod keep;
pub mod scrape;
pub mod search;
mod share;
pub mod stamp;
pub mod swarm;
pub mod view;
mod words;
pub mod workers;

pub use conceal::conceal;
pub use interrupt::on_interrupt;
pub use stadium_report::latency;
