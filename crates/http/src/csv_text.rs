//! Cells of CSV (RFC 4180) that a spreadsheet shows and never runs.
//!
//! A spreadsheet takes a cell for a formula that begins with `=`, `+`, `-` or `@`, also after a tab
//! or a carriage return. Such a cell gets an apostrophe in front, which spreadsheets take for the
//! sign of a text. The import removes it, so a file that was exported is imported unchanged.
//! Numbers stay as they are.

/// Writes cells as a line.
pub(crate) fn line<'a>(cells: impl IntoIterator<Item = &'a str>, text: &mut String) {
    for (place, cell) in cells.into_iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        push_cell(text, cell);
    }
    text.push_str("\r\n");
}

/// The text of a cell that [`line()`] wrote.
pub(crate) fn unmarked(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if would_run(rest.trim_start_matches('\'')) => rest,
        _ => cell,
    }
}

/// Writes a cell: in quotes where it holds what a reader would take for its end.
fn push_cell(text: &mut String, cell: &str) {
    let mark = if would_run(cell.trim_start_matches('\'')) { "'" } else { "" };
    if cell.contains([',', '"', '\r', '\n']) {
        text.push('"');
        text.push_str(mark);
        text.push_str(&cell.replace('"', "\"\""));
        text.push('"');
    } else {
        text.push_str(mark);
        text.push_str(cell);
    }
}

/// Whether a spreadsheet would take it for a formula. A system wallet's name, `@bank`, calls
/// nothing.
fn would_run(cell: &str) -> bool {
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
    let is_name = cell.strip_prefix('@').is_some_and(|name| name.chars().all(in_name));
    let begins = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    begins && !is_name && cell.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_marked_where_they_must_be_and_come_back() {
        for (cell, written) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("-12.50", "-12.50"),
            ("+7", "+7"),
            ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
            ("+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("@bank", "@bank"),
            ("\t=1+1", "'\t=1+1"),
            ("'=1", "''=1"),
            ("it's", "it's"),
            ("'quoted'", "'quoted'"),
        ] {
            let mut text = String::new();
            push_cell(&mut text, cell);
            assert_eq!(text, written);
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
            let record = reader.records().next();
            let read = record.map(|record| record.expect("one line")[0].to_owned()).unwrap_or_default();
            assert_eq!(unmarked(&read), cell);
        }
    }
}
