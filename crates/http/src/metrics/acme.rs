//! The figures of certificates from an ACME server.
//!
//! The end of the certificate is exported as a time, so that rules subtract the clock of their own.

use std::fmt;

use stadium_metrics::table::acme as table;

use crate::fleet::AcmeStats;
use crate::metrics::encoder::Encoder;

pub(crate) fn encode(to: &mut Encoder<'_>, stats: &AcmeStats) -> fmt::Result {
    to.value(table::ACME_EXPIRES, stats.expires_s as f64)?;
    to.value(table::ACME_CERTIFICATES, stats.obtained_total)?;
    to.value(table::ACME_FAILURES, stats.failed_total)?;
    to.value(table::ACME_FAILING, stats.failing.is_some())
}
