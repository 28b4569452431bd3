//! The load of `cargo xtask bench memcache` for clients in Rust: the cells that stdin names, the keys,
//! and the check of every value.
//!
//! The peers of this folder include it, and crates/memcache/examples/memcache_load.rs does by its path.
//! The load in Java is bench/peers/memcache/java. Both do the same work with the same keys.

use std::error::Error;
use std::io::{self, BufRead as _, Write as _};
use std::time::Instant;

/// The reason that a cell is worthless.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Keys, which the bench has stored before.
const KEYS: usize = 10_000;
/// Bytes of a value.
const VALUE_BYTES: usize = 100;

/// The work of one line of stdin.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Callers that wait for each get before their next operation; 0 with `inflight`.
    pub callers: usize,
    /// Operations that one thread has in flight, half of them gets; 0 with `callers`.
    pub inflight: usize,
    /// Sets and gets together.
    pub operations: usize,
    /// There are no sets: all operations are gets.
    pub gets_only: bool,
}

impl Cell {
    /// Reads `--callers N` or `--inflight N`, `--operations N`, `--gets-only`.
    pub fn parse(line: &str) -> Result<Self, Failure> {
        let mut cell = Self::default();
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let field = match word {
                "--callers" => &mut cell.callers,
                "--inflight" => &mut cell.inflight,
                "--operations" => &mut cell.operations,
                "--gets-only" => {
                    cell.gets_only = true;
                    continue;
                }
                _ => return Err(format!("`{word}` is no option of a cell").into()),
            };
            *field = words.next().ok_or_else(|| format!("{word} has no number"))?.parse()?;
        }
        if (cell.callers == 0) == (cell.inflight == 0) {
            return Err("a cell has either callers or operations in flight".into());
        }
        Ok(cell)
    }

    /// Gets of each caller; with sets it does as many of those.
    pub fn gets_each(&self) -> usize {
        let gets = if self.gets_only { self.operations } else { self.operations / 2 };
        gets / self.callers.max(1)
    }

    /// Gets of all callers.
    fn gets(&self) -> usize {
        self.gets_each() * self.callers.max(1)
    }
}

/// Every key with its value: the key again and again.
pub struct Keys {
    names: Vec<String>,
    values: Vec<[u8; VALUE_BYTES]>,
}

impl Keys {
    /// All of them.
    pub fn new() -> Self {
        let names: Vec<String> = (0..KEYS).map(|key| format!("key:{key:08}")).collect();
        let value = |name: &String| std::array::from_fn(|at| name.as_bytes()[at % name.len()]);
        Self { values: names.iter().map(value).collect(), names }
    }

    /// The key that a caller stores in a round.
    pub fn stored(&self, caller: usize, round: usize) -> (&str, &[u8]) {
        let key = (caller * 7_919 + round * 31) % KEYS;
        (&self.names[key], &self.values[key])
    }

    /// The key that it reads in the same round, and the value that must come.
    pub fn read(&self, caller: usize, round: usize) -> (&str, &[u8]) {
        let key = (caller * 7_919 + round * 31 + KEYS / 2) % KEYS;
        (&self.names[key], &self.values[key])
    }
}

/// The address behind `--connect`.
pub fn address() -> Result<String, Failure> {
    let mut words = std::env::args().skip_while(|word| word != "--connect").skip(1);
    words.next().ok_or_else(|| "--connect ADDRESS is missing".into())
}

/// Runs the cell of each line of stdin, and prints the outcome as a line of JSON. `run` compares the
/// value of each get with the expected one, and returns the number of those that were equal.
pub fn serve(mut run: impl FnMut(&Cell) -> Result<usize, Failure>) -> Result<(), Failure> {
    for line in io::stdin().lock().lines() {
        let cell = Cell::parse(&line?)?;
        let begun = Instant::now();
        let hits = run(&cell)?;
        let seconds = begun.elapsed().as_secs_f64();
        let (gets, sets) = (cell.gets(), if cell.gets_only { 0 } else { cell.gets() });
        println!("{{\"seconds\":{seconds},\"sets\":{sets},\"gets\":{gets},\"hits\":{hits}}}");
        io::stdout().flush()?;
    }
    Ok(())
}
