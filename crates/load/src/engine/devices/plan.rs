//! A configuration made ready for loops: certificates read, addresses worked out, devices dealt.
//!
//! Each process makes its own plan; loops share it. Devices are dealt like cards, so that the ramp
//! at any time puts the same load on each loop.

use std::net::{IpAddr, SocketAddr};

use stadium_mqtt::packet::Version;
use stadium_reactor::ConnectOptions;
use stadium_reactor::tls::ClientTls;

use crate::client_tls::{Asked, client_tls};
use crate::engine::dial::{self, mqtt_over_websocket};
use crate::error::Error;
use crate::swarm::config::{Resumption, SwarmConfig, Tls, Transport, Trust, left_per_process};

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
        let options = config
            .targets
            .iter()
            .map(|target| {
                let websocket = path.map(|path| {
                    let host = format!("{}:{}", target.host, target.address.port());
                    mqtt_over_websocket(host, path.clone())
                });
                let tls = tls.map(|tls| tls_to(tls, &target.host)).transpose()?;
                Ok(dial::options(config.connect.timeout_ms, tls, websocket))
            })
            .collect::<Result<Vec<_>, Error>>()?;
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

fn tls_to(tls: &Tls, host: &str) -> Result<ClientTls, Error> {
    client_tls(Asked {
        server_name: host.to_owned(),
        authority: match &tls.trust {
            Trust::Anybody => None,
            Trust::Authority(path) => Some(path),
        },
        identity: tls.certificate.as_ref().map(|own| (own.chain.as_path(), own.key.as_path())),
        alpn: Vec::new(),
        resumption: matches!(tls.resumption, Resumption::On),
    })
    .map_err(Error::Config)
}

#[cfg(test)]
mod tests {
    use super::*;

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
