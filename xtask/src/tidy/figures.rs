//! Measured figures: bench/results/NAME.md for people always has its NAME.json for machines.
//!
//! The JSON is a list of objects, one for each figure; `value` must be the median of `runs`, so that
//! nobody can improve a figure by editing one of the two. The page's first table shows the same
//! figures in the same order; the README's tables are made of it.

use serde_json::Value;

use super::{File, Finding};
use crate::quotes::{figures_of, without_spread};

/// Keys that every figure carries; `must`, `aim` and `limit` may be null.
const KEYS: &[&str] = &["figure", "unit", "better", "runs", "value", "must", "aim", "peers"];

/// Checks all files of bench/results/ together.
pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let file_of = |path: String| files.iter().find(|file| file.path == path);
    for file in files {
        if let Some(stem) = file.path.strip_suffix(".md") {
            if file_of(format!("{stem}.json")).is_none() {
                findings.push(Finding::new(&file.path, 0, "has no .json beside it"));
            }
        } else if let Some(stem) = file.path.strip_suffix(".json") {
            let mut wrong = list(&file.text);
            match file_of(format!("{stem}.md")) {
                None => wrong.push("has no .md beside it".to_owned()),
                Some(page) if wrong.is_empty() => wrong = shown_otherwise(&file.text, &page.text),
                Some(_) => {}
            }
            findings.extend(wrong.into_iter().map(|what| Finding::new(&file.path, 0, what)));
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

/// Figures of a list that its page shows otherwise: other names, or numbers that differ by more
/// than their rounding.
fn shown_otherwise(list: &str, page: &str) -> Vec<String> {
    let figures: Vec<Value> = serde_json::from_str(list).unwrap_or_default();
    let (head, rows) = figures_of(page).unwrap_or_default();
    if rows.len() != figures.len() {
        return vec![format!("has {} figures, its page {}", figures.len(), rows.len())];
    }
    let differs = |(figure, row): (&Value, &Vec<&str>)| {
        let same = head.iter().zip(row).all(|(column, cell)| match *column {
            "figure" => figure["figure"].as_str() == Some(cell),
            "stadium" => is_rounded(cell, &figure["value"]),
            peer => figure["peers"].get(peer).is_none_or(|value| is_rounded(cell, value)),
        });
        (!same).then(|| format!("the page shows `{}` otherwise", row[0]))
    };
    figures.iter().zip(&rows).filter_map(differs).collect()
}

/// True where a cell shows the number with three digits or more, and where there is no number.
fn is_rounded(cell: &str, value: &Value) -> bool {
    let Some(value) = value.as_f64() else { return true };
    let shown = without_spread(cell).replace(',', "").parse::<f64>();
    shown.is_ok_and(|shown| (shown - value).abs() <= value.abs() * 0.006 + 0.0006)
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

    const PAGE: &str = "# A\n\n| figure | unit | stadium | mosquitto |\n|---|---|---|---|\n\
                        | f | 1/s | 2.00 (1.00 to 3.00) | 1.00 |\n";

    #[test]
    fn a_page_with_its_list_passes() {
        assert_eq!(found(&[("bench/results/a.md", PAGE), ("bench/results/a.json", GOOD)]), 0);
    }

    #[test]
    fn a_page_that_shows_another_number_name_or_count_is_found() {
        let with = |page: &str| found(&[("bench/results/a.md", page), ("bench/results/a.json", GOOD)]);
        assert_eq!(with(&PAGE.replace("2.00 (", "2.02 (")), 1);
        assert_eq!(with(&PAGE.replace("| 1.00 |", "| 0.98 |")), 1);
        assert_eq!(with(&PAGE.replace("| f |", "| g |")), 1);
        assert_eq!(with(""), 1);
    }

    #[test]
    fn a_lonely_file_is_found() {
        assert_eq!(found(&[("bench/results/a.md", "")]), 1);
        assert_eq!(found(&[("bench/results/a.json", GOOD)]), 1);
    }

    #[test]
    fn an_edited_median_an_empty_list_and_a_missing_key_are_found() {
        let with = |json: &str| found(&[("bench/results/a.md", PAGE), ("bench/results/a.json", json)]);
        assert_eq!(with(&GOOD.replace("\"value\": 2", "\"value\": 3")), 1);
        assert_eq!(with(&GOOD.replace("\"unit\"", "\"units\"")), 1);
        assert_eq!(with("[]"), 1);
        assert_eq!(with("{"), 1);
    }
}
