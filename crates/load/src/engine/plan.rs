//! A program made ready for loops: addresses looked up, certificates read, requests that never change encoded.
//!
//! Each process makes its own plan; its loops share it.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use stadium_reactor::ConnectOptions;
use stadium_reactor::tls::ClientTls;
use stadium_scenario::check::Test;
use stadium_scenario::extract::Source;
use stadium_scenario::program::{Action, Mqtt, Program, Scheme, Step, Target, Version};

use super::dial::{self, mqtt_over_websocket};
use super::planned::{PlannedStep, PlannedTarget};
use super::protocol::http1;
use super::protocol::mqtt::inbox::Unread;
use crate::client_tls::{Asked, client_tls};
use crate::error::Error;

/// Where Linux systems keep the authorities that they believe.
const SYSTEM_AUTHORITIES: &[&str] =
    &["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

/// What all loops of a process share.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) program: Program,
    pub(crate) targets: Vec<PlannedTarget>,
    pub(crate) steps: Vec<PlannedStep>,
    /// Weights of sessions by phase, summed up from the first on.
    pub(crate) mixes: Vec<Vec<f64>>,
}

impl Plan {
    /// Makes a plan; `folder` is what file names in the scenario are relative to.
    ///
    /// # Errors
    /// [`Error::Config`] for a host without an address or a certificate that cannot be read.
    pub(crate) fn new(program: Program, folder: &Path) -> Result<Self, Error> {
        let mut targets = program
            .targets
            .iter()
            .map(|target| plan_target(target, folder))
            .collect::<Result<Vec<_>, _>>()?;
        let steps: Vec<PlannedStep> = program
            .steps
            .iter()
            .map(|step| plan_step(step, &program.targets[step.target], &targets[step.target]))
            .collect();
        for (step, planned) in program.steps.iter().zip(&steps) {
            if let Action::Mqtt(Mqtt::Receive { .. }) = step.action {
                let unread = if planned.keeps_body { Unread::Kept } else { Unread::Counted };
                let target = &mut targets[step.target];
                target.unread = target.unread.max(unread);
            }
        }
        let mixes = program
            .phases
            .iter()
            .map(|phase| {
                let mut sum = 0.0;
                phase
                    .mix
                    .iter()
                    .map(|weight| {
                        sum += weight;
                        sum
                    })
                    .collect()
            })
            .collect();
        Ok(Plan { targets, steps, mixes, program })
    }

    pub(crate) fn step(&self, step: u32) -> &Step {
        &self.program.steps[step as usize]
    }
}

fn plan_target(target: &Target, folder: &Path) -> Result<PlannedTarget, Error> {
    let addresses: Vec<SocketAddr> = (target.host.as_str(), target.port)
        .to_socket_addrs()
        .map_err(|error| {
            Error::Config(format!(
                "target {:?}: the host {:?} has no address: {error}",
                target.name, target.host
            ))
        })?
        .collect();
    if addresses.is_empty() {
        return Err(Error::Config(format!(
            "target {:?}: the host {:?} has no address",
            target.name, target.host
        )));
    }
    let tls = target.scheme.is_secured().then(|| tls_to(target, target.version, folder)).transpose()?;
    let usual = match target.scheme {
        Scheme::Http | Scheme::MqttWs => 80,
        Scheme::Https | Scheme::MqttWss => 443,
        _ => 0,
    };
    let host = if target.host.contains(':') { format!("[{}]", target.host) } else { target.host.clone() };
    let authority = if target.port == usual { host } else { format!("{host}:{}", target.port) };
    let websocket = matches!(target.scheme, Scheme::MqttWs | Scheme::MqttWss).then(|| {
        let path = if target.path.is_empty() { "/mqtt".to_owned() } else { target.path.clone() };
        mqtt_over_websocket(authority.clone(), path)
    });
    let options = dial::options((target.connect_timeout_ns / 1_000_000).max(1), tls, websocket);
    let options_http1 = (target.version == Version::Http2 && options.tls.is_some())
        .then(|| {
            let tls = Some(tls_to(target, Version::Http1, folder)?);
            Ok::<_, Error>(ConnectOptions { tls, ..options.clone() })
        })
        .transpose()?;
    Ok(PlannedTarget {
        addresses,
        options,
        options_http1,
        host: target.host.clone(),
        authority,
        connections: target.connections,
        version: target.version,
        scheme: target.scheme,
        unread: Unread::default(),
    })
}

fn plan_step(step: &Step, target: &Target, planned: &PlannedTarget) -> PlannedStep {
    let fixed = match &step.action {
        Action::Http(request) if planned.version == Version::Http1 => {
            http1::encode_fixed(request, target, &planned.authority)
        }
        _ => None,
    };
    PlannedStep {
        fixed,
        keeps_headers: step.checks.iter().any(|check| matches!(check.test, Test::Header(..)))
            || step.extract.iter().any(|extract| matches!(extract.source, Source::Header(_))),
        keeps_body: step
            .checks
            .iter()
            .any(|check| matches!(check.test, Test::Json(..) | Test::Body(_) | Test::Bytes(..)))
            || step
                .extract
                .iter()
                .any(|extract| matches!(extract.source, Source::Json(_) | Source::Regex(..) | Source::Body)),
    }
}

fn tls_to(target: &Target, version: Version, folder: &Path) -> Result<ClientTls, Error> {
    let tls = &target.tls;
    let wrong = |error: String| Error::Config(format!("target {:?}: {error}", target.name));
    let authority = match (&tls.authority, tls.insecure) {
        (_, true) => None,
        (Some(path), false) => Some(folder.join(path)),
        (None, false) => Some(system_authorities().ok_or_else(|| {
            wrong("this system has no list of authorities; name one with `tls.authority`".to_owned())
        })?),
    };
    let identity = tls.identity.as_ref().map(|(chain, key)| (folder.join(chain), folder.join(key)));
    client_tls(Asked {
        server_name: tls.server_name.clone().unwrap_or_else(|| target.host.clone()),
        authority: authority.as_deref(),
        identity: identity.as_ref().map(|(chain, key)| (chain.as_path(), key.as_path())),
        alpn: match version {
            Version::Http2 => vec![b"h2".to_vec()],
            Version::Http1 if target.scheme == Scheme::Https => vec![b"http/1.1".to_vec()],
            _ => Vec::new(),
        },
        resumption: tls.resumption,
    })
    .map_err(wrong)
}

fn system_authorities() -> Option<PathBuf> {
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    named.into_iter().chain(SYSTEM_AUTHORITIES.iter().map(PathBuf::from)).find(|path| path.exists())
}
