//! Limits of this process against the bounds of the settings.

use super::{Findings, Severity};
use crate::settings::{Code, grouped};
use crate::{mapping, open_files};

/// Open files against connections: each connection is one.
pub(super) fn check(findings: &mut Findings<'_>) {
    let settings = &findings.loaded.settings;
    let http = if settings.http.listen.is_some() { u64::from(settings.http.connections_max) } else { 0 };
    let wanted = u64::from(settings.limits.connections_max) + http;
    let shards = mapping::shards::settings(settings, &settings.server.data);
    let own = open_files::own(mapping::edge::loops(settings), &shards);
    let room = open_files::limit().saturating_sub(own);
    if room >= wanted {
        return;
    }
    let setting = "limits.connections_max";
    // Nobody chose the default, and as many as fit are served.
    let severity = if findings.is_set(setting) { Severity::Warning } else { Severity::Note };
    let message = format!("the open-file limit of this process has room for {} connections", grouped(room));
    let remedy = format!(
        "raise it above {} (LimitNOFILE= of the systemd unit, --ulimit nofile= of the container, ulimit -Hn), or lower the setting",
        grouped(wanted + own)
    );
    findings.add((severity, Code::Limit), setting, None, message, remedy);
}
