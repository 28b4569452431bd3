//! The rows that the issue asks for, with what each must reach beside the peers of the same run.

use super::sizes::Sizes;
use super::{ACCURACY, HTTP, HTTPS, SESSIONS, Tool, devices};
use crate::figure::{Better, Figure, Row, Samples, Sides};

/// Who is who. There is no bare loop: wrk is as bare as it gets.
const SIDES: Sides<Tool> = Sides {
    product: Tool::Stadium,
    peers: &[Tool::Wrk, Tool::Oha, Tool::K6, Tool::Ab, Tool::Tsung],
    limit: Tool::Wrk,
};

/// Every row, measured or not.
pub(super) fn figures(samples: &Samples<Tool>, sizes: &Sizes) -> Vec<Figure> {
    use Better::{Higher, Lower};
    let row = |measurement: &str, value: &str, figure: String, unit, better| Row {
        samples,
        sample: format!("{measurement}.{value}"),
        figure,
        unit,
        better,
    };
    let Sizes { connections, rate, devices, .. } = *sizes;
    let http = row(
        HTTP,
        "per_second",
        format!("HTTP requests from one core, {connections} kept connections, 100 B answers"),
        "requests/s",
        Higher,
    );
    let wrk = samples.median(&http.sample, Tool::Wrk);
    let others = http.best(&[Tool::Oha, Tool::K6, Tool::Ab, Tool::Tsung]);
    let http_must = most([wrk.map(|rate| 0.8 * rate), others]);
    let https = row(
        HTTPS,
        "per_second",
        format!("HTTPS requests from one core, {connections} kept connections"),
        "requests/s",
        Higher,
    );
    let https_must = https.best(&[Tool::Oha, Tool::K6]);
    let https_aim = samples.median(&https.sample, Tool::Wrk).map(|rate| 0.8 * rate);
    let sessions = row(
        SESSIONS,
        "per_second",
        format!("sessions of 4 steps with extraction and checks, {connections} users"),
        "sessions/s",
        Higher,
    );
    let slow = sessions.best(&[Tool::K6, Tool::Tsung]);
    vec![
        http.figure(&SIDES, http_must, wrk),
        https.figure(&SIDES, https_must, https_aim),
        sessions.figure(&SIDES, slow.map(|rate| 5.0 * rate), slow.map(|rate| 10.0 * rate)),
        row(
            ACCURACY,
            "late_p99_ms",
            format!("scheduled against sent at {rate} requests/s, 99th percentile"),
            "ms",
            Lower,
        )
        .figure(&SIDES, Some(1.0), None),
        row(
            devices::NAME,
            "bytes_each",
            format!("the generator's memory for each of {devices} simulated MQTT devices"),
            "bytes",
            Lower,
        )
        .figure(&SIDES, Some(600.0), Some(300.0)),
        row(
            devices::NAME,
            "connected",
            "simulated MQTT devices connected at once from this machine".to_owned(),
            "devices",
            Higher,
        )
        .figure(&SIDES, Some(100_000.0), Some(500_000.0)),
    ]
}

fn most(bounds: [Option<f64>; 2]) -> Option<f64> {
    bounds.into_iter().flatten().reduce(f64::max)
}
