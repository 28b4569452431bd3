//! Rows of text in columns, for people, in the width that there is.
//!
//! A table that is too wide breaks its texts between words. Where that is not enough, each row
//! becomes a record of its own: its first cell, and below it the others with their heads. No cell
//! is ever cut, so that ids can be copied. Without a terminal the width is unlimited, as it is for
//! `grep` and `awk`, unless `COLUMNS` is set.

use crate::failure::Failure;
use crate::terminal::{Style, Terminal};

/// Blanks between columns.
const GAP: usize = 2;

/// Rows in columns as wide as their widest cell; those named right-aligned.
pub(crate) struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With these heads; one that ends in `>` is of numbers, and right-aligned.
    pub(crate) fn new(heads: &[&'static str]) -> Self {
        Self { heads: heads.to_vec(), rows: Vec::new() }
    }

    /// One more row: a cell for each head.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Whether it has no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the lines; heads, and of records what stands below their first line, faintly.
    pub(crate) fn print(&self, terminal: &Terminal) -> Result<(), Failure> {
        let (lines, faint) = self.lines(terminal.width());
        for (place, line) in lines.iter().enumerate() {
            if faint == Faint::First && place == 0 {
                terminal.data(&terminal.out(Style::Faint, line).to_string())?;
            } else if faint == Faint::Below && !line.starts_with("  ") {
                terminal.data(&terminal.out(Style::Strong, line).to_string())?;
            } else {
                terminal.data(line)?;
            }
        }
        Ok(())
    }

    /// The lines in this width.
    fn lines(&self, width: Option<usize>) -> (Vec<String>, Faint) {
        let natural: Vec<usize> = (0..self.heads.len()).map(|column| self.widest(column, length)).collect();
        let Some(width) = width.filter(|width| total(&natural) > *width) else {
            return (self.columns(&natural), Faint::First);
        };
        match self.narrowed(natural, width) {
            Some(widths) => (self.columns(&widths), Faint::First),
            None => (self.records(width), Faint::Below),
        }
    }

    /// The widest cell of a column, its head among them, by `measure`.
    fn widest(&self, column: usize, measure: impl Fn(&str) -> usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| measure(cell)).max().unwrap_or(0).max(bare(self.heads[column]).len())
    }

    /// Widths in which all fits, where texts are broken between words: the widest gives first.
    fn narrowed(&self, mut widths: Vec<usize>, width: usize) -> Option<Vec<usize>> {
        let word = |cell: &str| cell.split(' ').map(length).max().unwrap_or(0);
        let least: Vec<usize> = (0..widths.len()).map(|column| self.widest(column, word)).collect();
        while total(&widths) > width {
            let can_give = (0..widths.len()).filter(|&column| widths[column] > least[column]);
            let widest = can_give.max_by_key(|&column| widths[column])?;
            widths[widest] -= 1;
        }
        Some(widths)
    }

    fn columns(&self, widths: &[usize]) -> Vec<String> {
        let heads: Vec<String> = self.heads.iter().map(|head| bare(head).to_owned()).collect();
        let rows = std::iter::once(&heads).chain(&self.rows);
        rows.flat_map(|row| self.row_lines(row, widths)).collect()
    }

    /// A row: as many lines as its longest cell takes.
    fn row_lines(&self, row: &[String], widths: &[usize]) -> Vec<String> {
        let cells: Vec<Vec<String>> =
            row.iter().zip(widths).map(|(cell, width)| broken(cell, *width)).collect();
        let count = cells.iter().map(Vec::len).max().unwrap_or(1);
        let line = |number: usize| {
            let mut text = String::new();
            for (column, width) in widths.iter().enumerate() {
                let cell = cells.get(column).and_then(|lines| lines.get(number)).map_or("", String::as_str);
                let padding = " ".repeat(width.saturating_sub(length(cell)));
                let gap = if column == 0 { "" } else { &" ".repeat(GAP) };
                let is_number = self.heads[column].ends_with('>');
                let (before, after) = if is_number { (&*padding, "") } else { ("", &*padding) };
                text.extend([gap, before, cell, after]);
            }
            text.trim_end().to_owned()
        };
        (0..count).map(line).collect()
    }

    /// Each row by itself: its first cell that has a head, then `head: value` as many as fit on a line.
    fn records(&self, width: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let named = self.heads.iter().position(|head| !bare(head).is_empty()).unwrap_or(0);
        for row in &self.rows {
            let title: Vec<&str> = row.iter().take(named + 1).map(|cell| cell.trim()).collect();
            lines.push(title.join(" ").trim().to_owned());
            let mut line = String::new();
            for (head, cell) in self.heads.iter().zip(row).skip(named + 1) {
                if matches!(&**cell, "" | "-") {
                    continue;
                }
                let head = bare(head);
                let pair = if head.is_empty() { cell.clone() } else { format!("{head}: {cell}") };
                if !line.is_empty() && length(&line) + GAP + length(&pair) > width {
                    lines.push(std::mem::take(&mut line));
                }
                line = format!("{line}  {pair}");
            }
            lines.extend(Some(line).filter(|line| !line.is_empty()));
        }
        lines
    }
}

/// Which lines are secondary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Faint {
    /// The first one has the heads.
    First,
    /// Of records, those that are set in.
    Below,
}

fn bare(head: &str) -> &str {
    head.strip_suffix('>').unwrap_or(head)
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Text in lines of at most `width`, broken at blanks; a longer word has a line of its own.
pub(crate) fn broken(text: &str, width: usize) -> Vec<String> {
    if length(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(last) = lines.last_mut() else { continue };
        if last.is_empty() {
            last.push_str(word);
        } else if length(last) + 1 + length(word) <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues() -> Table {
        let mut table = Table::new(&["queue", "due>", "next"]);
        table.row(vec!["mails".into(), "7".into(), "in 3 hours and 20 minutes".into()]);
        table.row(vec!["a-long-name".into(), "1,000".into(), "-".into()]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let expected = [
            "queue          due  next",
            "mails            7  in 3 hours and 20 minutes",
            "a-long-name  1,000  -",
        ];
        assert_eq!(queues().lines(None), (expected.map(str::to_owned).to_vec(), Faint::First));
        assert_eq!(queues().lines(Some(45)).0, expected);
    }

    #[test]
    fn texts_are_broken_between_words_where_the_width_is_short() {
        let expected = [
            "queue          due  next",
            "mails            7  in 3 hours",
            "                    and 20",
            "                    minutes",
            "a-long-name  1,000  -",
        ];
        assert_eq!(queues().lines(Some(30)), (expected.map(str::to_owned).to_vec(), Faint::First));
    }

    #[test]
    fn rows_become_records_where_words_do_not_fit() {
        let expected =
            ["mails", "  due: 7", "  next: in 3 hours and 20 minutes", "a-long-name", "  due: 1,000"];
        assert_eq!(queues().lines(Some(20)), (expected.map(str::to_owned).to_vec(), Faint::Below));
    }
}
