//! The files that pages load: style sheets, scripts, an icon.

/// A file of the console.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Its content type.
    pub kind: &'static str,
    /// Its content.
    pub text: &'static str,
}

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// The file of this name; `None` where there is none.
#[must_use]
pub fn asset(name: &str) -> Option<Asset> {
    let (kind, text) = match name {
        "live.css" => (CSS, include_str!("page/live.css")),
        "live.js" => (JAVASCRIPT, include_str!("page/live.js")),
        "queues.css" => (CSS, include_str!("page/queues.css")),
        "queues.js" => (JAVASCRIPT, include_str!("page/queues.js")),
        "job.js" => (JAVASCRIPT, include_str!("page/job.js")),
        "platform.css" => (CSS, include_str!("page/platform.css")),
        "platform.js" => (JAVASCRIPT, include_str!("page/platform.js")),
        "pushes.js" => (JAVASCRIPT, include_str!("page/pushes.js")),
        "devices.js" => (JAVASCRIPT, include_str!("page/devices.js")),
        "audiences.js" => (JAVASCRIPT, include_str!("page/audiences.js")),
        "compose.js" => (JAVASCRIPT, include_str!("page/compose.js")),
        "schedules.js" => (JAVASCRIPT, include_str!("page/schedules.js")),
        "cluster.css" => (CSS, include_str!("page/cluster.css")),
        "cluster.js" => (JAVASCRIPT, include_str!("page/cluster.js")),
        "wallets.css" => (CSS, include_str!("page/wallets.css")),
        "wallets.js" => (JAVASCRIPT, include_str!("page/wallets.js")),
        "console.js" => (JAVASCRIPT, include_str!("page/console.js")),
        "lights.js" => (JAVASCRIPT, include_str!("page/lights.js")),
        "chart.js" => (JAVASCRIPT, include_str!("page/chart.js")),
        "shell.css" => (CSS, include_str!("page/shell.css")),
        "shell.js" => (JAVASCRIPT, include_str!("page/shell.js")),
        "confirm.js" => (JAVASCRIPT, include_str!("page/confirm.js")),
        "cells.js" => (JAVASCRIPT, include_str!("page/cells.js")),
        "paging.js" => (JAVASCRIPT, include_str!("page/paging.js")),
        "builder.js" => (JAVASCRIPT, include_str!("page/builder.js")),
        "history.js" => (JAVASCRIPT, include_str!("page/history.js")),
        "settings.js" => (JAVASCRIPT, include_str!("page/settings.js")),
        "nodes.js" => (JAVASCRIPT, include_str!("page/nodes.js")),
        "sessions.js" => (JAVASCRIPT, include_str!("page/sessions.js")),
        "retained.js" => (JAVASCRIPT, include_str!("page/retained.js")),
        "services.js" => (JAVASCRIPT, include_str!("page/services.js")),
        "configuration.js" => (JAVASCRIPT, include_str!("page/configuration.js")),
        "keys.js" => (JAVASCRIPT, include_str!("page/keys.js")),
        "audit.js" => (JAVASCRIPT, include_str!("page/audit.js")),
        "docs.js" => (JAVASCRIPT, include_str!("page/docs.js")),
        "unknown.js" => (JAVASCRIPT, include_str!("page/unknown.js")),
        "reference.css" => (CSS, include_str!("page/reference.css")),
        "docs.css" => (CSS, include_str!("page/docs.css")),
        "icon.svg" => ("image/svg+xml", include_str!("page/icon.svg")),
        _ => return None,
    };
    Some(Asset { kind, text })
}
