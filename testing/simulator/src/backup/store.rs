//! A simulated object store: objects in memory, and requests whose fate the seed decides.
//!
//! Each program has a handle with a slot of its own: its requests happen at instants that no other
//! program shares. So the order of all requests follows from the seed, though files are read on
//! other threads. The fate of a request follows from its name and its time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use fastrand::Rng;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use super::Sabotage;
use super::plan::Faults;
use super::time::Time;

/// The store's clock differs from those of the programs, milliseconds.
const STORE_AHEAD_MS: u64 = 1_900_000_000_000;

/// The folder of markers.
const MARKERS: &str = "/under-way/";

/// An object.
#[derive(Debug, Clone)]
struct Object {
    bytes: Bytes,
    stored_ms: u64,
}

/// The objects, and the state of the store.
#[derive(Debug, Clone, Default)]
pub struct Bucket {
    objects: BTreeMap<String, Object>,
    /// No request is answered until then.
    pub away_until_ms: u64,
    /// Nothing can be stored until then.
    pub full_until_ms: u64,
    /// Requests that happened.
    pub requests: u64,
    /// Requests that failed or whose answer was lost.
    pub failures: u64,
}

impl Bucket {
    /// The names of all objects.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.objects.keys().map(String::as_str)
    }

    /// Flips a bit of an object. Returns its name.
    pub fn flip(&mut self, rng: &mut Rng) -> Option<String> {
        let names: Vec<_> = self
            .objects
            .iter()
            .filter(|(_, object)| !object.bytes.is_empty())
            .map(|(name, _)| name)
            .collect();
        let name = (*names.get(rng.usize(0..names.len().max(1)))?).clone();
        let object = self.objects.get_mut(&name)?;
        let mut bytes = object.bytes.to_vec();
        let at = rng.usize(0..bytes.len());
        bytes[at] ^= 1 << rng.u32(0..8);
        object.bytes = bytes.into();
        Some(name)
    }

    fn put(&mut self, now_ms: u64, name: &str, bytes: Bytes, creates: bool) -> Result<()> {
        if now_ms < self.full_until_ms {
            let source = io::Error::from(io::ErrorKind::StorageFull);
            return Err(Error::Generic { store: "simulated", source: Box::new(source) });
        }
        if creates && self.objects.contains_key(name) {
            return Err(exists(name));
        }
        self.objects.insert(name.to_owned(), Object { bytes, stored_ms: STORE_AHEAD_MS + now_ms });
        Ok(())
    }
}

/// The way of one program to the store.
#[derive(Debug, Clone)]
pub struct Handle {
    bucket: Arc<Mutex<Bucket>>,
    way: Option<Arc<Way>>,
}

#[derive(Debug)]
struct Way {
    seed: u64,
    slot: u64,
    time: Time,
    faults: Mutex<Faults>,
    sabotage: Sabotage,
    stopped_until_ms: AtomicU64,
    /// Markers that this program has stored.
    markers: Mutex<BTreeSet<String>>,
}

impl Handle {
    /// The way of the program in a slot.
    pub fn new(
        bucket: &Arc<Mutex<Bucket>>,
        (seed, slot): (u64, u64),
        time: Time,
        faults: Faults,
        sabotage: Sabotage,
    ) -> Self {
        let (faults, stopped_until_ms) = (Mutex::new(faults), AtomicU64::new(0));
        let way = Way { seed, slot, time, faults, sabotage, stopped_until_ms, markers: Mutex::default() };
        Self { bucket: Arc::clone(bucket), way: Some(Arc::new(way)) }
    }

    /// A way on which nothing takes time and nothing fails.
    pub fn at_once(bucket: &Arc<Mutex<Bucket>>) -> Self {
        Self { bucket: Arc::clone(bucket), way: None }
    }

    /// The program is stopped until then: it gets no answer, and renews no marker.
    pub fn stop_until(&self, at_ms: u64) {
        if let Some(way) = &self.way {
            way.stopped_until_ms.store(at_ms, Ordering::Relaxed);
        }
    }

    /// Nothing fails any more on this way.
    pub fn heal(&self) {
        if let Some(way) = &self.way {
            let mut faults = lock(&way.faults);
            *faults = Faults { usual_ms: faults.usual_ms, ..Faults::default() };
        }
    }

    async fn request<T>(
        &self,
        kind: Kind,
        name: &str,
        apply: impl FnOnce(&mut Bucket, u64) -> Result<T>,
    ) -> Result<T> {
        let Some(way) = &self.way else {
            return apply(&mut lock(&self.bucket), 0);
        };
        let Way { time, slot, .. } = &**way;
        let slot = *slot;
        if kind == Kind::Marker {
            // A timer has fired, and the program is stopped: it goes on later.
            way.stopped().await;
        }
        let fate = way.fate(kind, name);
        time.pause(slot, fate.before_ms).await;
        let now_ms = time.now_ms();
        let outcome = {
            let mut bucket = lock(&self.bucket);
            let is_away = now_ms < bucket.away_until_ms;
            if is_away || fate.fails {
                bucket.failures += 1;
                Err(failed(if is_away { "connection refused" } else { "503 slow down" }))
            } else {
                bucket.requests += 1;
                bucket.failures += u64::from(fate.is_lost);
                apply(&mut bucket, now_ms)
            }
        };
        time.pause(slot, fate.after_ms).await;
        way.stopped().await;
        match outcome {
            // A client that asks again after a lost answer finds its own object.
            Ok(_) if fate.is_lost && kind == Kind::Create && fate.is_repeated => Err(exists(name)),
            Ok(_) if fate.is_lost => Err(failed("connection reset")),
            outcome => outcome,
        }
    }
}

