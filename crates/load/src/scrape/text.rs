//! The text formats of Prometheus: 0.0.4 and OpenMetrics 1.0.
//!
//! Only samples and types are read. A line that is no sample is ignored: one bad line must not hide
//! the others, and an answer without any sample is evidently no exposition.

use std::collections::HashMap;

/// A sample of an exposition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample<'a> {
    /// The metric with its labels, as written.
    pub(super) metric: &'a str,
    /// Whether it only grows.
    pub(super) counter: bool,
    /// Its value; always finite.
    pub(super) value: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Histogram,
    Summary,
    Other,
}

/// All samples worth a line in a report: buckets, the times at which series were created and what has no finite value are
/// left out.
pub(super) fn samples(text: &str) -> impl Iterator<Item = Sample<'_>> {
    let mut kinds: HashMap<&str, Kind> = HashMap::new();
    text.lines().filter_map(move |line| {
        let line = line.trim_end_matches('\r').trim_start_matches([' ', '\t']);
        if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.split_ascii_whitespace();
            if words.next() == Some("TYPE")
                && let (Some(name), Some(kind)) = (words.next(), words.next())
            {
                kinds.insert(name, kind_of(kind));
            }
            return None;
        }
        let (metric, rest) = split(line)?;
        let name = metric.split_once('{').map_or(metric, |(name, _)| name);
        let value: f64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
        let counter = counter(name, &kinds)?;
        value.is_finite().then_some(Sample { metric, counter, value })
    })
}

fn kind_of(word: &str) -> Kind {
    match word {
        "counter" => Kind::Counter,
        "histogram" | "gaugehistogram" => Kind::Histogram,
        "summary" => Kind::Summary,
        _ => Kind::Other,
    }
}

/// Whether a sample counts; nothing where it is not wanted.
fn counter(name: &str, kinds: &HashMap<&str, Kind>) -> Option<bool> {
    let own = kinds.get(name).copied();
    let of_family = |suffix: &str| name.strip_suffix(suffix).and_then(|family| kinds.get(family)).copied();
    match own {
        Some(Kind::Counter) => return Some(true),
        Some(Kind::Summary | Kind::Histogram | Kind::Other) => return Some(false),
        None => {}
    }
    if let Some(Kind::Histogram) = of_family("_bucket") {
        return None;
    }
    if let Some(Kind::Counter | Kind::Histogram | Kind::Summary) = of_family("_created") {
        return None;
    }
    if let Some(Kind::Counter) = of_family("_total") {
        return Some(true);
    }
    if let Some(Kind::Histogram | Kind::Summary) = of_family("_sum").or_else(|| of_family("_count")) {
        return Some(true);
    }
    // Without a type the name is all there is.
    Some(name.ends_with("_total"))
}

/// The metric with its labels, and what follows.
fn split(line: &str) -> Option<(&str, &str)> {
    let end = line.find([' ', '\t', '{'])?;
    let name = &line[..end];
    if name.is_empty()
        || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':'))
    {
        return None;
    }
    if !line[end..].starts_with('{') {
        return Some((name, &line[end..]));
    }
    // A brace may stand in a label's value.
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in line.bytes().enumerate().skip(end) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'}' if !quoted => {
                let (metric, rest) = line.split_at(at + 1);
                return Some((metric.strip_suffix("{}").unwrap_or(metric), rest));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(&str, bool, f64)> {
        samples(text).map(|sample| (sample.metric, sample.counter, sample.value)).collect()
    }

    #[test]
    fn the_text_of_stadium_serve_is_read() {
        let samples = read(include_str!("stadium.prom"));
        let find = |metric: &str| samples.iter().find(|sample| sample.0 == metric).copied();
        assert_eq!(find("stadium_uptime_seconds").map(|sample| sample.1), Some(false));
        assert_eq!(find("stadium_ready"), Some(("stadium_ready", false, 1.0)));
        assert_eq!(find("stadium_accepts_total"), Some(("stadium_accepts_total", true, 0.0)));
        assert_eq!(find("stadium_build_info{version=\"0.1.0\"}").map(|sample| sample.2), Some(1.0));
        assert_eq!(find("stadium_delivery_latency_seconds_count").map(|sample| sample.1), Some(true));
        assert_eq!(find("stadium_delivery_latency_seconds_sum").map(|sample| sample.1), Some(true));
        assert!(samples.iter().all(|sample| !sample.0.contains("_bucket")), "buckets are left out");
        assert!(samples.len() > 40, "{}", samples.len());
    }

    #[test]
    fn the_older_format_is_read_with_its_times_and_escapes() {
        // The example of the format's own documentation, shortened.
        let text = "# HELP http_requests_total The total number of HTTP requests.\n\
            # TYPE http_requests_total counter\n\
            http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000\n\
            # Escaping in label values:\n\
            msdos_file_access_time_seconds{path=\"C:\\\\DIR\\\\FILE.TXT\",error=\"Cannot find file:\\n\\\"FILE}.TXT\\\"\"} 1.458255915e9\n\
            metric_without_timestamp_and_labels 12.47\n\
            something_weird{problem=\"division by zero\"} +Inf -3982045\n\
            # TYPE rpc_duration_seconds summary\n\
            rpc_duration_seconds{quantile=\"0.5\"} 4773\n\
            rpc_duration_seconds_sum 1.7560473e+07\n\
            rpc_duration_seconds_count 2693\n\
            # TYPE http_request_duration_seconds histogram\n\
            http_request_duration_seconds_bucket{le=\"0.05\"} 24054\n\
            http_request_duration_seconds_count 144320\n";
        let expected = [
            ("http_requests_total{method=\"post\",code=\"200\"}", true, 1027.0),
            (
                "msdos_file_access_time_seconds{path=\"C:\\\\DIR\\\\FILE.TXT\",error=\"Cannot find file:\\n\\\"FILE}.TXT\\\"\"}",
                false,
                1.458255915e9,
            ),
            ("metric_without_timestamp_and_labels", false, 12.47),
            ("rpc_duration_seconds{quantile=\"0.5\"}", false, 4773.0),
            ("rpc_duration_seconds_sum", true, 1.7560473e7),
            ("rpc_duration_seconds_count", true, 2693.0),
            ("http_request_duration_seconds_count", true, 144320.0),
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn openmetrics_names_its_counters_by_family() {
        let text = "# TYPE foo counter\nfoo_total 17.0 1520879607.789 # {trace_id=\"x\"} 0.67\nfoo_created 1520430000.123\n\
            # TYPE bar_total gauge\nbar_total 3\nplain_total{} 4\n# EOF\n";
        assert_eq!(
            read(text),
            [("foo_total", true, 17.0), ("bar_total", false, 3.0), ("plain_total", true, 4.0)]
        );
    }

    #[test]
    fn lines_that_are_no_samples_are_ignored() {
        for text in
            ["<html>", "name", "name{a=\"b\" 1", "name one", "{} 1", "\u{fc}mlaut 1", "a NaN", "# TYPE", ""]
        {
            assert_eq!(read(text), [], "{text}");
        }
        assert_eq!(read("bad line here\r\nup 1\r\n"), [("up", false, 1.0)]);
    }
}
