//! Certificates from an ACME server (RFC 8555), such as Let's Encrypt: obtained, kept in the data
//! directory, renewed before they end.
//!
//! One task waits until an order is due, orders, answers the challenges on `acme.listen`, writes
//! `identity.pem`, and has the listeners read it again. After a failure it waits longer each time.
//!
//! The server never waits for the ACME server: until the first certificate is there, listeners show
//! a placeholder that nobody trusts, and while a renewal fails they show the certificate of before.
//! When to act is decided in [`schedule`], without a clock.

mod challenges;
mod examine;
mod figures;
mod files;
mod order;
mod schedule;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

pub use self::examine::{Examined, examine};
pub(crate) use self::figures::Figures;
use self::files::{Files, Held};
use self::order::Plan;
use self::schedule::Suggested;
use crate::error::Error;
use crate::settings::{Acme as Wanted, Settings};

/// The longest sleep: after it the clock, the file and the ACME server's suggestion are looked at
/// again, so that a suspended machine or a revoked certificate is noticed within hours.
const LOOK_AGAIN: Duration = Duration::from_secs(6 * 3_600);

const DAY_S: u64 = 86_400;

/// Has the listeners read their certificates again; the error in words.
pub(crate) type Reload = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// The task. Dropping it ends it; an order under way is given up, and taken up anew at the next
/// start.
#[derive(Debug)]
pub(crate) struct Acme(JoinHandle<()>);

impl Drop for Acme {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether certificates come from an ACME server.
pub(crate) fn is_on(wanted: &Wanted) -> bool {
    !wanted.domains.is_empty()
}

/// The settings, with the ACME certificate at the listeners that take it; what they show until the
/// first one is made.
///
/// # Errors
/// The data directory cannot be written.
pub(crate) fn applied(settings: &Settings, data: &Path) -> Result<Settings, Error> {
    let mut applied = settings.clone();
    if !is_on(&settings.acme) {
        return Ok(applied);
    }
    let files = Files::of(data);
    files
        .prepare(&settings.acme.domains)
        .map_err(|error| Error::Certificate(format!("{}: {error}", files.identity().display())))?;
    let takes = |name: &str| settings.acme.listeners.iter().any(|listener| listener == name);
    let identity = || Some(files.identity());
    for (name, tls) in [("mqtts", &mut applied.mqtts.tls), ("wss", &mut applied.wss.tls)] {
        if takes(name) && tls.certificate.is_none() {
            (tls.certificate, tls.key) = (identity(), identity());
        }
    }
    if takes("http") && applied.http.certificate.is_none() {
        (applied.http.certificate, applied.http.key) = (identity(), identity());
    }
    Ok(applied)
}

/// Begins, where it is on.
pub(crate) fn start(
    wanted: &Wanted,
    data: &Path,
    figures: Arc<Figures>,
    reload: Reload,
    runtime: &Runtime,
) -> Option<Acme> {
    if !is_on(wanted) {
        return None;
    }
    let plan = Plan::of(wanted, Files::of(data));
    let first_retry_s = u64::from(wanted.retry_s);
    Some(Acme(runtime.spawn(keep(plan, figures, reload, first_retry_s))))
}

/// Keeps a good certificate, for ever.
async fn keep(plan: Plan, figures: Arc<Figures>, reload: Reload, first_retry_s: u64) {
    let mut failures = 0;
    loop {
        let held = plan.files.held(&plan.domains);
        figures.holds(held.as_ref());
        let suggested = match &held {
            Some(held) if failures == 0 => order::suggested(&plan, held).await,
            _ => None,
        };
        wait(due(held.as_ref(), suggested), failures, first_retry_s, &plan).await;
        let held = plan.files.held(&plan.domains);
        tracing::info!(
            domains = plan.domains.join(" "),
            directory = plan.directory,
            "Certificate is ordered"
        );
        match order::obtain(&plan, held.as_ref()).await {
            Ok(identity) => match plan.files.store(&identity) {
                Ok(()) => {
                    failures = 0;
                    let held = plan.files.held(&plan.domains);
                    figures.obtained(held.as_ref());
                    let days_left = held.map_or(0, |held| held.until_s.saturating_sub(now_s()) / DAY_S);
                    tracing::info!(domains = plan.domains.join(" "), days_left, "Certificate was obtained");
                    if let Err(error) = reload() {
                        tracing::error!(error, "A listener did not take the new certificate");
                    }
                    continue;
                }
                Err(error) => {
                    failed(&format!("the certificate cannot be saved: {error}"), &mut failures, &figures)
                }
            },
            Err(error) => failed(&error, &mut failures, &figures),
        }
    }
}

/// When an order is due, in seconds since 1970.
fn due(held: Option<&Held>, suggested: Option<Suggested>) -> u64 {
    match held {
        Some(held) => schedule::renew_at_s(held.from_s, held.until_s, suggested, fastrand::f64()),
        None => 0,
    }
}

/// Waits until an order is due, and after failures at least for their delay.
async fn wait(due_s: u64, failures: u32, first_retry_s: u64, plan: &Plan) {
    let delay_s = schedule::retry_after_s(failures, first_retry_s, fastrand::f64());
    let mut due_s = due_s.max(now_s().saturating_add(delay_s));
    loop {
        let left = Duration::from_secs(due_s.saturating_sub(now_s()));
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(LOOK_AGAIN)).await;
        if left > LOOK_AGAIN
            && let Some(held) = plan.files.held(&plan.domains)
        {
            let suggested = order::suggested(plan, &held).await;
            due_s = due_s.min(due(Some(&held), suggested));
        }
    }
}

fn failed(why: &str, failures: &mut u32, figures: &Figures) {
    *failures = failures.saturating_add(1);
    figures.failed(why);
    tracing::warn!(error = why, attempt = *failures, "Certificate was not obtained");
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
