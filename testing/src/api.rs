//! The HTTP API as an application calls it: JSON in, JSON out, the admin key from the data directory.
//!
//! A status of 4xx or 5xx is an answer here, not an error. Inside a network namespace the calls are
//! made from within it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::deadline::until;
use crate::network::Namespace;

/// Time for one call.
const CALL: Duration = Duration::from_secs(30);

/// A client of the HTTP port.
#[derive(Clone, Debug)]
pub struct Api {
    address: SocketAddr,
    key: PathBuf,
    namespace: Option<Namespace>,
    /// The header `traceparent` of each call.
    traceparent: Option<String>,
}

impl Api {
    /// The API at an address, with the key that a file has.
    pub fn new(address: SocketAddr, key: PathBuf, namespace: Option<Namespace>) -> Self {
        Self { address, key, namespace, traceparent: None }
    }

    /// The same server, asked with the key or token in this file instead of the admin key.
    pub fn with_key(&self, file: &Path) -> Self {
        Self { key: file.to_owned(), ..self.clone() }
    }

    /// The same, with this header `traceparent` in each call.
    pub fn in_trace(&self, traceparent: &str) -> Self {
        Self { traceparent: Some(traceparent.to_owned()), ..self.clone() }
    }

    /// GET without a key: status and body.
    pub fn plain(&self, path: &str) -> Result<(u16, String)> {
        self.call("GET", path, None, None, None)
    }

    /// GET of a text with the admin key, which must be there.
    pub fn text(&self, path: &str) -> Result<String> {
        let (status, text) = self.call("GET", path, None, Some(&self.admin_key()?), None)?;
        ensure!(status == 200, "{path} answered {status}: {text}");
        Ok(text)
    }

    /// GET with the admin key.
    pub fn read(&self, path: &str) -> Result<(u16, Value)> {
        self.json("GET", path, None)
    }

    /// DELETE with the admin key.
    pub fn delete(&self, path: &str) -> Result<(u16, Value)> {
        self.json("DELETE", path, None)
    }

    /// POST with the admin key.
    pub fn post(&self, path: &str, body: &Value) -> Result<(u16, Value)> {
        self.json("POST", path, Some(body.to_string()))
    }

    /// PUT with the admin key.
    pub fn put(&self, path: &str, body: &Value) -> Result<(u16, Value)> {
        self.json("PUT", path, Some(body.to_string()))
    }

    /// POST with the admin key and an Idempotency-Key.
    pub fn post_keyed(&self, path: &str, key: &str, body: &Value) -> Result<(u16, Value)> {
        self.json_keyed("POST", path, Some(body.to_string()), Some(key))
    }

    /// Sends a push that must be accepted, and returns its id.
    pub fn push(&self, body: &Value) -> Result<String> {
        let (status, answer) = self.post("/api/push", body)?;
        ensure!(status == 202 && answer["status"] == "accepted", "{status}: {answer}");
        Ok(answer["id"].as_str().context("no id")?.to_owned())
    }

    /// The report of a push, once `holds` is true of it.
    pub fn report(&self, id: &str, within: Duration, holds: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut last = Value::Null;
        let report = until(within, "the push's report", || {
            let (status, report) = self.read(&format!("/api/pushes/{id}"))?;
            ensure!(status == 200, "{status}: {report}");
            last = report;
            Ok(holds(&last).then(|| last.clone()))
        });
        report.with_context(|| format!("last report: {last}"))
    }

    /// Whether the device has a connection. A device that nobody knows has none.
    pub fn connected(&self, device: &str) -> Result<bool> {
        let (status, report) = self.read(&format!("/api/devices/{device}"))?;
        match status {
            200 => report["connected"].as_bool().context("no `connected`"),
            404 => Ok(false),
            _ => anyhow::bail!("{status}: {report}"),
        }
    }

    /// The sum of a metric over its labels that contain `label`; 0 when there is none.
    pub fn metric(&self, name: &str, label: &str) -> Result<f64> {
        let text = self.text("/metrics")?;
        let mut sum = 0.0;
        for line in text.lines() {
            let (series, value) = match line.rsplit_once(' ') {
                Some(parts) if !line.starts_with('#') => parts,
                _ => continue,
            };
            let (family, labels) = series.split_once('{').unwrap_or((series, ""));
            if family == name && labels.contains(label) {
                sum += value.parse::<f64>().with_context(|| format!("not a number: {line}"))?;
            }
        }
        Ok(sum)
    }

    /// The admin key that the server made at first start.
    pub fn admin_key(&self) -> Result<String> {
        let key = std::fs::read_to_string(&self.key);
        Ok(key.with_context(|| format!("cannot read {}", self.key.display()))?.trim().to_owned())
    }

    fn json(&self, method: &str, path: &str, body: Option<String>) -> Result<(u16, Value)> {
        self.json_keyed(method, path, body, None)
    }

    fn json_keyed(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
        idempotency: Option<&str>,
    ) -> Result<(u16, Value)> {
        let (status, text) = self.call(method, path, body, Some(&self.admin_key()?), idempotency)?;
        let value = if text.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&text).with_context(|| format!("{status}, not JSON: {text}"))?
        };
        Ok((status, value))
    }

    fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
        key: Option<&str>,
        idempotency: Option<&str>,
    ) -> Result<(u16, String)> {
        let url = format!("http://{}{path}", self.address);
        let call = || -> Result<(u16, String)> {
            let agent = ureq::Agent::config_builder()
                .http_status_as_error(false)
                .timeout_global(Some(CALL))
                .build()
                .new_agent();
            let mut request = ureq::http::Request::builder().method(method).uri(&url);
            if let Some(key) = key {
                request = request.header("Authorization", format!("Bearer {key}"));
            }
            if let Some(idempotency) = idempotency {
                request = request.header("Idempotency-Key", idempotency);
            }
            if let Some(traceparent) = &self.traceparent {
                request = request.header("traceparent", traceparent);
            }
            let mut answer = match body {
                Some(body) => agent.run(request.header("Content-Type", "application/json").body(body)?),
                None => agent.run(request.body(())?),
            }
            .with_context(|| format!("{method} {url}"))?;
            let status = answer.status().as_u16();
            Ok((status, answer.body_mut().read_to_string()?))
        };
        match &self.namespace {
            Some(namespace) => namespace.within(call),
            None => call(),
        }
    }
}
