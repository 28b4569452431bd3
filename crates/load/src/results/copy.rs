//! Sends files to a store, large ones in parts.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use object_store::{ObjectStoreExt, PutPayload};

use super::failure::{Error, chain};
use super::files::RESULT;
use super::place::Place;
use super::transfer::{Sent, UploadOptions};

/// A file larger than this travels in parts of it: S3 wants at least 5 MiB and at most 10,000 of them.
pub(super) const PART_BYTES: usize = 8 * 1024 * 1024;

/// Sends them all, the result last. Gives the URLs of the copies.
pub(super) async fn send(
    files: &[PathBuf],
    url: &str,
    options: &UploadOptions,
    progress: &mut dyn FnMut(Sent<'_>),
) -> Result<Vec<String>, Error> {
    let mut files: Vec<(&str, &Path, u64)> =
        files.iter().map(|path| described(path)).collect::<Result<_, _>>()?;
    files.sort_by_key(|(name, ..)| *name == RESULT);
    let of_bytes = files.iter().map(|file| file.2).sum();
    let place = Place::find(url, options).await?;
    let mut copies = Vec::with_capacity(files.len());
    let mut bytes = 0;
    for (name, path, _) in files {
        progress(Sent { file: name, bytes, of_bytes });
        let mut source = File::open(path).map_err(|error| Error::File { path: path.to_owned(), error })?;
        let mut copy = Copy { place: &place, name, path, source: &mut source };
        copy.send(&mut |more| {
            bytes += more;
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

/// A file on its way.
struct Copy<'a> {
    place: &'a Place,
    name: &'a str,
    path: &'a Path,
    source: &'a mut File,
}

impl Copy<'_> {
    async fn send(&mut self, stored: &mut dyn FnMut(u64)) -> Result<(), Error> {
        let to = self.place.prefix.clone().join(self.name);
        let first = self.part()?;
        let store = self.place.store.as_ref();
        if first.len() < PART_BYTES {
            let length = first.len() as u64;
            store.put(&to, PutPayload::from(first)).await.map_err(|error| self.refused(&error))?;
            stored(length);
            return Ok(());
        }
        let mut upload = store.put_multipart(&to).await.map_err(|error| self.refused(&error))?;
        let mut part = first;
        while !part.is_empty() {
            let length = part.len() as u64;
            if let Err(error) = upload.put_part(PutPayload::from(part)).await {
                // The parts would lie there and cost; where the store is gone, its own rules remove them.
                let _ = upload.abort().await;
                return Err(self.refused(&error));
            }
            stored(length);
            part = self.part()?;
        }
        upload.complete().await.map(|_| ()).map_err(|error| self.refused(&error))
    }

    /// The next part of the file; empty at its end.
    fn part(&mut self) -> Result<Bytes, Error> {
        let mut part = Vec::new();
        let read = self.source.by_ref().take(PART_BYTES as u64).read_to_end(&mut part);
        read.map_err(|error| Error::File { path: self.path.to_owned(), error })?;
        Ok(part.into())
    }

    fn refused(&self, error: &object_store::Error) -> Error {
        let reason = chain(error);
        match error {
            // Nothing is read, so what is not found is the bucket.
            object_store::Error::NotFound { .. } => Error::NoBucket(self.place.bucket.clone()),
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
                Error::Credentials {
                    help: "look at the key, its rights and the clock of this machine",
                    reason,
                }
            }
            _ => Error::Refused { file: self.name.to_owned(), reason },
        }
    }
}
