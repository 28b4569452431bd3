//! OTLP over HTTP/1.1 with Protocol Buffers.
//!
//! No redirect is followed and no proxy of the environment is used: telemetry goes to the configured
//! address or nowhere. TLS is checked against the authorities of the settings.

use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use super::delivery::{Delivery, RETRY_AFTER_MAX, Request};
use crate::config::{Config, Header};

const PROTOBUF: &str = "application/x-protobuf";

/// Bytes of an answer that are read: a collector's has a few, with its reason for a rejection.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

pub(crate) struct Http {
    agent: ureq::Agent,
    traces: String,
    metrics: String,
    headers: Vec<Header>,
}

impl Http {
    pub(crate) fn new(config: &Config) -> Self {
        let settings = ureq::Agent::config_builder()
            .timeout_global(Some(config.timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .tls_config(tls(&config.authorities))
            .max_idle_connections(2)
            .user_agent(format!("stadium/{}", config.version))
            .build();
        let base = config.endpoint.trim_end_matches('/');
        Self {
            agent: ureq::Agent::new_with_config(settings),
            traces: format!("{base}/v1/traces"),
            metrics: format!("{base}/v1/metrics"),
            headers: config.headers.clone(),
        }
    }

    pub(super) fn send(&self, request: &Request) -> Delivery {
        let (url, body) = match request {
            Request::Traces(request) => (&self.traces, request.encode_to_vec()),
            Request::Metrics(request) => (&self.metrics, request.encode_to_vec()),
        };
        let mut post = self.agent.post(url).header("content-type", PROTOBUF);
        for Header { name, value } in &self.headers {
            post = post.header(name, value);
        }
        let mut response = match post.send(&body[..]) {
            Ok(response) => response,
            Err(error) => return Delivery::later(error.to_string()),
        };
        let status = response.status().as_u16();
        match status {
            200..300 => {}
            429 | 502 | 503 | 504 => {
                let after = response.headers().get("retry-after");
                let seconds = after.and_then(|after| after.to_str().ok()?.trim().parse().ok());
                let after = seconds.map(|seconds| Duration::from_secs(seconds).min(RETRY_AFTER_MAX));
                return Delivery::Later {
                    reason: format!("the collector answers with status {status}"),
                    after,
                };
            }
            _ => return Delivery::refused(format!("the collector answers with status {status}")),
        }
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_ascii_lowercase();
        let answer = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        match answer {
            Ok(bytes) if bytes.is_empty() || kind.starts_with(PROTOBUF) => Delivery::read(&bytes),
            // Some collectors answer so whatever they are asked in.
            Ok(_) if kind.starts_with("application/json") => Delivery::read(&[]),
            Ok(_) => Delivery::refused("the answer is none of a collector: it is no Protocol Buffers"),
            Err(error) => Delivery::refused(format!("the answer cannot be read: {error}")),
        }
    }
}

fn tls(authorities: &[u8]) -> TlsConfig {
    let certificates: Vec<_> = parse_pem(authorities)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&certificates))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}
