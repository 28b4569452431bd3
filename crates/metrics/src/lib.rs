//! The metrics of a server: one table of definitions, and all that is made of it.
//!
//! The server encodes its series from the rows of [`table`], under their names, types and help
//! texts. The reference page, the dashboards of Grafana, the alert rules of Prometheus and the page
//! of alerts are printed by `stadium metrics`. Tests parse each query of a dashboard or an alert,
//! and refuse names and labels that the table lacks.
//!
//! This crate knows no values: the HTTP port reads them.

pub mod alert;
pub mod alerts;
pub mod dashboard;
pub mod dashboards;
pub mod definition;
pub mod grafana;
pub mod page;
pub mod prometheus;
pub mod table;

#[cfg(test)]
mod tests;