/// A kind of request to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Put,
    Create,
    Marker,
    Get,
    List,
    Delete,
}

struct Fate {
    before_ms: u64,
    after_ms: u64,
    fails: bool,
    is_lost: bool,
    is_repeated: bool,
}

impl Way {
    fn fate(&self, kind: Kind, name: &str) -> Fate {
        let mut hasher = DefaultHasher::new();
        (self.seed, self.slot, kind, name, self.time.now_ms()).hash(&mut hasher);
        let mut rng = Rng::with_seed(hasher.finish());
        let faults = *lock(&self.faults);
        let mut happens = |one_in: u32| one_in > 0 && rng.u32(0..one_in) == 0;
        let (fails, is_lost, is_slow) = (happens(faults.fails), happens(faults.lost), happens(faults.slow));
        let most = if is_slow { faults.slow_ms } else { faults.usual_ms };
        let takes_ms = rng.u64(0..=most);
        let before_ms = rng.u64(0..=takes_ms);
        let after_ms = takes_ms - before_ms;
        Fate { before_ms, after_ms, fails, is_lost, is_repeated: rng.bool() }
    }

    async fn stopped(&self) {
        let until_ms = self.stopped_until_ms.load(Ordering::Relaxed);
        if self.time.now_ms() < until_ms {
            self.time.until(self.slot, until_ms).await;
        }
    }

    /// Whether it is another program's marker, and this one ignores them.
    fn is_ignored(&self, name: &str) -> bool {
        self.sabotage == Sabotage::Markers && name.contains(MARKERS) && !lock(&self.markers).contains(name)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(what: &str) -> Error {
    Error::Generic { store: "simulated", source: what.to_owned().into() }
}

fn exists(name: &str) -> Error {
    Error::AlreadyExists { path: name.to_owned(), source: "it exists".into() }
}

fn missing(name: &str) -> Error {
    Error::NotFound { path: name.to_owned(), source: "it is not there".into() }
}

fn meta(name: &str, object: &Object) -> ObjectMeta {
    ObjectMeta {
        location: Path::from(name),
        last_modified: (UNIX_EPOCH + Duration::from_millis(object.stored_ms)).into(),
        size: object.bytes.len() as u64,
        e_tag: None,
        version: None,
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("simulated store")
    }
}

#[async_trait]
impl ObjectStore for Handle {
    async fn put_opts(&self, at: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let (name, bytes) = (at.to_string(), Bytes::from(payload));
        let mut creates = matches!(options.mode, PutMode::Create);
        let kind = match creates {
            _ if name.contains(MARKERS) => Kind::Marker,
            true => Kind::Create,
            false => Kind::Put,
        };
        if let (Kind::Marker, Some(way)) = (kind, &self.way) {
            lock(&way.markers).insert(name.clone());
        }
        let sabotage = self.way.as_ref().map_or(Sabotage::None, |way| way.sabotage);
        if sabotage == Sabotage::Create && kind == Kind::Create && name.ends_with(".backup") {
            creates = false;
        }
        let put = self.request(kind, &name, |bucket, now_ms| bucket.put(now_ms, &name, bytes, creates));
        put.await?;
        Ok(PutResult { e_tag: None, version: None, extensions: Default::default() })
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(failed("the files of this world are small"))
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        let name = at.to_string();
        let get = |bucket: &mut Bucket, _| bucket.objects.get(&name).cloned().ok_or_else(|| missing(&name));
        let object = self.request(Kind::Get, &name, get).await?;
        let all = object.bytes.len() as u64;
        let range = match options.range {
            Some(range) => range.as_range(all).map_err(|_| failed("the range is behind the end"))?,
            None => 0..all,
        };
        let part = object.bytes.slice(range.start as usize..range.end as usize);
        Ok(GetResult {
            payload: GetResultPayload::Stream(stream::once(std::future::ready(Ok(part))).boxed()),
            meta: meta(&name, &object),
            range,
            attributes: Default::default(),
            extensions: Default::default(),
        })
    }

    fn delete_stream(&self, at: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let handle = self.clone();
        at.then(move |at| {
            let handle = handle.clone();
            async move {
                let at = at?;
                let name = at.to_string();
                let delete = |bucket: &mut Bucket, _| {
                    bucket.objects.remove(&name);
                    Ok(())
                };
                handle.request(Kind::Delete, &name, delete).await.map(|()| at)
            }
        })
        .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (handle, folder) = (self.clone(), format!("{}/", prefix.expect("folders are listed")));
        let listed = async move {
            let way = handle.way.clone();
            let is_seen = |name: &str| !way.as_ref().is_some_and(|way| way.is_ignored(name));
            let list = |bucket: &mut Bucket, _| {
                let within =
                    bucket.objects.range(folder.clone()..).take_while(|(name, _)| name.starts_with(&folder));
                let seen = within.filter(|(name, _)| is_seen(name));
                Ok(seen.map(|(name, object)| Ok(meta(name, object))).collect::<Vec<_>>())
            };
            handle.request(Kind::List, &folder, list).await.unwrap_or_else(|error| vec![Err(error)])
        };
        stream::once(listed).flat_map(stream::iter).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(failed("nobody lists so"))
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(failed("nobody copies"))
    }
}
