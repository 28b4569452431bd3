//! `geo-client`: stores random events and prints the rate, or stores one event, or asks.
//!
//! Every call carries its device's id as the affinity key, so that with several instances one of them knows all
//! about a device. Answers go to standard output; a call that was not answered OK makes the exit code 1.

use std::cell::{Cell, RefCell};
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use clap::Parser;
use futures::executor::block_on;
use futures::future::join_all;
use hdrhistogram::Histogram;
use stadium_example_geo::ADDRESS;
use stadium_example_geo::discovery_flags::DiscoveryFlags;
use stadium_example_geo::proto::geo_event::Significance;
use stadium_example_geo::proto::{Circle, Device, GeoEvent, StorageResponse, geo};
use stadium_rpc::{CallError, CallOptions, Client, ClientConfig, ServiceClient};

/// Stores random events and prints rate and latencies; or one event; or asks where devices are.
#[derive(Parser)]
#[command(version)]
struct Flags {
    /// An instance of the service; name several by commas
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', default_values_t = [ADDRESS])]
    address: Vec<SocketAddr>,
    /// Instances are found there instead
    #[command(flatten)]
    discovery: DiscoveryFlags,
    /// Milliseconds that a call may take
    #[arg(long, value_name = "MS", default_value_t = 1_000)]
    deadline: u64,

    /// Random events to store
    #[arg(long, default_value_t = 100_000)]
    events: u64,
    /// Devices that they come from
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    devices: u64,
    /// Calls that are under way at once
    #[arg(long, value_name = "CALLS", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    in_flight: u32,

    /// Store one event of this device
    #[arg(long, value_name = "ID", requires = "lat", requires = "lon")]
    device: Option<String>,
    /// Degrees north
    #[arg(long, value_name = "DEGREES", allow_negative_numbers = true, requires = "device")]
    lat: Option<f64>,
    /// Degrees east
    #[arg(long, value_name = "DEGREES", allow_negative_numbers = true, requires = "device")]
    lon: Option<f64>,
    /// Ask where this device was last seen
    #[arg(long, value_name = "ID", conflicts_with = "device")]
    last: Option<String>,
    /// Ask for the devices around a place, as 37.98,23.73,5000
    #[arg(
        long,
        value_name = "LAT,LON,METRES",
        value_delimiter = ',',
        num_args = 1,
        allow_hyphen_values = true
    )]
    #[arg(conflicts_with_all = ["device", "last"])]
    near: Vec<f64>,
}

