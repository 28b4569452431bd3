//! Devices on their way between the two sides' words.
//!
//! An identifier that the API has no word for (it may be 6 bytes longer than one with an inbox) is left out.

use stadium_edge::{DeviceView, DevicesQuery, Kicked, WhichDevices};
use stadium_http::fleet::{
    ConnectionFilter, DeviceConnection, DeviceQuery, DeviceReport, DeviceSubscription, KickOutcome,
};
use stadium_mqtt::packet::Version;
use stadium_push::live::ClientId;

/// A list's query as the edge takes it.
pub(super) fn query(query: DeviceQuery, limit: usize) -> DevicesQuery {
    DevicesQuery {
        prefix: query.prefix,
        search: query.search,
        which: match query.connection {
            ConnectionFilter::Any => WhichDevices::All,
            ConnectionFilter::Connected => WhichDevices::Connected,
            ConnectionFilter::Away => WhichDevices::Away,
        },
        after: query.after.map(|id| id.as_str().to_owned()),
        limit,
    }
}

/// A device in the API's words; `None` for an identifier that the API has no word for.
pub(super) fn report(view: DeviceView) -> Option<DeviceReport> {
    let username = view.principal;
    let mqtt_version = match view.version {
        Version::V311 => "3.1.1",
        Version::V5 => "5.0",
    };
    Some(DeviceReport {
        id: ClientId::new(view.client_id).ok()?,
        connection: view.connection.map(|connection| DeviceConnection {
            address: connection.address,
            transport: connection.transport.map_or("tcp", stadium_edge::Transport::name),
            mqtt_version,
            username,
            connected_at: connection.since,
            keepalive_s: connection.keep_alive_s,
            loop_index: connection.loop_index,
        }),
        session_expires_at: view.session_ends_at,
        subscription_count: view.subscriptions.len() as u64,
        subscriptions: view
            .subscriptions
            .into_iter()
            .map(|(filter, qos)| DeviceSubscription { filter, qos: qos as u8 })
            .collect(),
        queued: view.queued as u64,
        in_flight: view.in_flight as u64,
    })
}

/// What a kick did.
pub(super) fn kicked(kicked: Kicked) -> KickOutcome {
    match kicked {
        Kicked::Kicked => KickOutcome::Kicked,
        Kicked::NotConnected => KickOutcome::NotConnected,
        Kicked::Unknown => KickOutcome::Unknown,
    }
}
