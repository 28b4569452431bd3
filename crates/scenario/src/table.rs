//! Data that users draw rows from: from CSV, or written into the scenario.
//!
//! Which row is whose is the engine's business (a counter that all workers share, or chance); a
//! table states the order and holds the cells: texts in one string, so that a million rows cost
//! their text and sixteen bytes a cell.

use std::sync::Arc;

use crate::program::Slot;
use crate::value::Value;

/// A table.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The variables of its columns.
    pub columns: Vec<Slot>,
    /// How rows are drawn.
    pub order: Order,
    /// Its cells; copies of a program share them.
    pub rows: Arc<Rows>,
}

/// How rows are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// One after the other over all users; from the start again after the last.
    Sequential,
    /// Any row each time.
    Random,
    /// One after the other, each at most once in the run, over all workers; a user that finds none
    /// left ends the session.
    Unique,
}

/// The cells of a table.
#[derive(Debug, Default)]
pub struct Rows {
    texts: String,
    /// Row by row.
    cells: Vec<Cell>,
    width: usize,
}

#[derive(Debug, Clone, Copy)]
enum Cell {
    Null,
    Bool(bool),
    Number(f64),
    Text { start: u32, length: u32 },
}

impl Table {
    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts a row into the variables of its columns; numbers beyond the last row begin again at the first.
    pub fn take_row(&self, row: usize, into: &mut [Value]) {
        let Some(row) = row.checked_rem(self.len()) else {
            return;
        };
        let cells = &self.rows.cells[row * self.rows.width..][..self.rows.width];
        for (cell, slot) in cells.iter().zip(&self.columns) {
            let Some(variable) = into.get_mut(usize::from(slot.0)) else {
                continue;
            };
            match *cell {
                Cell::Null => *variable = Value::Null,
                Cell::Bool(value) => *variable = Value::Bool(value),
                Cell::Number(value) => *variable = Value::Number(value),
                Cell::Text { start, length } => {
                    let start = start as usize;
                    variable.set_text(&self.rows.texts[start..start + length as usize]);
                }
            }
        }
    }
}

impl Rows {
    /// None yet, of so many columns.
    pub fn new(width: usize) -> Rows {
        Rows { texts: String::new(), cells: Vec::new(), width }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a cell; rows are filled one after the other.
    ///
    /// # Errors
    /// Where the texts of all cells together pass 4 GiB.
    pub fn push(&mut self, value: &Value) -> Result<(), TooLarge> {
        let cell = match value {
            Value::Null => Cell::Null,
            Value::Bool(value) => Cell::Bool(*value),
            Value::Number(value) => Cell::Number(*value),
            Value::Text(text) => return self.push_text(text),
        };
        self.cells.push(cell);
        Ok(())
    }

    /// Appends a cell with a text.
    ///
    /// # Errors
    /// Where the texts of all cells together pass 4 GiB.
    pub fn push_text(&mut self, text: &str) -> Result<(), TooLarge> {
        let start = u32::try_from(self.texts.len()).map_err(|_| TooLarge)?;
        let length = u32::try_from(text.len()).map_err(|_| TooLarge)?;
        self.texts.push_str(text);
        self.cells.push(Cell::Text { start, length });
        Ok(())
    }
}

/// The texts of a table pass 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_fills_its_columns_variables() {
        let mut rows = Rows::new(2);
        for value in [Value::from("Ada"), Value::Number(1.0), Value::from("Bob"), Value::Null] {
            rows.push(&value).unwrap();
        }
        let table = Table {
            name: "t".into(),
            columns: vec![Slot(2), Slot(0)],
            order: Order::Sequential,
            rows: Arc::new(rows),
        };
        assert_eq!(table.len(), 2);
        let mut variables = vec![Value::Null, "other".into(), Value::Null];
        table.take_row(0, &mut variables);
        assert_eq!(variables, [Value::Number(1.0), "other".into(), "Ada".into()]);
        table.take_row(3, &mut variables);
        assert_eq!(variables, [Value::Null, "other".into(), "Bob".into()]);
    }
}
