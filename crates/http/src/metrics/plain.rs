//! The text format of Prometheus, 0.0.4, made of OpenMetrics text, and which of the two a scraper wants.
//!
//! The samples are the same in both. Here a counter's family is named as its samples, with `_total`; an info is a gauge; there are
//! no units and no end mark.

use std::fmt::Write;

use axum::http::{HeaderMap, header};

const OPEN_METRICS: &str = "application/openmetrics-text";

/// Whether `Accept` prefers OpenMetrics to plain text (RFC 9110, 12.5.1). Wildcards and silence mean plain text, which everybody reads.
pub(crate) fn wants_open_metrics(headers: &HeaderMap) -> bool {
    let (mut open, mut plain) = (0.0_f32, 0.0_f32);
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
    for range in lines.flat_map(|line| line.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        let weight = weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0));
        match kind.as_str() {
            OPEN_METRICS => open = open.max(weight),
            "text/plain" => plain = plain.max(weight),
            _ => {}
        }
    }
    open > 0.0 && open >= plain
}

/// The same figures in the format 0.0.4.
pub(crate) fn plain(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len() + open_metrics.len() / 16);
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            // It is written under the name that the type decides.
            help = rest.split_once(' ');
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                kind => ("", kind),
            };
            if let Some((_, words)) = help.take() {
                let _ = writeln!(text, "# HELP {name}{suffix} {words}");
            }
            let _ = writeln!(text, "# TYPE {name}{suffix} {kind}");
        } else if !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_scraper_gets_open_metrics_where_it_prefers_it() {
        for (accept, wants) in [
            ("", false),
            ("*/*", false),
            ("text/plain", false),
            ("text/html, */*;q=0.1", false),
            ("application/openmetrics-text", true),
            // Prometheus 2.
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                true,
            ),
            ("application/openmetrics-text;q=0.2, text/plain;q=0.9", false),
            ("application/openmetrics-text;q=0", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(wants_open_metrics(&headers), wants, "{accept}");
        }
        assert!(!wants_open_metrics(&HeaderMap::new()));
    }

    #[test]
    fn families_are_named_as_their_samples() {
        let open = "# HELP a_jobs Jobs.\n# TYPE a_jobs counter\na_jobs_total 7\n# HELP a_build The version.\n\
                    # TYPE a_build info\na_build_info{version=\"1\"} 1\n# HELP a_up_seconds Up.\n# TYPE a_up_seconds gauge\n\
                    # UNIT a_up_seconds seconds\na_up_seconds 1.5\n# EOF\n";
        let expected = "# HELP a_jobs_total Jobs.\n# TYPE a_jobs_total counter\na_jobs_total 7\n# HELP a_build_info The version.\n\
                    # TYPE a_build_info gauge\na_build_info{version=\"1\"} 1\n# HELP a_up_seconds Up.\n# TYPE a_up_seconds gauge\n\
                    a_up_seconds 1.5\n";
        assert_eq!(plain(open), expected);
    }
}
