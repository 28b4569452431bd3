//! Checks the files of a log against their hash chain, without a server.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::audit_log::chain::{self, Continues};
use crate::audit_log::files;
use crate::spelling::hex;

/// The content of files whose chain is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Files that were read.
    pub files: usize,
    /// Entries in them.
    pub entries: u64,
    /// Lines that a crash tore: the chain goes on after them.
    pub torn: u64,
    /// Lines of versions that had no chain. They can be anybody's.
    pub unchained: u64,
    /// The value of the chain after the last line, 64 hexadecimal digits. Kept elsewhere, it shows
    /// later that nothing before it was changed.
    pub head: String,
    /// Whether the log contains the value that was asked for; true where none was.
    pub contains: bool,
}

/// Why the files are not what the server wrote.
#[derive(Debug)]
pub enum Broken {
    /// A file cannot be read.
    Io {
        /// Which.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A line was changed, added or removed: its chain does not continue the one before.
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The rule that the line breaks.
        problem: &'static str,
    },
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Line { path, line, problem } => write!(f, "{}:{line}: {problem}", path.display()),
        }
    }
}

impl std::error::Error for Broken {}

/// Reads all files of a data directory, the oldest first, and follows their chain.
///
/// # Errors
/// The first line that does not continue the chain, or a file that cannot be read.
pub fn verify(data_dir: &Path, head: Option<&str>) -> Result<Verified, Broken> {
    let mut verified = Verified {
        files: 0,
        entries: 0,
        torn: 0,
        unchained: 0,
        head: String::new(),
        contains: head.is_none(),
    };
    let mut before: Option<chain::Link> = None;
    verified.files = each_line(data_dir, |path, number, line| {
        let broken = |problem| Broken::Line { path: path.to_owned(), line: number, problem };
        let Some((object, link)) = chain::open(line) else {
            match serde_json::from_str::<Unchained>(line) {
                // Of a version without a chain, which can only have written before the first link.
                Ok(_) if before.is_none() => verified.unchained += 1,
                Ok(_) => return Err(broken("it has no chain, and lines before it have")),
                Err(_) => verified.torn += 1,
            }
            return Ok(());
        };
        let continues = serde_json::from_str::<Continues>(&object).ok();
        let named =
            continues.map(|line| chain::parse(&line.continues).ok_or_else(|| broken("it names no chain")));
        let expected = match (named.transpose()?, before) {
            (Some(named), Some(before)) if named != before => {
                return Err(broken("it continues another chain: lines before it are missing or changed"));
            }
            (Some(named), _) => named,
            (None, Some(before)) => {
                verified.entries += 1;
                before
            }
            (None, None) => return Err(broken("lines before it are missing")),
        };
        if chain::after(&expected, &object) != link {
            return Err(broken("it was changed, or lines before it were"));
        }
        before = Some(link);
        verified.head = hex(&link);
        verified.contains |= head.is_some_and(|head| head.eq_ignore_ascii_case(&verified.head));
        Ok(())
    })?;
    Ok(verified)
}

/// Hands over each line of the log, the oldest first, as it was written. Returns how many files
/// there are.
///
/// # Errors
/// A file cannot be read, or what `each` returns.
pub fn each_line(
    data_dir: &Path,
    mut each: impl FnMut(&Path, u64, &str) -> Result<(), Broken>,
) -> Result<usize, Broken> {
    let failed = |path: &Path, error| Broken::Io { path: path.to_owned(), error };
    let mut paths = files::all(data_dir).map_err(|error| failed(data_dir, error))?;
    paths.retain(|path| path.exists());
    for path in &paths {
        let file = File::open(path).map_err(|error| failed(path, error))?;
        for (at, line) in BufReader::new(file).split(b'\n').enumerate() {
            let line = line.map_err(|error| failed(path, error))?;
            if !line.is_empty() {
                each(path, at as u64 + 1, &String::from_utf8_lossy(&line))?;
            }
        }
    }
    Ok(paths.len())
}

/// A whole line of a version without a chain.
#[derive(Deserialize)]
struct Unchained {
    #[serde(rename = "at")]
    _at: String,
}
