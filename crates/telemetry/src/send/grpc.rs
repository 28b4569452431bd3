//! OTLP over gRPC.
//!
//! The runtime belongs to the exporter's thread and runs while an export is under way, and no longer.
//! The connection is opened with the first export, and again after a failure.

use std::time::Duration;

use prost::Message;
use tokio::runtime::{Builder, Runtime};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Status};
use tonic_prost::ProstCodec;

use super::delivery::{Delivery, RETRY_AFTER_MAX, Request};
use crate::config::Config;
use crate::otlp::ExportResponse;

const TRACES: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const METRICS: &str = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";

pub(crate) struct Grpc {
    runtime: Runtime,
    channel: Channel,
    metadata: MetadataMap,
    timeout: Duration,
}

impl Grpc {
    pub(crate) fn open(config: &Config) -> Result<Self, String> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("the exporter's runtime cannot start: {error}"))?;
        let no_endpoint = |error| format!("{} is no address of a collector: {error}", config.endpoint);
        let mut endpoint = Endpoint::from_shared(config.endpoint.clone())
            .map_err(no_endpoint)?
            .connect_timeout(config.timeout)
            .user_agent(format!("stadium/{}", config.version))
            .map_err(no_endpoint)?;
        if config.endpoint.starts_with("https://") {
            let authorities = Certificate::from_pem(&config.authorities);
            let tls = ClientTlsConfig::new().ca_certificate(authorities);
            endpoint = endpoint.tls_config(tls).map_err(no_endpoint)?;
        }
        let mut metadata = MetadataMap::new();
        for header in &config.headers {
            let name = AsciiMetadataKey::from_bytes(header.name.as_bytes());
            let name = name.map_err(|_| format!("{:?} is no name of a header", header.name))?;
            let value = AsciiMetadataValue::try_from(&*header.value);
            let mut value = value.map_err(|_| format!("the value of the header {name} is no ASCII text"))?;
            value.set_sensitive(true);
            metadata.insert(name, value);
        }
        // It has to know the runtime whose sockets it will use.
        let channel = runtime.block_on(async { endpoint.connect_lazy() });
        Ok(Self { runtime, channel, metadata, timeout: config.timeout })
    }

    pub(super) fn send(&self, request: &Request) -> Delivery {
        let call = async {
            match request {
                Request::Traces(request) => self.call(TRACES, request.clone()).await,
                Request::Metrics(request) => self.call(METRICS, request.clone()).await,
            }
        };
        match self.runtime.block_on(async { tokio::time::timeout(self.timeout, call).await }) {
            Ok(Ok(response)) => Delivery::taken(response),
            Ok(Err(status)) => failed(&status),
            Err(_) => Delivery::later("the collector did not answer in time"),
        }
    }

    async fn call<M: Message + Default + 'static>(
        &self,
        path: &'static str,
        message: M,
    ) -> Result<ExportResponse, Status> {
        let mut client = tonic::client::Grpc::new(self.channel.clone());
        client.ready().await.map_err(|error| Status::unavailable(words(&error)))?;
        let mut request = tonic::Request::new(message);
        *request.metadata_mut() = self.metadata.clone();
        let codec: ProstCodec<M, ExportResponse> = ProstCodec::default();
        let answer = client.unary(request, PathAndQuery::from_static(path), codec).await?;
        Ok(answer.into_inner())
    }
}

/// The specification of OTLP (OTLP/gRPC response, failures) names the codes that may be repeated;
/// one of them only where the answer says when.
fn failed(status: &Status) -> Delivery {
    let reason = format!("the collector answers {:?}: {}", status.code(), status.message());
    let after = retry_delay(status.details()).map(|after| after.min(RETRY_AFTER_MAX));
    match status.code() {
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss => Delivery::Later { reason, after },
        Code::ResourceExhausted if after.is_some() => Delivery::Later { reason, after },
        // A connection that breaks in an answer ends so.
        Code::Unknown => Delivery::Later { reason, after },
        _ => Delivery::Refused { reason },
    }
}

/// `google.rpc.Status`, the details of a failure.
#[derive(Clone, PartialEq, Message)]
struct Details {
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Delay>,
}

#[derive(Clone, PartialEq, Message)]
struct Delay {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

fn retry_delay(details: &[u8]) -> Option<Duration> {
    let details = Details::decode(details).ok()?.details;
    let info = details.iter().find(|any| any.type_url.ends_with("/google.rpc.RetryInfo"))?;
    let delay = RetryInfo::decode(&info.value[..]).ok()?.retry_delay?;
    Some(Duration::new(u64::try_from(delay.seconds).ok()?, u32::try_from(delay.nanos).ok()?))
}

/// An error with its causes: tonic's own text is `transport error`.
fn words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_without_room_is_asked_again_where_it_says_when() {
        let info = RetryInfo { retry_delay: Some(Delay { seconds: 2, nanos: 500_000_000 }) };
        let any = Any {
            type_url: "type.googleapis.com/google.rpc.RetryInfo".to_owned(),
            value: info.encode_to_vec(),
        };
        let details = Details { details: vec![any] }.encode_to_vec();
        let with = Status::with_details(Code::ResourceExhausted, "full", details.into());
        let Delivery::Later { after, .. } = failed(&with) else { panic!("it may be repeated") };
        assert_eq!(after, Some(Duration::from_millis(2_500)));
        let without = Status::resource_exhausted("full");
        assert!(matches!(failed(&without), Delivery::Refused { .. }));
        assert!(matches!(failed(&Status::unavailable("away")), Delivery::Later { after: None, .. }));
        assert!(matches!(failed(&Status::unauthenticated("no")), Delivery::Refused { .. }));
    }
}
