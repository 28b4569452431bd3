//! A configuration made ready for loops: certificates read, addresses worked out, devices dealt.
//!
//! Each process makes its own plan; loops share it. Devices are dealt like cards, so that any moment of the ramp
//! puts the same load on each loop.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stadium_mqtt::packet::Version;
use stadium_reactor::tls::{
    ClientTls, ClientTlsSettings, SessionResumption, Trust as Believes, certificates_from_pem,
    identity_from_pem,
};
use stadium_reactor::{ConnectOptions, ConnectionLimits, SocketSettings, WebSocketRequest};

use super::Error;
use super::config::{Resumption, SwarmConfig, Tls, Transport, Trust, left_per_process};

/// The largest packet that a device takes, in bytes, and so what a loop keeps of an incomplete one.
pub(crate) const PACKET_BYTES_MAX: u32 = 64 * 1024 * 1024;

/// A loop's part of the devices: every `of`-th, from `index` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Share {
    pub(crate) index: u32,
    pub(crate) of: u32,
}

impl Share {
    /// How many of `total` are its own.
    pub(crate) fn part(self, total: u32) -> u32 {
        (total / self.of) + u32::from(self.index < total % self.of)
    }

    /// Which of the swarm's devices its device `slot` is.
    pub(crate) fn nth(self, slot: u32) -> u32 {
        slot * self.of + self.index
    }
}

/// What all loops of a process share.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) config: SwarmConfig,
    pub(crate) version: Version,
    /// For each target, what to connect with.
    pub(crate) options: Vec<ConnectOptions>,
    pub(crate) sources: Vec<IpAddr>,
    /// Severed connections that a loop keeps after their devices have left them. At least 1.
    pub(crate) left_max: usize,
}

impl Plan {
    pub(crate) fn new(config: SwarmConfig) -> Result<Self, Error> {
        config.check()?;
        let (tls, path) = match &config.transport {
            Transport::Tcp => (None, None),
            Transport::Tls(tls) => (Some(tls), None),
            Transport::Ws { path } => (None, Some(path)),
            Transport::Wss { path, tls } => (Some(tls), Some(path)),
        };
        let socket = SocketSettings {
            connect_timeout_ms: config.connect.timeout_ms,
            // Small on purpose: a hundred thousand devices share the kernel's memory.
            receive_buffer_bytes: None,
            ..SocketSettings::default()
        };
        let limits = ConnectionLimits {
            carry_bytes_max: PACKET_BYTES_MAX,
            write_queue_bytes_max: PACKET_BYTES_MAX,
            ..ConnectionLimits::default()
        };
        let mut options = Vec::with_capacity(config.targets.len());
        for target in &config.targets {
            let websocket = path.map(|path| {
                Arc::new(WebSocketRequest {
                    host: format!("{}:{}", target.host, target.address.port()),
                    path: path.clone(),
                    subprotocol: Some("mqtt".to_owned()),
                    ..WebSocketRequest::default()
                })
            });
            options.push(ConnectOptions {
                bind: None,
                socket: socket.clone(),
                limits,
                tls: tls.map(|tls| client_tls(tls, &target.host)).transpose()?,
                websocket,
                tag: 0,
            });
        }
        let left_max = (left_per_process() / config.loops).max(1);
        let (version, sources) = (config.version.into(), config.sources());
        Ok(Plan { version, sources, options, left_max, config })
    }

    /// Where device number `nth` of the swarm connects from, whose address changed so often.
    pub(crate) fn source(&self, nth: u32, moves: u16) -> Option<SocketAddr> {
        let round = nth as usize / self.config.targets.len() + usize::from(moves);
        let address = self.sources.get(round % self.sources.len().max(1))?;
        Some(SocketAddr::new(*address, 0))
    }
}

fn client_tls(tls: &Tls, host: &str) -> Result<ClientTls, Error> {
    let read =
        |path: &Path| std::fs::read(path).map_err(Error::system(format!("reading {}", path.display())));
    let wrong =
        |path: &Path, error: &dyn std::fmt::Display| Error::Config(format!("{}: {error}", path.display()));
    let trust = match &tls.trust {
        Trust::Anybody => Believes::Anybody,
        Trust::Authority(path) => {
            Believes::Roots(certificates_from_pem(&read(path)?).map_err(|error| wrong(path, &error))?)
        }
    };
    let identity = match &tls.certificate {
        None => None,
        Some(certificate) => Some(
            identity_from_pem(&read(&certificate.chain)?, &read(&certificate.key)?)
                .map_err(|error| wrong(&certificate.chain, &error))?,
        ),
    };
    let resumption = match tls.resumption {
        Resumption::On => SessionResumption::Tickets,
        Resumption::Off => SessionResumption::Off,
    };
    ClientTls::new(&ClientTlsSettings {
        server_name: host.to_owned(),
        trust,
        identity,
        alpn: Vec::new(),
        resumption,
    })
    .map_err(|error| Error::Config(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_is_dealt_to_exactly_one_loop() {
        for (total, of) in [(1, 1), (10, 3), (7, 8), (100, 7)] {
            let mut dealt: Vec<u32> = (0..of)
                .map(|index| Share { index, of })
                .flat_map(|share| (0..share.part(total)).map(move |slot| share.nth(slot)))
                .collect();
            dealt.sort_unstable();
            assert_eq!(dealt, (0..total).collect::<Vec<_>>(), "{total} devices over {of} loops");
        }
    }

    #[test]
    fn a_missing_certificate_is_named() {
        let tls = Tls {
            trust: Trust::Authority("/nowhere/ca.pem".into()),
            certificate: None,
            resumption: Resumption::On,
        };
        let config = SwarmConfig { transport: Transport::Tls(tls), ..SwarmConfig::default() };
        let error = Plan::new(config).expect_err("there is no such file");
        assert!(error.to_string().contains("/nowhere/ca.pem"), "{error}");
    }
}
