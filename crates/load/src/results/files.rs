//! A run's files in a folder of its own: `result.json`, `report.html`, `series.csv`, `steps.csv`.
//!
//! Each file is written beside its place and then moved there, so that a name never stands for half a file; the result,
//! from which all others can be made again, comes first.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use stadium_report::{FORMAT, RunResult, csv, html};
use stadium_scenario::secret::Secrets;

use crate::conceal;

/// The file that has everything.
pub(super) const RESULT: &str = "result.json";

/// Why a result was not written or not read.
#[derive(Debug)]
pub enum Error {
    /// The folder has a result already.
    Taken(PathBuf),
    /// The system refused.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The file is no result of a run that this version understands; the text gives the reason.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl Error {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |error| Error::Io { path, error }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Taken(path) => {
                write!(
                    f,
                    "{} is there already: choose another folder, results are never written over",
                    path.display()
                )
            }
            Error::Io { path, error } => write!(f, "{}: {error}", path.display()),
            Error::Unreadable { path, reason } => write!(f, "{}: {reason}", path.display()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// Writes a run's files into `folder`, which is made where it is missing. Gives their paths, the result first.
///
/// # Errors
/// [`Error::Taken`] where the folder has a result; [`Error::Io`] where the system refuses: files written before that stay.
pub fn write(result: &RunResult, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    fs::create_dir_all(folder).map_err(Error::io(folder))?;
    let main = folder.join(RESULT);
    if main.exists() {
        return Err(Error::Taken(main));
    }
    put(&main, |file| serde_json::to_writer(file, result).map_err(io::Error::from))?;
    let mut paths = vec![main];
    for (name, text) in views(result) {
        let path = folder.join(name);
        put(&path, |file| file.write_all(text.as_bytes()))?;
        paths.push(path);
    }
    Ok(paths)
}

/// The files that are made from a result.
fn views(result: &RunResult) -> [(&'static str, String); 3] {
    [
        ("report.html", html::report(result)),
        ("series.csv", csv::series(result)),
        ("steps.csv", csv::steps(result)),
    ]
}

fn put(path: &Path, content: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<(), Error> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = File::create(&part).and_then(|file| {
        let mut buffer = BufWriter::new(&file);
        content(&mut buffer)?;
        buffer.flush()?;
        drop(buffer);
        file.sync_all()?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written.map_err(Error::io(path))
}

/// Reads a result: a file, or a folder that has one. Secrets that an older version left in it are hidden.
///
/// # Errors
/// [`Error::Io`] where it cannot be read, [`Error::Unreadable`] where it is no result or from a newer version.
pub fn read(path: &Path) -> Result<RunResult, Error> {
    let path = if path.is_dir() { path.join(RESULT) } else { path.to_owned() };
    let file = File::open(&path).map_err(Error::io(&path))?;
    let unreadable = |reason: String| Error::Unreadable { path: path.clone(), reason };
    let mut result: RunResult = serde_json::from_reader(BufReader::new(file))
        .map_err(|error| unreadable(format!("this is no result of a run: {error}")))?;
    match result.format {
        0 => Err(unreadable("this is no result of a run: it does not state its format".to_owned())),
        format if format > FORMAT => Err(unreadable(format!(
            "the result has format {format}, this version understands up to {FORMAT}: use a newer stadium"
        ))),
        _ => {
            conceal(&mut result, &Secrets::default());
            Ok(result)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::sample;

    fn result() -> RunResult {
        RunResult { format: FORMAT, ..sample::result(5) }
    }

    #[test]
    fn what_is_written_is_read_again_by_folder_and_by_file() {
        let folder = tempfile::tempdir().expect("a folder can be had");
        let run = folder.path().join("deep/run");
        let files = write(&result(), &run).expect("it is written");
        assert_eq!(files[0], run.join("result.json"));
        assert_eq!(read(&run).expect("it is read"), result());
        assert_eq!(read(&files[0]).expect("it is read"), result());
        let entries = fs::read_dir(&run).expect("it is there").flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        assert_eq!(
            names,
            ["report.html", "result.json", "series.csv", "steps.csv"],
            "and nothing half written"
        );
        assert_eq!(
            fs::read_to_string(&files[2]).expect("it is read").lines().count(),
            6,
            "five intervals and a head"
        );
    }

    #[test]
    fn a_result_is_never_written_over() {
        let folder = tempfile::tempdir().expect("a folder can be had");
        write(&result(), folder.path()).expect("it is written");
        let other = RunResult { id: "another".into(), ..result() };
        let error = write(&other, folder.path()).expect_err("the folder has a result");
        assert!(matches!(error, Error::Taken(_)), "{error}");
        assert_eq!(read(folder.path()).expect("it is read").id, result().id);
    }

    #[test]
    fn secrets_that_an_older_version_kept_are_not_shown_again() {
        let folder = tempfile::tempdir().expect("a folder can be had");
        let old = RunResult {
            command: ["stadium", "load", "run", "--set", "key=hunter2"].map(str::to_owned).to_vec(),
            scenario: "[variables]\npassword = \"hunter2\"\n".to_owned(),
            ..result()
        };
        write(&old, folder.path()).expect("it is written");
        let read = read(folder.path()).expect("it is read");
        assert!(!stadium_report::html::report(&read).contains("hunter2"));
        assert!(!format!("{read:?}").contains("hunter2"));
    }

    #[test]
    fn what_cannot_be_written_names_the_file() {
        let folder = tempfile::tempdir().expect("a folder can be had");
        let file = folder.path().join("file");
        fs::write(&file, "in the way").expect("it is written");
        let error = write(&result(), &file.join("run")).expect_err("a file is no folder");
        assert!(error.to_string().contains("file/run"), "{error}");
    }

    #[test]
    fn what_is_no_result_is_refused() {
        let folder = tempfile::tempdir().expect("a folder can be had");
        let path = folder.path().join("x.json");
        for (text, says) in [
            ("[1, 2]", "no result"),
            ("{}", "does not state its format"),
            ("{\"format\": 99}", "format 99"),
            ("not json", "line 1"),
        ] {
            fs::write(&path, text).expect("it is written");
            let error = read(&path).expect_err(text).to_string();
            assert!(error.contains(says) && error.contains("x.json"), "{text}: {error}");
        }
        assert!(matches!(read(&folder.path().join("none")), Err(Error::Io { .. })));
    }
}
