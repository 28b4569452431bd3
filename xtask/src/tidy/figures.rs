//! Measured figures: bench/results/NAME.md for people always has its NAME.json for machines.
//!
//! The JSON is a list of objects, one for each figure; `value` must be the median of `runs`, so that
//! nobody can improve a figure by editing one of the two.

use serde_json::Value;

use super::{File, Finding};

/// Keys that every figure carries; `must`, `aim` and `limit` may be null.
const KEYS: &[&str] = &["figure", "unit", "better", "runs", "value", "must", "aim", "peers"];

/// Checks all files of bench/results/ together.
pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let has = |path: &str| files.iter().any(|file| file.path == path);
    for file in files {
        if let Some(stem) = file.path.strip_suffix(".md") {
            if !has(&format!("{stem}.json")) {
                findings.push(Finding::new(&file.path, 0, "has no .json beside it"));
            }
        } else if let Some(stem) = file.path.strip_suffix(".json") {
            if !has(&format!("{stem}.md")) {
                findings.push(Finding::new(&file.path, 0, "has no .md beside it"));
            }
            findings.extend(list(&file.text).into_iter().map(|what| Finding::new(&file.path, 0, what)));
        }
    }
    findings
}

fn list(text: &str) -> Vec<String> {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(figures)) if !figures.is_empty() => figures.iter().filter_map(figure).collect(),
        Ok(_) => vec!["is not a list with at least one figure".into()],
        Err(error) => vec![format!("is not JSON: {error}")],
    }
}

/// What is wrong with one figure.
fn figure(figure: &Value) -> Option<String> {
    let name = figure["figure"].as_str().unwrap_or("(unnamed)");
    if let Some(missing) = KEYS.iter().find(|key| figure.get(**key).is_none()) {
        return Some(format!("`{name}` has no `{missing}`"));
    }
    if !matches!(figure["better"].as_str(), Some("higher" | "lower")) {
        return Some(format!("`{name}`: `better` is neither `higher` nor `lower`"));
    }
    let runs: Option<Vec<f64>> =
        figure["runs"].as_array().map(|runs| runs.iter().filter_map(Value::as_f64).collect());
    let median = runs.and_then(median);
    match (median, figure["value"].as_f64()) {
        (Some(median), Some(value)) if (median - value).abs() <= median.abs() * 1e-6 => None,
        _ => Some(format!("`{name}`: `value` is not the median of `runs`")),
    }
}

fn median(mut runs: Vec<f64>) -> Option<f64> {
    runs.sort_by(f64::total_cmp);
    let middle = runs.len() / 2;
    match runs.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(runs[middle]),
        _ => Some(f64::midpoint(runs[middle - 1], runs[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::{File, check};

    fn found(files: &[(&str, &str)]) -> usize {
        let files: Vec<File> =
            files.iter().map(|(path, text)| File { path: (*path).into(), text: (*text).into() }).collect();
        check(&files).len()
    }

    const GOOD: &str = r#"[{"figure": "f", "unit": "1/s", "better": "higher", "runs": [3, 1, 2], "value": 2,
                            "must": 1, "aim": null, "peers": {"mosquitto": 1}, "limit": null}]"#;

    #[test]
    fn a_page_with_its_list_passes() {
        assert_eq!(found(&[("bench/results/a.md", ""), ("bench/results/a.json", GOOD)]), 0);
    }

    #[test]
    fn a_lonely_file_is_found() {
        assert_eq!(found(&[("bench/results/a.md", "")]), 1);
        assert_eq!(found(&[("bench/results/a.json", GOOD)]), 1);
    }

    #[test]
    fn an_edited_median_an_empty_list_and_a_missing_key_are_found() {
        let with = |json: &str| found(&[("bench/results/a.md", ""), ("bench/results/a.json", json)]);
        assert_eq!(with(&GOOD.replace("\"value\": 2", "\"value\": 3")), 1);
        assert_eq!(with(&GOOD.replace("\"unit\"", "\"units\"")), 1);
        assert_eq!(with("[]"), 1);
        assert_eq!(with("{"), 1);
    }
}
