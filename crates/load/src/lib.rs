//! Stadium's load lab: simulated users and devices that speak real protocols over real sockets, and measure.
//!
//! [`run`] runs scenarios, whose users have sessions, and swarms of MQTT devices; the loops of both
//! are the engine's. [`swarm`] is what a swarm is asked and reports. [`workers`] let many processes
//! and machines make one run, [`search`] finds the highest rate, [`view`], [`results`] and
//! [`scrape`] show and store figures. A [`stamp`] states when a message was sent, so that its
//! receiver knows how long it took; [`clock`] is the clock that both read. Nothing here knows a
//! particular server.

mod client_tls;
pub mod clock;
mod conceal;
mod engine;
mod error;
mod interrupt;
mod machine;
pub mod results;
pub mod run;
pub mod scrape;
pub mod search;
mod share;
pub mod stamp;
pub mod swarm;
pub mod view;
mod words;
pub mod workers;

pub use conceal::conceal;
pub use error::Error;
pub use interrupt::on_interrupt;
pub use stadium_report::latency;
