//! What every service answers beside its methods, asked of the running example.

use stadium_example_geo::proto::{Device, GeoEvent, geo};
use stadium_rpc::metadata::authentication::{self, Authentication};
use stadium_rpc::proto::log_level_request::Level;
use stadium_rpc::proto::method_description::Interaction::{RequestResponse, RequestStream};
use stadium_rpc::proto::{
    DescribeRequest, Description, Health, HealthRequest, LogLevel, LogLevelRequest, QuiesceRequest, Quiesced,
    Statistics, StatisticsRequest, health,
};
use stadium_rpc::{CallError, CallOptions, Client, ClientConfig, Method, ServiceClient};

use crate::fixture::{PATIENCE, Service};

const HEALTH: Method<HealthRequest, Health> = Method::unary("geo/health");
const DESCRIBE: Method<DescribeRequest, Description> = Method::unary("geo/describe");
const STATISTICS: Method<StatisticsRequest, Statistics> = Method::unary("geo/statistics");
const QUIESCE: Method<QuiesceRequest, Quiesced> = Method::unary("geo/quiesce");
const LOG_LEVEL: Method<LogLevelRequest, LogLevel> = Method::unary("geo/log-level");

fn client(service: &Service) -> ServiceClient {
    let config = ClientConfig { deadline: PATIENCE, ..ClientConfig::at(vec![service.address]) };
    Client::start(config).expect("the client starts").service(geo::NAME)
}

const TOKEN: &str = "of-the-operators";

/// The operators' token in a file.
fn token() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let path = folder.path().join("token");
    std::fs::write(&path, TOKEN).expect("the directory is writable");
    let path = path.display().to_string();
    (folder, path)
}

/// Metadata that shows it.
fn bearer() -> Vec<u8> {
    let mut metadata = Vec::new();
    authentication::write(&mut metadata, Authentication::Bearer(TOKEN));
    metadata
}

#[test]
fn the_service_describes_its_methods_and_their_messages() {
    let service = Service::start(&[]);
    let description =
        client(&service).call(&DESCRIBE, &DescribeRequest {}).wait().expect("it describes itself");
    assert_eq!((description.name.as_str(), description.version.as_str()), ("geo", "1"));
    assert_eq!(description.file_descriptor_set, geo::FILE_DESCRIPTOR_SET);
    let methods = description.methods.iter().map(|method| {
        let types = (method.request_type.as_str(), method.answer_type.as_str());
        (method.route.as_str(), method.interaction(), types)
    });
    assert_eq!(
        methods.collect::<Vec<_>>(),
        [
            ("geo/Store", RequestResponse, ("geo.v1.GeoEvent", "geo.v1.StorageResponse")),
            ("geo/Last", RequestResponse, ("geo.v1.Device", "geo.v1.GeoEvent")),
            ("geo/Near", RequestStream, ("geo.v1.Circle", "geo.v1.GeoEvent")),
            ("geo/Watch", RequestStream, ("geo.v1.WatchRequest", "geo.v1.GeoEvent")),
        ]
    );
    assert!(description.methods.iter().all(|method| method.idempotent));
}

#[test]
fn statistics_count_every_end_of_a_call() {
    let service = Service::start(&[]);
    let geo_client = client(&service);
    let event = |latitude| GeoEvent { device_id: "phone-1".to_owned(), latitude, ..GeoEvent::default() };
    for _ in 0..3 {
        geo_client.call(&geo::STORE, &event(1.0)).wait().expect("it is stored");
    }
    let refused = geo_client.call(&geo::STORE, &event(91.0)).wait();
    assert!(matches!(&refused, Err(CallError::Rejected { code, .. }) if code == "GEO-001"), "{refused:?}");
    let unknown = geo_client.call(&geo::LAST, &Device { device_id: "nobody".to_owned() }).wait();
    assert!(matches!(&unknown, Err(CallError::Rejected { code, .. }) if code == "GEO-004"), "{unknown:?}");

    let statistics = geo_client.call(&STATISTICS, &StatisticsRequest {}).wait().expect("it counts");
    let counts = statistics.methods.iter().map(|method| {
        (
            method.route.as_str(),
            method.ok,
            method.rejected,
            method.busy + method.failed + method.expired + method.cancelled,
        )
    });
    assert_eq!(
        counts.collect::<Vec<_>>(),
        [("geo/Store", 3, 1, 0), ("geo/Last", 0, 1, 0), ("geo/Near", 0, 0, 0), ("geo/Watch", 0, 0, 0)]
    );
    assert_eq!(statistics.connections, 1);
}

#[test]
fn the_log_level_changes_while_the_service_runs() {
    let (_folder, token) = token();
    let service = Service::start(&["--log-level", "warn", "--operators", &token]);
    let geo_client = client(&service);
    let metadata = bearer();
    let options = CallOptions { metadata: &metadata, ..CallOptions::default() };
    let level = |wanted: Level| {
        let request = LogLevelRequest { level: wanted.into() };
        geo_client.call_with(&LOG_LEVEL, &request, &options).wait().expect("it has a log level").level()
    };
    assert_eq!(level(Level::Unspecified), Level::Warn);
    assert_eq!(level(Level::Debug), Level::Debug);
    assert_eq!(level(Level::Unspecified), Level::Debug);
}

#[test]
fn a_service_that_is_asked_to_quiesce_leaves_by_itself() {
    let (_folder, token) = token();
    let mut service = Service::start(&["--operators", &token]);
    let geo_client = client(&service);
    let health = geo_client.call(&HEALTH, &HealthRequest {}).wait().expect("it is well");
    assert_eq!(health.status(), health::Status::Serving);

    let request = QuiesceRequest { within_ms: 0 };
    let refused = geo_client.call(&QUIESCE, &request).wait();
    assert!(matches!(&refused, Err(CallError::Rejected { code, .. }) if code == "RPC-012"), "{refused:?}");
    let metadata = bearer();
    let options = CallOptions { metadata: &metadata, ..CallOptions::default() };
    let quiesced = geo_client.call_with(&QUIESCE, &request, &options).wait().expect("it agrees to leave");
    assert_eq!(quiesced.inflight, 0);
    assert_eq!(service.wait().code(), Some(0));
}
