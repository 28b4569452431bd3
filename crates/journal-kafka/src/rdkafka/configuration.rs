//! librdkafka's properties, from the settings. Reasons stand beside those that differ from its
//! defaults.

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;

use crate::settings::{BATCH_BYTES_MAX, ServerName, Settings, SettingsError};

/// Bytes of messages of one partition that were fetched and not taken out yet, at which no more are
/// fetched. A fetch may bring a MiB more, or one longer message.
const READ_AHEAD_KIB: usize = 1024;

/// Bytes that one answer to a fetch has for one partition, and for all; a longer message comes
/// alone (KIP-74).
const FETCH_BYTES_OF_PARTITION: usize = 1024 * 1024;
const FETCH_BYTES: usize = 32 * 1024 * 1024;

/// A client's properties that all kinds have.
fn base(settings: &Settings) -> ClientConfig {
    let mut config = ClientConfig::new();
    let request_ms = settings.request_timeout.as_millis();
    config
        .set_log_level(RDKafkaLogLevel::Warning)
        .set("bootstrap.servers", settings.bootstrap.join(","))
        .set("client.id", "stadium")
        .set("allow.auto.create.topics", "false")
        .set("socket.nagle.disable", "true")
        .set("socket.keepalive.enable", "true")
        // A stopped broker keeps its connections open: only this time tells it from a slow one.
        .set("socket.timeout.ms", request_ms.to_string())
        .set("socket.connection.setup.timeout.ms", request_ms.max(1000).to_string())
        // A broker that comes back is used at once; the default waits up to 10 s.
        .set("reconnect.backoff.ms", "50")
        .set("reconnect.backoff.max.ms", "500")
        // A partition whose leader went is looked for so often.
        .set("topic.metadata.refresh.fast.interval.ms", "50")
        // A search for the end of the log waits at the broker that is gone: only this finds another.
        .set("topic.metadata.refresh.interval.ms", "1000")
        .set("metadata.max.age.ms", "15000")
        .set("retry.backoff.ms", "50")
        .set("retry.backoff.max.ms", "250");
    let protocol = match (&settings.tls, &settings.sasl) {
        (None, None) => "plaintext",
        (None, Some(_)) => "sasl_plaintext",
        (Some(_), None) => "ssl",
        (Some(_), Some(_)) => "sasl_ssl",
    };
    config.set("security.protocol", protocol);
    if let Some(tls) = &settings.tls {
        let checked = match tls.server_name {
            ServerName::Checked => "https",
            ServerName::Unchecked => "none",
        };
        config.set("ssl.endpoint.identification.algorithm", checked);
        if let Some(authorities) = &tls.authorities {
            config.set("ssl.ca.location", authorities.to_string_lossy());
        }
        if let Some(identity) = &tls.identity {
            config.set("ssl.certificate.location", identity.certificate.to_string_lossy());
            config.set("ssl.key.location", identity.key.to_string_lossy());
        }
    }
    if let Some(sasl) = &settings.sasl {
        config.set("sasl.mechanisms", sasl.mechanism.name());
        config.set("sasl.username", &sasl.user).set("sasl.password", sasl.password.reveal());
    }
    config
}

/// The properties of a producer, one of `settings.connections`.
pub(super) fn producing(settings: &Settings) -> ClientConfig {
    let mut config = base(settings);
    let kib = settings.unacknowledged_bytes_max / usize::from(settings.connections) / 1024;
    config
        .set("acks", "all")
        // A message goes out once. So an outcome is exact, nothing arrives after it was reported but
        // what is on the wire already, and the client makes no duplicates. The owner's rule sends
        // again what a claim shows to be missing.
        .set("retries", "0")
        // An idempotent producer would stop all partitions of the node when a message of one times
        // out, until all that is under way has drained, and end with a fatal error when a broker
        // has forgotten it. It would guard what the owner's rule guards: order and duplicates.
        .set("enable.idempotence", "false")
        .set("message.timeout.ms", settings.append_timeout.as_millis().to_string())
        .set("request.timeout.ms", settings.append_timeout.as_millis().to_string())
        .set("message.max.bytes", BATCH_BYTES_MAX.to_string())
        // Shards batch their commits themselves.
        .set("queue.buffering.max.ms", "0")
        .set("queue.buffering.max.messages", "100000")
        .set("queue.buffering.max.kbytes", kib.max(BATCH_BYTES_MAX / 1024 + 1).to_string())
        .set("compression.type", "none");
    config
}

/// The properties of a consumer that reads partitions.
pub(super) fn reading(settings: &Settings) -> ClientConfig {
    let mut config = asking(settings);
    config
        // librdkafka assigns nothing without a name for a group. The group is never joined.
        .set("group.id", format!("{}.readers", settings.topic()))
        .set("fetch.wait.max.ms", settings.fetch_wait.as_millis().to_string())
        .set("fetch.min.bytes", "1")
        .set("max.partition.fetch.bytes", FETCH_BYTES_OF_PARTITION.to_string())
        .set("fetch.max.bytes", FETCH_BYTES.to_string())
        .set("receive.message.max.bytes", (FETCH_BYTES + BATCH_BYTES_MAX).to_string())
        .set("queued.max.messages.kbytes", READ_AHEAD_KIB.to_string())
        .set("queued.min.messages", "10000")
        // How soon a partition is fetched again after its reader took something, by default a second.
        .set("fetch.queue.backoff.ms", "2")
        .set("fetch.error.backoff.ms", "50")
        .set("check.crcs", "true")
        .set("auto.offset.reset", "error")
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("enable.partition.eof", "false");
    config
}

/// The properties of a client that asks for the ends of partitions and trims them.
pub(super) fn asking(settings: &Settings) -> ClientConfig {
    let mut config = base(settings);
    // The replicated end. What others write in a transaction would hold the other end back for good.
    config.set("isolation.level", "read_uncommitted");
    config
}

/// librdkafka refuses a property. Its value is left out: it may be the password.
pub(super) fn refused(error: &KafkaError) -> SettingsError {
    SettingsError::new(match error {
        KafkaError::ClientConfig(_, what, key, _) => format!("librdkafka refuses {key}: {what}"),
        other => format!("librdkafka cannot start: {other}"),
    })
}
