//! The figures of certificates from an ACME server, for metrics.

use parking_lot::Mutex;
use stadium_http::fleet::AcmeStats;

use super::files::Held;

/// The figures; none before the first look at the certificate.
#[derive(Debug, Default)]
pub(crate) struct Figures(Mutex<Option<AcmeStats>>);

impl Figures {
    /// The figures, where ACME is on.
    pub(crate) fn stats(&self) -> Option<AcmeStats> {
        self.0.lock().clone()
    }

    /// The certificate that is there now.
    pub(super) fn holds(&self, held: Option<&Held>) {
        self.0.lock().get_or_insert_default().expires_s = held.map_or(0, |held| held.until_s);
    }

    /// The ACME server signed another one.
    pub(super) fn obtained(&self, held: Option<&Held>) {
        self.holds(held);
        let mut stats = self.0.lock();
        let stats = stats.get_or_insert_default();
        stats.obtained_total += 1;
        stats.failing = None;
    }

    /// An order failed, and why.
    pub(super) fn failed(&self, why: &str) {
        let mut stats = self.0.lock();
        let stats = stats.get_or_insert_default();
        stats.failed_total += 1;
        stats.failing = Some(why.to_owned());
    }
}
