//! Sends files to a store, the result last.

use std::io;
use std::path::{Path, PathBuf};

use stadium_objects::{Access, Error, Pace, Place, Source, put_file};

use super::files::RESULT;
use super::transfer::Sent;

/// Sends them all, the result last. Gives the URLs of the copies.
pub(super) async fn send(
    files: &[PathBuf],
    url: &str,
    access: &Access,
    progress: &mut (dyn FnMut(Sent<'_>) + Send),
) -> Result<Vec<String>, Error> {
    let mut files: Vec<(&str, &Path, u64)> =
        files.iter().map(|path| described(path)).collect::<Result<_, _>>()?;
    files.sort_by_key(|(name, ..)| *name == RESULT);
    let of_bytes = files.iter().map(|file| file.2).sum();
    let place = Place::find(url, access).await?;
    let mut copies = Vec::with_capacity(files.len());
    let mut bytes = 0;
    for (name, path, _) in files {
        progress(Sent { file: name, bytes, of_bytes });
        let source = Source::open(path.to_owned(), None)?;
        put_file(&place, name, &source, &Pace::default(), &mut |part| {
            bytes += part.len() as u64;
            progress(Sent { file: name, bytes, of_bytes });
        })
        .await?;
        copies.push(format!("{}/{name}", url.trim_end_matches('/')));
    }
    Ok(copies)
}

fn described(path: &PathBuf) -> Result<(&str, &Path, u64), Error> {
    let unreadable = |error| Error::File { path: path.clone(), error };
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| unreadable(io::Error::other("its name is no text")))?;
    Ok((name, path, bytes))
}
