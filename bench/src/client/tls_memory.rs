//! What an idle TLS 1.3 device costs the server. The client's own TLS state is dropped once it is idle.
//!
//! Blocking sockets, one handshake after the other: only the server's memory is measured here.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ProtocolVersion, StreamOwned};
use serde_json::{Map, Value};

use super::memory::{FIRST_LOOK, slope};
use super::{Options, devices};
use crate::machine::settled_resident_bytes;
use crate::tls::trusting;
use crate::wire::{Incoming, Mqtt, Wire as _};

/// Connects in two steps and looks at the server's memory after each.
pub(super) fn run(options: &Options) -> Result<Map<String, Value>> {
    let certificate = options.certificate.as_ref().context("--certificate is needed")?;
    let config = trusting(certificate)?;
    let mut sockets = Vec::with_capacity(options.devices);
    for index in 0..FIRST_LOOK {
        sockets.push(connect(&config, options, index)?);
    }
    let first = settled_resident_bytes(options.server_pid)?;
    for index in FIRST_LOOK..options.devices {
        sockets.push(connect(&config, options, index)?);
    }
    let second = settled_resident_bytes(options.server_pid)?;
    for socket in &sockets {
        // Still there: a server that has dropped idle devices would look cheap.
        let ended = matches!(socket.peek(&mut [0]), Ok(0));
        ensure!(!ended, "the server ended an idle connection");
    }
    Ok(slope(options, first, second))
}

/// Handshake, CONNECT, two SUBSCRIBEs, their answers; then only the socket is kept.
fn connect(config: &Arc<ClientConfig>, options: &Options, index: usize) -> Result<TcpStream> {
    let socket = TcpStream::connect(options.address)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(Duration::from_secs(20)))?;
    let session = ClientConnection::new(Arc::clone(config), ServerName::try_from("localhost")?)?;
    let mut stream = StreamOwned::new(session, socket);
    let device = devices::device(&options.prefix, index, 0);
    let mut out = Vec::new();
    Mqtt.hello(&device.id, &mut out);
    stream.write_all(&out)?;
    wait_for(&mut stream, 1)?;
    out.clear();
    let answers = Mqtt.subscribe(&device.topics, &mut out);
    stream.write_all(&out)?;
    wait_for(&mut stream, answers)?;
    ensure!(stream.conn.protocol_version() == Some(ProtocolVersion::TLSv1_3), "not TLS 1.3");
    let socket = stream.sock;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn wait_for(stream: &mut StreamOwned<ClientConnection, TcpStream>, mut answers: usize) -> Result<()> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 1024];
    while answers > 0 {
        let read = stream.read(&mut chunk)?;
        if read == 0 {
            bail!("the server ended the connection");
        }
        bytes.extend_from_slice(&chunk[..read]);
        while let Some((incoming, length)) = Mqtt.parse(&bytes) {
            if let Incoming::Refused(why) = incoming {
                bail!("{why}");
            }
            answers = answers.saturating_sub(1);
            bytes.drain(..length);
        }
    }
    Ok(())
}