fn main() -> ExitCode {
    match run(Flags::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("geo-client: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(flags: Flags) -> anyhow::Result<()> {
    let mut config = match flags.discovery.start()? {
        Some(discovery) => ClientConfig::discovered(discovery),
        None => ClientConfig::at(flags.address.clone()),
    };
    let deadline = Duration::from_millis(flags.deadline);
    config.deadline = deadline;
    let client = Client::start(config).context("cannot start the client")?;
    let service = client.service(geo::NAME);
    if let (Some(device), Some(latitude), Some(longitude)) = (&flags.device, flags.lat, flags.lon) {
        return store_one(&service, device, latitude, longitude);
    }
    if let Some(device) = &flags.last {
        return last(&service, device);
    }
    match flags.near.as_slice() {
        [] => storm(&service, &flags),
        &[latitude, longitude, radius_m] => {
            near(&service, &Circle { latitude, longitude, radius_m }, deadline)
        }
        _ => bail!("--near takes a latitude, a longitude and metres: 37.98,23.73,5000"),
    }
}

fn store_one(service: &ServiceClient, device: &str, latitude: f64, longitude: f64) -> anyhow::Result<()> {
    let event = GeoEvent {
        device_id: device.to_owned(),
        timestamp_ms: now_ms(),
        latitude,
        longitude,
        significance: Significance::Significant.into(),
    };
    let answer = service.call_with(&geo::STORE, &event, &about(device)).wait()?;
    print_line(&format!("{:?} {}", answer.code(), answer.message))
}

fn last(service: &ServiceClient, device: &str) -> anyhow::Result<()> {
    let asked = Device { device_id: device.to_owned() };
    let event = service.call_with(&geo::LAST, &asked, &about(device)).wait()?;
    print_line(&line(&event))
}

fn near(service: &ServiceClient, circle: &Circle, patience: Duration) -> anyhow::Result<()> {
    // More credit is given as messages are taken, so that a slow terminal slows the service down.
    let mut events = service.stream(&geo::NEAR, circle, NEAR_CREDIT, &CallOptions::default());
    while let Some(event) = events.next_within(patience)? {
        print_line(&line(&event))?;
    }
    Ok(())
}

/// Events that the service may send ahead of us.
const NEAR_CREDIT: u32 = 256;

/// The longest latency that is measured: an hour, in microseconds.
const LATENCY_US_MAX: u64 = 3_600_000_000;

/// What became of the random events.
struct Tally {
    stored: u64,
    busy: u64,
    rejected: u64,
    failed: u64,
    why: Option<CallError>,
    /// Microseconds from a call to its answer, of those that were stored.
    latencies: Histogram<u64>,
}

impl Tally {
    fn new() -> anyhow::Result<Self> {
        let latencies =
            Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).context("cannot make a histogram")?;
        Ok(Self { stored: 0, busy: 0, rejected: 0, failed: 0, why: None, latencies })
    }

    fn take(&mut self, took: Duration, answer: Result<StorageResponse, CallError>) {
        match answer {
            Ok(_) => {
                self.stored += 1;
                self.latencies.saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
            }
            Err(CallError::Busy { .. }) => self.busy += 1,
            Err(error @ CallError::Rejected { .. }) => {
                self.rejected += 1;
                self.why.get_or_insert(error);
            }
            Err(error) => {
                self.failed += 1;
                self.why.get_or_insert(error);
            }
        }
    }
}

/// Stores random events: as many callers as calls may be under way, each awaiting an answer before its next call.
fn storm(service: &ServiceClient, flags: &Flags) -> anyhow::Result<()> {
    let (left, tally) = (Cell::new(flags.events), RefCell::new(Tally::new()?));
    let caller = async || {
        while let Some(rest) = left.get().checked_sub(1) {
            left.set(rest);
            let event = random_event(flags.devices);
            let begun = Instant::now();
            let answer = service.call_with(&geo::STORE, &event, &about(&event.device_id)).await;
            tally.borrow_mut().take(begun.elapsed(), answer);
        }
    };
    let begun = Instant::now();
    block_on(join_all((0..flags.in_flight).map(|_| caller())));
    let seconds = begun.elapsed().as_secs_f64();

    let Tally { stored, busy, rejected, failed, why, latencies } = tally.into_inner();
    print_line(&format!(
        "{stored} stored, {busy} busy, {rejected} rejected, {failed} failed in {seconds:.2} s"
    ))?;
    let ms = |quantile| latencies.value_at_quantile(quantile) as f64 / 1000.0;
    let rate = stored as f64 / seconds;
    print_line(&format!(
        "{rate:.0} stored/s; latency p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms",
        ms(0.5),
        ms(0.99),
        ms(1.0)
    ))?;
    match why {
        None => Ok(()),
        Some(why) => bail!("{} events were not stored, the first one: {why}", rejected + failed),
    }
}

fn random_event(devices: u64) -> GeoEvent {
    let significant = fastrand::u8(..10) == 0;
    GeoEvent {
        device_id: format!("device-{}", fastrand::u64(..devices)),
        timestamp_ms: now_ms(),
        latitude: fastrand::f64() * 180.0 - 90.0,
        longitude: fastrand::f64() * 360.0 - 180.0,
        significance: if significant { Significance::Significant } else { Significance::Minor }.into(),
    }
}

/// Calls about a device go where all calls about it go.
fn about(device: &str) -> CallOptions<'_> {
    CallOptions { key: Some(device.as_bytes()), ..CallOptions::default() }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn line(event: &GeoEvent) -> String {
    let GeoEvent { device_id, latitude, longitude, timestamp_ms, .. } = event;
    format!("{device_id} {latitude} {longitude} {timestamp_ms} {:?}", event.significance())
}

fn print_line(line: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{line}").context("cannot write to standard output")
}
