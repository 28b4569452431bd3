//! A result as JSON: what `result.json` holds, written and read again.
//!
//! The format's number is looked at before anything else, so that a newer result is called newer and not broken.

use std::fmt;

use serde::Deserialize;

use crate::{FORMAT, RunResult};

/// Why a text is no result.
#[derive(Debug)]
pub enum ReadError {
    /// It is no JSON, or not that of a result; states where.
    Malformed(serde_json::Error),
    /// A later version of Stadium wrote it.
    Newer {
        /// Its format.
        format: u32,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Malformed(error) => write!(f, "this is no result of a run: {error}"),
            ReadError::Newer { format } => write!(
                f,
                "the result has format {format}, and this version reads up to {FORMAT}: read it with the Stadium that wrote it"
            ),
        }
    }
}

impl std::error::Error for ReadError {}

#[derive(Deserialize)]
struct Head {
    format: u32,
}

impl RunResult {
    /// Reads a result; one of a newer format is refused.
    pub fn from_json(text: &str) -> Result<RunResult, ReadError> {
        let Head { format } = serde_json::from_str(text).map_err(ReadError::Malformed)?;
        if format > FORMAT {
            return Err(ReadError::Newer { format });
        }
        serde_json::from_str(text).map_err(ReadError::Malformed)
    }

    /// Writes a result, on one line. A figure that is no number (a division by nothing) is written as zero.
    pub fn to_json(&self) -> String {
        let value = serde_json::to_value(self).expect("a result has text keys only");
        nulls_become_zero(value).to_string()
    }
}

/// JSON has no NaN: serde writes null, which no field takes but those that may be absent.
fn nulls_become_zero(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Array(list) => Value::Array(
            list.into_iter()
                .map(|one| if one.is_null() { Value::from(0.0) } else { nulls_become_zero(one) })
                .collect(),
        ),
        Value::Object(map) => {
            let absent = ["lost", "search"];
            let each = map.into_iter().map(|(key, one)| {
                let one = if one.is_null() && !absent.contains(&key.as_str()) {
                    Value::from(0.0)
                } else {
                    nulls_become_zero(one)
                };
                (key, one)
            });
            Value::Object(each.collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, SERVER};

    #[test]
    fn a_result_comes_back_as_it_was() {
        let run = sample::run(SERVER);
        let text = run.to_json();
        let back = RunResult::from_json(&text).expect("it is a result");
        // Reading may move a float by its last digit; counts and histograms are exact.
        assert_eq!((&back.total, &back.steps, &back.sessions), (&run.total, &run.steps, &run.sessions));
        assert_eq!(
            (&back.generator, &back.workers, &back.thresholds),
            (&run.generator, &run.workers, &run.thresholds)
        );
        assert_eq!(back.series.len(), run.series.len());
        for (back, run) in back.series.iter().zip(&run.series) {
            assert_eq!(
                (&back.response, &back.service, &back.errors),
                (&run.response, &run.service, &run.errors)
            );
            assert!((back.busy - run.busy).abs() < 1e-12);
        }
    }

    #[test]
    fn a_newer_result_and_none_at_all_are_distinguished() {
        let newer = RunResult::from_json("{\"format\":99,\"total\":\"changed\"}");
        assert!(matches!(newer, Err(ReadError::Newer { format: 99 })));
        for text in ["", "{}", "[]", "{\"format\":1,\"total\":5}"] {
            assert!(matches!(RunResult::from_json(text), Err(ReadError::Malformed(_))), "{text}");
        }
    }

    #[test]
    fn a_figure_that_is_no_number_does_not_spoil_the_result() {
        let mut run = sample::run(SERVER);
        run.generator.busy = f64::NAN;
        run.scraped[0].points.push((120.0, f64::INFINITY));
        let back = RunResult::from_json(&run.to_json()).expect("it is a result");
        assert_eq!(back.generator.busy, 0.0);
        assert_eq!(back.workers, run.workers);
    }
}
