//! An echo server on one loop: the smallest handler there is.
//!
//! `cargo run -p stadium-reactor --example echo -- 127.0.0.1:7000`, then `nc 127.0.0.1 7000`.

use stadium_reactor::{
    CloseReason, ConnectionId, Handler, Io, ListenerSettings, ListenerTag, Loop, LoopSettings,
};

struct Echo;

impl Handler for Echo {
    type Message = ();

    fn received(&mut self, io: &mut Io<()>, id: ConnectionId, bytes: &[u8]) -> usize {
        io.send(id, |buffer| buffer.extend_from_slice(bytes));
        bytes.len()
    }

    fn closed(&mut self, _io: &mut Io<()>, id: ConnectionId, reason: CloseReason) {
        eprintln!("{id:?} closed: {}", reason.name());
    }
}

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7000".to_owned());
    let address = address.parse().map_err(|error| {
        std::io::Error::new(std::io::ErrorKind::InvalidInput, format!("{address}: {error}"))
    })?;
    let mut echo = Loop::new(LoopSettings { name: "echo".to_owned(), ..LoopSettings::default() })?;
    let address = echo.io().listen(&ListenerSettings::new(address, ListenerTag(0)))?;
    eprintln!("Listening on {address}");
    echo.run(Echo).map(|_| ())
}
