//! The results for people: bench/results/push.md. Written whole, from one run; never edited by hand.

use std::fmt::Write as _;

use super::sizes::Sizes;
use super::{SIDES, Side, away, broadcast, ingress, lights, registry, telemetry};
use crate::figure::Figure;
use crate::taken::Taken;
use crate::{machine, table};

/// The page as Markdown.
pub(super) fn write(figures: &[Figure], taken: &Taken<Side>, sizes: &Sizes, rounds: usize) -> String {
    let mut page = String::from("# The push platform\n\n");
    let shards = if sizes.shards == 1 { "one shard".to_owned() } else { format!("{} shards", sizes.shards) };
    let _ = writeln!(
        page,
        "`cargo xtask bench push`, {rounds} rounds, medians with (lowest to highest). In each round three servers are started anew, \
         each with one loop and {shards}, the rest as by default, the data on this disk: one for registered devices and audiences, one for \
         connected devices and inboxes, one with HTTPS for the broadcast and single pushes; and three side by side for the cost of telemetry. \
         Everything goes over the public API: \
         devices are registered by HTTP, connect by MQTT and acknowledge what they get. A row fails where a count is wrong, or a \
         device gets a message not at all or twice. While devices are connected or pushes are counted the server has core 0 and the client \
         core 1, unless a row says otherwise. The bare loops do the same work on the wire and nothing else: bench/README.md. \
         Machine: {}.\n",
        machine::describe()
    );
    page.push_str("## Figures\n\n");
    table::figures::<Side>(&mut page, figures, &[], "bare loop");
    page.push_str("\n## Behind them\n\n");
    table::details(&mut page, &taken.samples, SIDES, details().into_iter());
    table::failures(&mut page, &taken.failures);
    page
}

/// Numbers beyond the figures.
fn details() -> Vec<(String, String)> {
    const PUSH: [(&str, &str); 6] = [
        ("accepted_ms", "from the request to the 202, ms"),
        ("first_ms", "from the 202 to the first acknowledgement, ms"),
        ("first_of_request_ms", "from the request to the first acknowledgement, ms"),
        ("last_ms", "from the 202 to the last acknowledgement, ms"),
        ("last_of_request_ms", "from the request to the last acknowledgement, ms"),
        ("deliveries_per_s", "deliveries/s, from the request to the last"),
    ];
    const BACK: [(&str, &str); 4] = [
        ("connected_s", "until all are connected, s"),
        ("first_s", "until the first message, s"),
        ("retries", "connections tried again"),
        ("filled_per_second", "messages accepted a second before"),
    ];
    const INGRESS: [(&str, &str); 5] = [
        ("p50_ms", "answer, median ms"),
        ("p99_ms", "answer, 99th percentile ms"),
        ("again", "requests made again"),
        ("server_cpu_us_each", "server's CPU time each, us"),
        ("client_cpu", "client's share of a core"),
    ];
    let mut rows = Vec::new();
    let mut all = |measurement: &str, values: &[(&str, &str)]| {
        for (value, title) in values {
            rows.push((format!("{measurement}.{value}"), format!("{measurement}: {title}")));
        }
    };
    all(
        registry::REGISTRY,
        &[
            ("registered_per_second", "devices registered a second"),
            ("disk_bytes_each", "bytes on disk for each device"),
        ],
    );
    all(
        registry::AUDIENCE,
        &[
            ("took_p99_ms", "the shard's time, 99th percentile ms"),
            ("call_p99_ms", "the call's time, 99th percentile ms"),
            ("matched", "devices that match"),
        ],
    );
    all(lights::NAME, &PUSH);
    all(
        lights::NAME,
        &[
            ("server_cpu_us_per_delivery", "server's CPU time for each delivery, all included, us"),
            ("client_cpu_us_per_delivery", "client's CPU time for each delivery, us"),
        ],
    );
    all(broadcast::NAME, &PUSH);
    all(
        broadcast::NAME,
        &[
            ("records_acknowledged", "records until all who are connected have acknowledged"),
            ("accepted_alone_ms", "from the request to the 202 while nobody is connected, ms"),
        ],
    );
    all(away::NAME, &BACK);
    all(away::SHARED, &BACK);
    all(ingress::NAME, &INGRESS);
    all(ingress::SHARED, &INGRESS);
    all(ingress::BATCHES, &INGRESS);
    for (value, title) in telemetry::details() {
        rows.push((format!("{0}.{value}", telemetry::NAME), format!("{0}: {title}", telemetry::NAME)));
    }
    rows
}
