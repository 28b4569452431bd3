//! The echo: one loop, every read answered by one write of the same bytes.

use std::io;
use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use clap::Args;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};

use super::{Connection, EVENTS, READ_BYTES};

/// Where it listens.
#[derive(Args)]
pub(crate) struct Options {
    /// Address
    #[arg(long)]
    listen: SocketAddr,
}

/// The listener's token; a connection's is its index.
const LISTENER: Token = Token(usize::MAX);

/// Runs until killed.
pub(super) fn run(options: &Options) -> Result<()> {
    let mut poll = Poll::new()?;
    let mut listener = TcpListener::bind(options.listen).context("bind")?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    println!("listening {}", listener.local_addr()?);
    let mut events = Events::with_capacity(EVENTS);
    let mut buffer = vec![0; READ_BYTES];
    let mut connections: Vec<Option<Connection>> = Vec::new();
    loop {
        if let Err(error) = poll.poll(&mut events, None) {
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error.into());
        }
        for event in &events {
            if event.token() == LISTENER {
                while let Ok((mut socket, _)) = listener.accept() {
                    let token = Token(connections.len());
                    poll.registry().register(&mut socket, token, Interest::READABLE | Interest::WRITABLE)?;
                    connections.push(Some(Connection::new(socket)?));
                }
                continue;
            }
            let slot = &mut connections[event.token().0];
            if let Some(connection) = slot
                && serve(connection, &mut buffer).is_err()
            {
                *slot = None;
            }
        }
    }
}

/// Reads no more while something is unsent: the client's window bounds it anyway.
fn serve(connection: &mut Connection, buffer: &mut [u8]) -> io::Result<()> {
    connection.flush()?;
    while connection.unsent.is_empty() {
        let Some(read) = connection.read(buffer)? else { break };
        connection.send(&buffer[..read])?;
        if read < buffer.len() {
            break;
        }
    }
    Ok(())
}
