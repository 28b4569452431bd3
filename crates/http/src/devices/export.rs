//! All devices of an audience, or all deliveries of a push, as a file however long.
//!
//! Pages are read as the client takes them. A failure after the first page ends the connection
//! early, so that nobody takes half of a file for all of it.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use serde_json::Value;
use stadium_push::{Command, DeliveryView, DeviceView, PushId};
use stadium_registry::{AppName, DeviceId, Selector};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::csv_text;
use crate::devices::import::{Format, TEXTS};
use crate::devices::views::listed;
use crate::platform::states::DeliveryReport;
use crate::request::app::App;
use crate::request::problem::Problem;
use crate::shards::ask_for;

/// Lines read at once.
const PAGE: u32 = 1_000;

/// What is exported, and how far it is.
pub(crate) struct Export {
    pub(crate) app: Arc<App>,
    pub(crate) of: AppName,
    pub(crate) format: Format,
    pub(crate) what: What,
    pub(crate) after: Option<DeviceId>,
}

/// What is exported.
pub(crate) enum What {
    /// Devices: those of an audience, or all.
    Devices(Option<Selector>),
    /// What became of a push for each device.
    Deliveries(PushId),
}

impl Export {
    /// The body. The first page is read before this returns, so that a refusal is a problem and no
    /// broken file.
    pub(crate) async fn begin(mut self) -> Result<Body, Problem> {
        let mut columns = Attributes::default();
        if self.format == Format::Csv
            && let What::Devices(_) = self.what
        {
            columns = self.attributes().await?;
        }
        let mut text = match (self.format, &self.what) {
            (Format::Ndjson, _) => String::new(),
            (Format::Csv, What::Devices(_)) => columns.heading(),
            (Format::Csv, What::Deliveries(_)) => {
                "device,state,detail,sent_at,acknowledged_at\r\n".to_owned()
            }
        };
        let mut more = self.page(&columns, &mut text).await?;
        let (to, from) = mpsc::channel::<io::Result<Bytes>>(1);
        tokio::spawn(async move {
            loop {
                if to.send(Ok(Bytes::from(std::mem::take(&mut text)))).await.is_err() || !more {
                    return;
                }
                match self.page(&columns, &mut text).await {
                    Ok(there_is) => more = there_is,
                    Err(problem) => {
                        tracing::warn!(problem = problem.in_words(), "An export broke off");
                        drop(to.send(Err(io::Error::other("it broke off"))).await);
                        return;
                    }
                }
            }
        });
        Ok(Body::from_stream(ReceiverStream::new(from)))
    }

    /// Writes the next page. Whether there is another.
    async fn page(&mut self, columns: &Attributes, text: &mut String) -> Result<bool, Problem> {
        let count = match &self.what {
            What::Devices(_) => {
                let devices = self.devices().await?;
                for view in &devices {
                    let json = listed(view);
                    match self.format {
                        Format::Csv => columns.line(&json, text),
                        Format::Ndjson => ndjson(&json, text),
                    }
                }
                self.after = devices.last().map(|view| view.device.id.clone());
                devices.len()
            }
            What::Deliveries(push) => {
                let command = Command::Deliveries {
                    app: self.of.clone(),
                    push: *push,
                    after: self.after.clone(),
                    deliveries_max: PAGE,
                };
                let deliveries: Vec<DeliveryView> = ask_for(&self.app, command).await?;
                for view in &deliveries {
                    let report = DeliveryReport::of(view);
                    match self.format {
                        Format::Csv => {
                            let DeliveryReport { device, state, detail, sent_at, acknowledged_at } = &report;
                            let text_of = |of: &Option<String>| of.clone().unwrap_or_default();
                            let cells = [
                                device,
                                *state,
                                &text_of(detail),
                                &text_of(sent_at),
                                &text_of(acknowledged_at),
                            ];
                            csv_text::line(cells, text);
                        }
                        Format::Ndjson => ndjson(&report, text),
                    }
                }
                self.after = deliveries.last().map(|view| view.device.clone());
                deliveries.len()
            }
        };
        Ok(count >= PAGE as usize)
    }

    async fn devices(&self) -> Result<Vec<DeviceView>, Problem> {
        let What::Devices(audience) = &self.what else { return Ok(Vec::new()) };
        let command = Command::Devices {
            app: self.of.clone(),
            audience: audience.clone(),
            prefix: String::new(),
            after: self.after.clone(),
            devices_max: PAGE,
        };
        ask_for(&self.app, command).await
    }

    /// The attributes that the devices have: read through all of them first, since a heading comes first.
    async fn attributes(&mut self) -> Result<Attributes, Problem> {
        let mut found = Attributes::default();
        loop {
            let devices = self.devices().await?;
            devices.iter().for_each(|view| found.see(&view.device));
            self.after = devices.last().map(|view| view.device.id.clone());
            if devices.len() < PAGE as usize {
                self.after = None;
                return Ok(found);
            }
        }
    }
}

/// The columns of attributes: a type and a name each. A name that has values of several types has several columns.
#[derive(Default)]
struct Attributes(std::collections::BTreeSet<(String, &'static str)>);

impl Attributes {
    fn see(&mut self, device: &stadium_registry::Device) {
        for (name, value) in &device.attributes {
            let kind = match value {
                stadium_registry::Value::Text(_) => "text",
                stadium_registry::Value::Number(_) => "number",
                stadium_registry::Value::Date(_) => "date",
            };
            self.0.insert((name.to_string(), kind));
        }
    }

    fn heading(&self) -> String {
        let mut text = String::new();
        let own = ["device"].into_iter().chain(TEXTS);
        let own = own.chain([
            "opt_in",
            "quiet_hours",
            "latitude",
            "longitude",
            "tags",
            "lists",
            "revoked",
            "registered_at",
            "last_seen",
        ]);
        let attributes = self.0.iter().map(|(name, kind)| format!("{kind}:{name}"));
        let cells: Vec<_> = own.map(ToOwned::to_owned).chain(attributes).collect();
        csv_text::line(cells.iter().map(String::as_str), &mut text);
        text
    }

    fn line(&self, device: &Value, text: &mut String) {
        let quiet = &device["quiet_hours"];
        let quiet = match (quiet["from"].as_str(), quiet["to"].as_str()) {
            (Some(from), Some(to)) => format!("{from}-{to}"),
            _ => String::new(),
        };
        let several = |name: &str| {
            let all = device[name].as_array().into_iter().flatten().filter_map(Value::as_str);
            all.collect::<Vec<_>>().join(";")
        };
        let own = ["device"].into_iter().chain(TEXTS).chain(["opt_in"]).map(|name| cell(&device[name]));
        let own = own.chain([
            quiet,
            cell(&device["location"]["latitude"]),
            cell(&device["location"]["longitude"]),
            several("tags"),
            several("lists"),
        ]);
        let own = own.chain(["revoked", "registered_at", "last_seen"].map(|name| cell(&device[name])));
        let attributes = self.0.iter().map(|(name, kind)| {
            let value = &device["attributes"][name];
            let (found, value) = match value {
                Value::String(_) => ("text", value),
                Value::Number(_) => ("number", value),
                other => ("date", &other["date"]),
            };
            if found == *kind { cell(value) } else { String::new() }
        });
        let cells: Vec<_> = own.chain(attributes).collect();
        csv_text::line(cells.iter().map(String::as_str), text);
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn ndjson(value: &impl serde::Serialize, text: &mut String) {
    text.push_str(&serde_json::to_string(value).expect("strings and numbers always serialise"));
    text.push('\n');
}
