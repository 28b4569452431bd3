//! A store that fails at a chosen operation, around a real one.
//!
//! An operation that changes the store may have happened before its error: the answer was lost. At
//! a kill nothing is answered any more, and the test drops the caller.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use tokio::sync::Notify;

/// The fault of the chosen operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// It fails, and nothing happened.
    Before,
    /// It happened, and its answer is an error.
    After,
    /// It happened, and nothing answers any more.
    Kill,
}

#[derive(Debug)]
struct Plan {
    fault: Fault,
    /// Operations until the fault; negative when it was.
    left: AtomicI64,
    killed: Notify,
}

/// The store.
#[derive(Clone, Debug)]
pub(crate) struct Faulty {
    inner: Arc<dyn ObjectStore>,
    plan: Arc<Plan>,
}

impl Faulty {
    /// Fails at the operation with this number, from 0.
    pub(crate) fn new(inner: Arc<dyn ObjectStore>, fault: Fault, operation: u32) -> Self {
        let left = AtomicI64::new(operation.into());
        Self { inner, plan: Arc::new(Plan { fault, left, killed: Notify::new() }) }
    }

    /// Whether the chosen operation was reached.
    pub(crate) fn has_failed(&self) -> bool {
        self.plan.left.load(Ordering::SeqCst) < 0
    }

    /// Waits until the process is killed.
    pub(crate) async fn killed(&self) {
        self.plan.killed.notified().await;
    }
}

impl Plan {
    fn error() -> Error {
        Error::Generic { store: "test", source: "503 slow down".into() }
    }

    /// One operation.
    async fn operate<T>(&self, operation: impl Future<Output = Result<T>>) -> Result<T> {
        match (self.left.fetch_sub(1, Ordering::SeqCst), self.fault) {
            (0, Fault::Before) => Err(Self::error()),
            (0, Fault::After) => operation.await.and(Err(Self::error())),
            (0, Fault::Kill) => {
                let _ = operation.await;
                self.killed.notify_one();
                std::future::pending().await
            }
            _ => operation.await,
        }
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "faulty {}", self.inner)
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, at: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.plan.operate(self.inner.put_opts(at, payload, options)).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let inner = self.plan.operate(self.inner.put_multipart_opts(at, options)).await?;
        Ok(Box::new(FaultyUpload { inner, plan: Arc::clone(&self.plan) }))
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        self.plan.operate(self.inner.get_opts(at, options)).await
    }

    async fn get_ranges(&self, at: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.plan.operate(self.inner.get_ranges(at, ranges)).await
    }

    fn delete_stream(&self, at: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let (inner, plan) = (Arc::clone(&self.inner), Arc::clone(&self.plan));
        at.then(move |at| {
            let (inner, plan) = (Arc::clone(&inner), Arc::clone(&plan));
            async move {
                let at = at?;
                let mut one = inner.delete_stream(stream::iter([Ok(at)]).boxed());
                plan.operate(async { one.next().await.expect("it answers for one") }).await
            }
        })
        .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (inner, plan) = (self.inner.list(prefix), Arc::clone(&self.plan));
        let first = stream::once(async move { plan.operate(async { Ok(()) }).await });
        let mut inner = Some(inner);
        first
            .flat_map(move |admitted| match admitted {
                Ok(()) => inner.take().expect("it is asked once"),
                Err(error) => stream::iter([Err(error)]).boxed(),
            })
            .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.plan.operate(self.inner.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.plan.operate(self.inner.copy_opts(from, to, options)).await
    }
}

#[derive(Debug)]
struct FaultyUpload {
    inner: Box<dyn MultipartUpload>,
    plan: Arc<Plan>,
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (part, plan) = (self.inner.put_part(data), Arc::clone(&self.plan));
        Box::pin(async move { plan.operate(part).await })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let Self { inner, plan } = self;
        plan.operate(inner.complete()).await
    }

    async fn abort(&mut self) -> Result<()> {
        let Self { inner, plan } = self;
        plan.operate(inner.abort()).await
    }
}
