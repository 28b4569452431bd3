//! The export of traces and metrics while the node runs.
//!
//! The exporter starts first, because all parts get its tracer, and ends when the last request is
//! answered. Metrics are those of the HTTP port; without one, none are exported.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stadium_http::MetricReader;
use stadium_telemetry::{Delivery, Exporter, Tracer, try_collector};

use crate::error::Error;
use crate::mapping;
use crate::settings::Settings;

/// Longest that the last spans and metrics may hold a stop up.
const PATIENCE: Duration = Duration::from_secs(2);

/// The export; nothing where telemetry is off.
#[derive(Default)]
pub(crate) struct Telemetry {
    exporter: Option<Exporter>,
    metrics: Arc<OnceLock<MetricReader>>,
}

impl Telemetry {
    /// Starts it, where the settings name a collector.
    pub(crate) fn start(settings: &Settings) -> Result<Self, Error> {
        let Some(config) = mapping::telemetry::config(settings).map_err(Error::Telemetry)? else {
            return Ok(Self::default());
        };
        let metrics = Arc::<OnceLock<MetricReader>>::default();
        let source = Arc::clone(&metrics);
        let read = move || source.get().map(MetricReader::read).unwrap_or_default();
        let exporter = Exporter::start(&config, Box::new(read)).map_err(|error| Error::Telemetry(error.0))?;
        if settings.http.listen.is_none() && settings.telemetry.metrics_interval_s > 0 {
            tracing::warn!("No metrics are exported: they are those of the HTTP port, which is off");
        }
        tracing::info!(endpoint = config.endpoint, protocol = ?config.protocol, "Telemetry is exported");
        Ok(Self { exporter: Some(exporter), metrics })
    }

    /// Records spans; nothing where telemetry is off.
    pub(crate) fn tracer(&self) -> Tracer {
        self.exporter.as_ref().map_or_else(Tracer::off, |exporter| exporter.tracer().clone())
    }

    /// Exports the metrics of this port from now on.
    pub(crate) fn read_from(&self, reader: MetricReader) {
        let _ = self.metrics.set(reader);
    }

    /// Exports what is left, and ends.
    pub(crate) fn stop(&mut self) {
        if let Some(exporter) = self.exporter.take() {
            exporter.stop(PATIENCE);
        }
    }
}

/// Sends an empty export to the collector of the settings; `None` where they name none.
///
/// # Errors
/// It did not take it, or cannot be asked, in words.
pub fn ask_collector(settings: &Settings) -> Option<Result<(), String>> {
    let config = mapping::telemetry::config(settings).transpose()?;
    let asked = config.and_then(|config| try_collector(&config));
    Some(asked.and_then(|delivery| match delivery {
        Delivery::Taken { .. } => Ok(()),
        Delivery::Later { reason, .. } | Delivery::Refused { reason } => Err(reason),
    }))
}
