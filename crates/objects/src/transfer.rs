//! Files become objects and objects become bytes, in parts.
//!
//! A large file travels as a multipart upload: the object exists when its last part was
//! acknowledged, whole or not at all. Files are read on a thread that may block, so that a runtime
//! which does other work meanwhile goes on.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use object_store::{ObjectStoreExt as _, PutPayload};

use crate::{Error, Pace, Place};

/// A file larger than this travels in parts: S3 wants at least 5 MiB.
pub const PART_BYTES: usize = 8 << 20;

/// S3 takes at most so many parts of an object.
const PARTS_MAX: u64 = 10_000;

/// The beginning of a file, or all of it, that becomes an object.
#[derive(Clone, Debug)]
pub struct Source {
    /// The open file: a name may be given to another one meanwhile.
    file: Arc<File>,
    /// Its name, for errors.
    path: PathBuf,
    /// How many of its bytes.
    bytes: u64,
}

impl Source {
    /// Opens a file of which `bytes` are sent, all of it where there is no number.
    ///
    /// # Errors
    /// `File`.
    pub fn open(path: PathBuf, bytes: Option<u64>) -> Result<Self, Error> {
        let opened = File::open(&path).and_then(|file| {
            let length = file.metadata()?.len();
            Ok((file, bytes.unwrap_or(length)))
        });
        match opened {
            Ok((file, bytes)) => Ok(Self { file: Arc::new(file), path, bytes }),
            Err(error) => Err(Error::File { path, error }),
        }
    }

    /// Bytes that are sent.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads a part, on a thread that may block.
    ///
    /// # Errors
    /// `File`, also where the file ends before.
    pub async fn read(&self, from: u64, bytes: usize) -> Result<Bytes, Error> {
        let file = Arc::clone(&self.file);
        let read = tokio::task::spawn_blocking(move || {
            let mut part = vec![0; bytes];
            file.read_exact_at(&mut part, from)?;
            Ok(Bytes::from(part))
        });
        let read = read.await.unwrap_or_else(|ended| Err(io::Error::other(ended)));
        read.map_err(|error| Error::File { path: self.path.clone(), error })
    }

    /// Bytes of one part: as few as the number of parts allows.
    fn part_bytes(&self) -> u64 {
        let least = self.bytes.div_ceil(PARTS_MAX).next_multiple_of(1 << 20);
        least.max(PART_BYTES as u64)
    }
}

/// Puts a file as one object, replacing it where it exists. `stored` sees the bytes of each part,
/// in their order, after the store has taken it.
///
/// Nothing exists under the name before all has arrived. Where it fails, parts that were stored are
/// removed as far as the store answers; its own rules for unfinished uploads remove the rest.
///
/// # Errors
/// `File`, `NoBucket`, `Credentials`, `Refused`.
pub async fn put_file(
    place: &Place,
    name: &str,
    source: &Source,
    pace: &Pace,
    stored: &mut (dyn FnMut(&[u8]) + Send),
) -> Result<(), Error> {
    let to = place.object(name);
    let refused = |error: object_store::Error| place.refused(name, &error);
    let part_bytes = source.part_bytes();
    let part_at = |from: u64| {
        let bytes = usize::try_from(part_bytes.min(source.bytes - from)).expect("a part fits in memory");
        source.read(from, bytes)
    };
    if source.bytes <= part_bytes {
        let all = part_at(0).await?;
        pace.take(all.len()).await;
        place.store.put(&to, PutPayload::from(all.clone())).await.map_err(refused)?;
        stored(&all);
        return Ok(());
    }
    let mut upload = place.store.put_multipart(&to).await.map_err(refused)?;
    let mut at = 0;
    while at < source.bytes {
        let sent = match part_at(at).await {
            Ok(part) => {
                pace.take(part.len()).await;
                upload.put_part(PutPayload::from(part.clone())).await.map_err(refused).map(|()| part)
            }
            Err(error) => Err(error),
        };
        match sent {
            Ok(part) => {
                at += part.len() as u64;
                stored(&part);
            }
            Err(error) => {
                let _ = upload.abort().await;
                return Err(error);
            }
        }
    }
    upload.complete().await.map(|_| ()).map_err(refused)
}

/// Reads the first `bytes` of an object, part by part in their order.
///
/// # Errors
/// `Missing`, `Short`, `Credentials`, `Refused`; the errors of `part`.
pub async fn read_object<E: From<Error>>(
    place: &Place,
    name: &str,
    bytes: u64,
    part: &mut (dyn FnMut(Bytes) -> Result<(), E> + Send),
) -> Result<(), E> {
    let from = place.object(name);
    let mut at = 0;
    let short = || Error::Short { object: name.to_owned(), wanted: bytes };
    while at < bytes {
        let end = bytes.min(at + PART_BYTES as u64);
        let read = place.store.get_range(&from, at..end).await;
        let read = match read {
            Ok(read) => read,
            // A range behind the end is refused, in the words of each store.
            Err(error) => match place.failed(name, &error) {
                Error::Refused { .. } if is_short(place, &from, end).await => return Err(short().into()),
                other => return Err(other.into()),
            },
        };
        if read.len() as u64 != end - at {
            return Err(short().into());
        }
        part(read)?;
        at = end;
    }
    Ok(())
}

async fn is_short(place: &Place, object: &object_store::path::Path, wanted: u64) -> bool {
    place.store.head(object).await.is_ok_and(|found| found.size < wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_grow_with_the_file_so_that_their_number_is_bounded() {
        let of = |bytes: u64| {
            let file = Arc::new(tempfile::tempfile().expect("a file can be had"));
            Source { file, path: PathBuf::new(), bytes }.part_bytes()
        };
        assert_eq!(of(0), PART_BYTES as u64);
        assert_eq!(of(PARTS_MAX * PART_BYTES as u64), PART_BYTES as u64);
        for bytes in [PARTS_MAX * PART_BYTES as u64 + 1, 1 << 40, 5 << 40] {
            assert!(bytes.div_ceil(of(bytes)) <= PARTS_MAX, "{bytes}");
        }
    }
}
