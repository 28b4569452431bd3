//! Ports: each address is bound and released.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, UdpSocket};

use super::{Findings, Severity, listens};
use crate::running::Running;
use crate::settings::Code;

/// A socket that was bound, kept until all were tried: two settings with one address must not both pass.
enum Held {
    Tcp(#[expect(dead_code, reason = "it is held for its address")] TcpListener),
    Udp(#[expect(dead_code, reason = "it is held for its address")] UdpSocket),
}

/// Tries all; addresses that the running server of the same data folder has are its own.
pub(super) fn check(findings: &mut Findings<'_>, running: Option<&Running>) {
    let settings = &findings.loaded.settings;
    let mut addresses: Vec<(&str, SocketAddr, bool)> = Vec::new();
    for (setting, listen) in [
        ("mqtt.listen", &settings.mqtt.listen),
        ("mqtts.listen", &settings.mqtts.listen),
        ("ws.listen", &settings.ws.listen),
        ("wss.listen", &settings.wss.listen),
        ("rpc.listen", &settings.rpc.listen),
        ("rpc.websocket_listen", &settings.rpc.websocket_listen),
    ] {
        addresses.extend(listen.0.iter().map(|address| (setting, *address, false)));
    }
    addresses.extend(settings.http.listen.map(|address| ("http.listen", address, false)));
    if settings.cluster.name.is_some() {
        addresses
            .extend(settings.cluster.links.listen.map(|address| ("cluster.links.listen", address, false)));
    }
    addresses.extend(settings.rpc.udp_listen.map(|address| ("rpc.udp_listen", address, true)));
    let mut held: Vec<(&str, SocketAddr, bool, Held)> = Vec::new();
    for (setting, address, is_udp) in addresses {
        let bound = if is_udp {
            UdpSocket::bind(address).map(Held::Udp)
        } else {
            TcpListener::bind(address).map(Held::Tcp)
        };
        let error = match bound {
            Ok(socket) => {
                held.push((setting, address, is_udp, socket));
                continue;
            }
            Err(error) => error,
        };
        if error.kind() == ErrorKind::AddrInUse && listens(running, address) {
            continue;
        }
        let own = held.iter().find(|(_, other, other_is_udp, _)| {
            *other_is_udp == is_udp
                && other.port() == address.port()
                && (other.ip() == address.ip()
                    || other.ip().is_unspecified()
                    || address.ip().is_unspecified())
        });
        let (message, remedy) = match own {
            Some((other, ..)) if error.kind() == ErrorKind::AddrInUse => (
                format!("{address} is taken by {other} of this configuration"),
                "give one of them another port".to_owned(),
            ),
            _ => described(address, &error),
        };
        findings.add((Severity::Error, Code::Address), setting, None, message, remedy);
    }
}

fn described(address: SocketAddr, error: &io::Error) -> (String, String) {
    let port = address.port();
    match error.kind() {
        ErrorKind::AddrInUse => (
            format!("{address} is taken by another process"),
            format!("stop that process (`ss -ltnp sport = :{port}` names it), or choose another port"),
        ),
        ErrorKind::AddrNotAvailable => (
            format!("{} is no address of this machine", address.ip()),
            "name one of its own (`ip address`), or 0.0.0.0 for all".to_owned(),
        ),
        ErrorKind::PermissionDenied => (
            format!("this user may not listen at {address}: {error}"),
            "choose a port from 1024 on, or grant CAP_NET_BIND_SERVICE".to_owned(),
        ),
        _ => (format!("{address} cannot be listened at: {error}"), "choose another address".to_owned()),
    }
}
