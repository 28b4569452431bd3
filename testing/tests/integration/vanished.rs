//! A device whose network swallows every packet: no FIN, no RST, no ICMP.
//!
//! Server, carrier and device are in network namespaces of their own (needs root and iproute2). The server must notice within
//! 1.5 times the keep-alive, or sooner when something is unacknowledged, and must not lose the QoS 1 message.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use stadium_testing::deadline::until_true;
use stadium_testing::device::Device;
use stadium_testing::network::Network;
use stadium_testing::server::{Access, Plan, Server};
use stadium_testing::wire::{Connect, VERSIONS, Version};

/// Devices without credentials and the default rules: each reads its own inbox. Trial mode is loopback only.
const OPEN: &str = "[auth]\nanonymous = \"without-credentials\"\n";

fn start(network: &Network, settings: &str) -> Result<(Server, SocketAddr)> {
    let address = SocketAddr::new(Network::SERVER, 1883);
    let server = Server::start(Plan {
        settings: format!("{OPEN}{settings}"),
        access: Access::Settings,
        namespace: Some((network.server.clone(), address)),
        ..Plan::default()
    })?;
    Ok((server, address))
}

fn connect(network: &Network, address: SocketAddr, connect: &Connect) -> Result<Device> {
    network.device.within(|| Device::connect(address, connect))
}

/// How long the server believed the device to be there.
fn noticed_after(server: &Server, device: &str, within: Duration) -> Result<Duration> {
    let started = Instant::now();
    let api = server.api();
    until_true(within, "the server to notice that the device is gone", || Ok(!api.connected(device)?))?;
    Ok(started.elapsed())
}

#[test]
fn a_silent_device_is_noticed_within_one_and_a_half_keep_alives() -> Result<()> {
    let network = Network::new()?;
    for version in VERSIONS {
        let (server, address) = start(&network, "")?;
        let mut device = connect(&network, address, &Connect::new(version, "phone").keep_alive(4))?;
        device.ping()?;
        network.swallow()?;
        let took = noticed_after(&server, "phone", Duration::from_secs(20))?;
        ensure!(took <= Duration::from_secs(8), "{version:?}: noticed after {took:?}, the keep-alive is 4 s");
        ensure!(took >= Duration::from_secs(4), "{version:?}: gave up after {took:?}, before the keep-alive");
        network.restore()?;
    }
    Ok(())
}

#[test]
fn an_unacknowledged_message_gives_it_away_sooner_and_is_not_lost() -> Result<()> {
    let network = Network::new()?;
    for version in VERSIONS {
        let (server, address) = start(&network, "[mqtt]\nuser_timeout_ms = 2000\n")?;
        let persistent = Connect::new(version, "phone").persistent().keep_alive(600);
        let mut device = connect(&network, address, &persistent)?;
        device.subscribe(&["inbox/phone"], 1)?;
        network.swallow()?;

        let push = json!({"to": {"device": "phone"}, "message": "your seat is 12F", "qos": 1});
        let id = server.api().push(&push)?;
        let took = noticed_after(&server, "phone", Duration::from_secs(30))?;
        ensure!(
            took <= Duration::from_secs(12),
            "{version:?}: noticed after {took:?}, TCP_USER_TIMEOUT is 2 s"
        );

        network.restore()?;
        drop(device);
        let mut back = connect(&network, address, &persistent)?;
        ensure!(back.session_present(), "{version:?}: the session was lost");
        let message = back.take().context("the message was lost")?;
        ensure!(message.payload == b"your seat is 12F" && message.qos == 1, "{message:?}");
        server.api().report(&id, Duration::from_secs(20), |report| report["acknowledged"] == 1)?;
    }
    Ok(())
}

#[test]
fn a_device_whose_network_comes_back_in_time_keeps_its_connection() -> Result<()> {
    let network = Network::new()?;
    let (server, address) = start(&network, "[mqtt]\nuser_timeout_ms = 30000\n")?;
    let mut device = connect(&network, address, &Connect::new(Version::V5, "phone").keep_alive(60))?;
    device.subscribe(&["inbox/phone"], 1)?;
    network.swallow()?;
    server.api().push(&json!({"to": {"device": "phone"}, "message": "late", "qos": 1}))?;
    network.restore()?;
    // TCP sends it again by itself.
    ensure!(device.take()?.payload == b"late");
    ensure!(server.api().connected("phone")?);
    Ok(())
}

#[test]
fn a_device_that_moved_to_another_address_takes_its_session_along() -> Result<()> {
    let network = Network::new()?;
    let (server, address) = start(&network, "")?;
    let persistent = Connect::new(Version::V5, "phone").persistent().keep_alive(600);
    let mut before = connect(&network, address, &persistent)?;
    before.subscribe(&["inbox/phone"], 1)?;
    network.swallow()?;
    server.api().push(&json!({"to": {"device": "phone"}, "message": "follow me", "qos": 1}))?;
    network.restore()?;
    // It comes back before the server has noticed anything: a takeover of the connection that hangs.
    let mut after = connect(&network, address, &persistent)?;
    ensure!(after.session_present());
    ensure!(after.take()?.payload == b"follow me");
    Ok(())
}
