//! The echo: one loop, every read answered by one write of the same bytes, or of the whole messages in
//! them.

use std::io;
use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use clap::Args;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};

use super::sample::Codec;
use super::{Connection, EVENTS, Extra, READ_BYTES};

/// Where it listens.
#[derive(Args)]
pub(crate) struct Options {
    /// Address
    #[arg(long)]
    listen: SocketAddr,
    #[command(flatten)]
    extra: Extra,
}

/// A client's connection, and the bytes of a message whose end has not arrived.
struct Peer {
    connection: Connection,
    partial: Vec<u8>,
}

/// The state that all connections share.
struct Echo {
    codec: Option<Codec>,
    buffer: Vec<u8>,
    /// Messages that are to be sent.
    encoded: Vec<u8>,
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
    let codec = options.extra.decode.then(|| Codec::new(0));
    let mut echo = Echo { codec, buffer: vec![0; READ_BYTES], encoded: Vec::new() };
    let mut peers: Vec<Option<Peer>> = Vec::new();
    loop {
        if let Err(error) = options.extra.wait(&mut poll, &mut events, None) {
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error.into());
        }
        for event in &events {
            if event.token() == LISTENER {
                while let Ok((mut socket, _)) = listener.accept() {
                    let token = Token(peers.len());
                    poll.registry().register(&mut socket, token, Interest::READABLE | Interest::WRITABLE)?;
                    peers.push(Some(Peer { connection: Connection::new(socket)?, partial: Vec::new() }));
                }
                continue;
            }
            let slot = &mut peers[event.token().0];
            if let Some(peer) = slot
                && echo.serve(peer).is_err()
            {
                *slot = None;
            }
        }
    }
}

impl Echo {
    /// Reads no more while something is unsent: the client's window bounds it anyway.
    fn serve(&mut self, peer: &mut Peer) -> Result<()> {
        peer.connection.flush()?;
        while peer.connection.unsent.is_empty() {
            let Some(read) = peer.connection.read(&mut self.buffer)? else { break };
            match &mut self.codec {
                None => peer.connection.send(&self.buffer[..read])?,
                Some(codec) => {
                    self.encoded.clear();
                    codec.echo(&mut peer.partial, &self.buffer[..read], &mut self.encoded)?;
                    peer.connection.send(&self.encoded)?;
                }
            }
            if read < self.buffer.len() {
                break;
            }
        }
        Ok(())
    }
}
