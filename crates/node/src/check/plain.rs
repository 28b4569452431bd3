//! A port that others than this machine reach, and that is not encrypted.

use super::{Findings, Severity};
use crate::mapping;
use crate::settings::Code;

/// Plain HTTP without a declared proxy.
pub(super) fn check(findings: &mut Findings<'_>) {
    if mapping::http::plain_text(&findings.loaded.settings.http).is_none() {
        return;
    }
    let message = "HTTP is not encrypted there: API keys travel in plain text";
    let remedy = "set http.certificate and http.key, or http.behind_proxy = true where a reverse proxy \
                  speaks HTTPS";
    findings.add((Severity::Warning, Code::Conflict), "http.listen", None, message, remedy);
}
