//! A table of texts, as the views of a run share it.
//!
//! Cells are plain text with their units; the code that writes a table escapes, aligns and
//! separates.

/// A table with a title.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Table {
    pub(crate) title: &'static str,
    /// What to know before reading it; empty where nothing.
    pub(crate) note: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// A column's name and side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) side: Side,
}

/// Where a column's texts stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A text, and whether it is good or bad news; the text shows it too.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) news: News,
}

/// Whether a figure is good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum News {
    #[default]
    None,
    Good,
    Bad,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell { text, news: News::None }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::from(text.to_owned())
    }
}

impl Cell {
    /// Bad news where it is so.
    pub(crate) fn bad_if(text: String, bad: bool) -> Cell {
        Cell { text, news: if bad { News::Bad } else { News::None } }
    }
}

/// Columns whose names begin with `<` stand left, the others right.
pub(crate) fn columns(names: &[&'static str]) -> Vec<Column> {
    let column = |name: &&'static str| match name.strip_prefix('<') {
        Some(name) => Column { name, side: Side::Left },
        None => Column { name, side: Side::Right },
    };
    names.iter().map(column).collect()
}

impl Table {
    /// As lines of plain text: columns aligned, two spaces between them.
    pub(crate) fn lines(&self) -> Vec<String> {
        let width = |text: &str| text.chars().count();
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| {
                let cells = self.rows.iter().filter_map(|row| row.get(index)).map(|cell| width(&cell.text));
                cells.chain([width(column.name)]).max().unwrap_or(0)
            })
            .collect();
        let line = |texts: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for ((text, column), wide) in texts.zip(&self.columns).zip(&widths) {
                let fill = " ".repeat(wide.saturating_sub(width(text)));
                match column.side {
                    Side::Left => line.extend([text, &fill, "  "]),
                    Side::Right => line.extend([&fill, text, "  "]),
                }
            }
            line.trim_end().to_owned()
        };
        let mut lines = vec![line(&mut self.columns.iter().map(|column| column.name))];
        lines.extend(self.rows.iter().map(|row| line(&mut row.iter().map(|cell| cell.text.as_str()))));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_characters() {
        let table = Table {
            columns: columns(&["<step", "p99"]),
            rows: vec![vec!["wählen".into(), "1 µs".into()], vec!["x".into(), "100 ms".into()]],
            ..Table::default()
        };
        assert_eq!(table.lines(), ["step       p99", "wählen    1 µs", "x       100 ms"]);
    }
}
