//! An S3 server for tests: the crates `s3s` and `s3s-fs` on a loopback port, keeping objects in a
//! folder.
//!
//! It checks signatures as S3 does. It can answer *slow down* for a while, and be gone at once.
//! Tests of several crates use it, so its calls panic where a test would.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tempfile::TempDir;

const KEY: &str = "TESTKEY";
const SECRET: &str = "a secret of tests";

/// As S3 says it.
const NO_SUCH_BUCKET: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>NoSuchBucket</Code>\
                              <Message>The specified bucket does not exist</Message></Error>";

/// The server. It ends when it is dropped.
#[derive(Debug)]
pub struct S3Server {
    address: SocketAddr,
    folder: TempDir,
    runtime: Option<tokio::runtime::Runtime>,
    /// Requests that are refused before one is taken.
    slow_down: Arc<AtomicUsize>,
    /// Requests seen.
    requests: Arc<AtomicUsize>,
}

impl S3Server {
    /// Starts it on a free port, with one bucket.
    ///
    /// # Panics
    /// Where the system has no folder or no port.
    #[must_use]
    pub fn start(bucket: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be had");
        fs::create_dir(folder.path().join(bucket)).expect("a folder can be made");
        let mut builder = S3ServiceBuilder::new(FileSystem::new(folder.path()).expect("the folder is there"));
        builder.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let service = builder.build();
        let (slow_down, requests) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (slow, seen) = (Arc::clone(&slow_down), Arc::clone(&requests));
        let root = folder.path().to_owned();
        let router = Router::new().fallback(async move |request: Request| {
            seen.fetch_add(1, Ordering::SeqCst);
            // s3s-fs would make the folder of a bucket that nobody created; S3 does not.
            let named = request.uri().path().split('/').nth(1).unwrap_or_default();
            if !root.join(named).exists() {
                return (StatusCode::NOT_FOUND, NO_SUCH_BUCKET).into_response();
            }
            if slow.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
                return StatusCode::SERVICE_UNAVAILABLE.into_response();
            }
            match service.call(request.map(s3s::Body::http_body_unsync)).await {
                Ok(response) => response.map(axum::body::Body::new).into_response(),
                Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:?}")).into_response(),
            }
        });
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime can be had");
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .expect("loopback can be listened at");
        let address = listener.local_addr().expect("it listens");
        runtime.spawn(axum::serve(listener, router).into_future());
        Self { address, folder, runtime: Some(runtime), slow_down, requests }
    }

    /// The variables that a person would set.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        [
            ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
            ("AWS_REGION", "eu-central-1".to_owned()),
            ("AWS_ENDPOINT_URL", format!("http://{}", self.address)),
            ("HOME", "/nowhere".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Refuses so many requests with *slow down*.
    pub fn slow_down(&self, requests: usize) {
        self.slow_down.store(requests, Ordering::SeqCst);
    }

    /// Requests seen until now.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// The file of an object.
    #[must_use]
    pub fn object(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Ends with every connection, as a machine whose power fails.
    pub fn vanish(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// Names of what lies in a folder of a bucket, sorted.
    #[must_use]
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path().join(Path::new(path)));
        let mut names: Vec<String> = entries
            .map(|entries| {
                entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
            })
            .unwrap_or_default();
        names.sort();
        names
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.vanish();
    }
}
