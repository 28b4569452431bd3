//! Calls of etcd's gRPC API, one method each, all with a deadline.
//!
//! Nothing is decided or tried again here. [`crate::Members`] finds a member to call.

use std::time::Duration;

use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Channel;
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::messages::{
    AuthenticateRequest, AuthenticateResponse, Compare, KeyValue, LeaseGrantRequest, LeaseGrantResponse,
    LeaseKeepAliveRequest, LeaseKeepAliveResponse, LeaseRevokeRequest, LeaseRevokeResponse, PutRequest,
    PutResponse, RangeRequest, RangeResponse, Request as Op, RequestOp, StatusRequest, StatusResponse,
    TxnRequest, TxnResponse, WatchCreateRequest, WatchProgressRequest, WatchRequest, WatchResponse,
    WatchUnion,
};
/// Bytes of an answer that we read. A thousand values of the largest size that we accept are 4 MiB.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Keys in one answer to a question for a list.
const PAGE_KEYS: i64 = 1000;

/// A point in the history of one etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Which etcd.
    pub cluster_id: u64,
    /// All events up to this revision.
    pub revision: i64,
}

/// The keys of a range, as of one revision.
#[derive(Debug)]
pub struct Listed {
    /// The keys, in order.
    pub kvs: Vec<KeyValue>,
    /// Not 0 where there are more keys than were asked for.
    pub dropped: u64,
    /// As of then.
    pub mark: Mark,
}

/// Why a call failed.
#[derive(Debug)]
pub struct Failure {
    /// gRPC's code.
    pub code: Code,
    /// For people.
    pub what: String,
}

impl Failure {
    /// Whether etcd is there and refuses: asking another member would not help.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(
            self.code,
            Code::PermissionDenied
                | Code::InvalidArgument
                | Code::FailedPrecondition
                | Code::NotFound
                | Code::ResourceExhausted
                | Code::OutOfRange
                | Code::Unimplemented
        )
    }

    fn late(path: &str) -> Self {
        Self { code: Code::DeadlineExceeded, what: format!("no answer to {path} in time") }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self { code: status.code(), what: status.message().to_owned() }
    }
}

/// One member of etcd.
#[derive(Clone, Debug)]
pub struct Client {
    channel: Channel,
    token: Option<MetadataValue<Ascii>>,
    timeout: Duration,
}

impl Client {
    /// Calls over `channel`, each of which may take `timeout`.
    pub fn new(channel: Channel, timeout: Duration) -> Self {
        Self { channel, token: None, timeout }
    }

    /// The same, logged in.
    pub async fn authenticate(self, name: String, password: String) -> Result<Self, Failure> {
        let question = AuthenticateRequest { name, password };
        let answer: AuthenticateResponse = self.call("/etcdserverpb.Auth/Authenticate", question).await?;
        let token = answer.token.parse();
        let token =
            token.map_err(|_| Failure { code: Code::Internal, what: "unreadable token".to_owned() })?;
        Ok(Self { token: Some(token), ..self })
    }

    /// A range, read through the quorum.
    pub async fn range(&self, question: RangeRequest) -> Result<RangeResponse, Failure> {
        self.call("/etcdserverpb.KV/Range", question).await
    }

    /// Puts a key that lives with a lease.
    pub async fn put(&self, question: PutRequest) -> Result<(), Failure> {
        let PutResponse {} = self.call("/etcdserverpb.KV/Put", question).await?;
        Ok(())
    }

    /// Puts a key if it still belongs to the lease.
    pub async fn put_if_ours(&self, question: PutRequest) -> Result<(), Failure> {
        let ours = Compare::leased(&question.key, question.lease);
        let put = RequestOp { request: Some(Op::Put(question)) };
        self.transact(TxnRequest { compare: vec![ours], success: vec![put] }).await.map(drop)
    }

    /// Carries out a transaction; the answer says whether its comparisons held.
    pub async fn transact(&self, question: TxnRequest) -> Result<TxnResponse, Failure> {
        self.call("/etcdserverpb.KV/Txn", question).await
    }

    /// Reads all keys below `start`, which ends with a slash, in pages of one revision.
    pub async fn list(&self, start: &str, keys_max: usize) -> Result<Listed, Failure> {
        let mut question = RangeRequest { limit: PAGE_KEYS, ..RangeRequest::below(start) };
        let mut listed = Listed { kvs: Vec::new(), dropped: 0, mark: Mark { cluster_id: 0, revision: 0 } };
        loop {
            let answer = self.range(question.clone()).await?;
            let header = answer.header.unwrap_or_default();
            if question.revision == 0 {
                listed.mark = Mark { cluster_id: header.cluster_id, revision: header.revision };
                question.revision = header.revision;
            }
            let last = answer.kvs.last().map(|kv| kv.key.clone());
            listed.kvs.extend(answer.kvs);
            match last {
                Some(last) if answer.more && listed.kvs.len() < keys_max => {
                    question.key = last;
                    question.key.push(0);
                }
                _ => {
                    listed.dropped = u64::from(answer.more);
                    return Ok(listed);
                }
            }
        }
    }

    /// Grants a lease of `ttl` seconds and returns its id and what was granted.
    pub async fn grant(&self, ttl: i64) -> Result<(i64, i64), Failure> {
        let question = LeaseGrantRequest { ttl };
        let answer: LeaseGrantResponse = self.call("/etcdserverpb.Lease/LeaseGrant", question).await?;
        Ok((answer.id, answer.ttl))
    }

    /// Ends a lease and removes its keys.
    pub async fn revoke(&self, id: i64) -> Result<(), Failure> {
        let question = LeaseRevokeRequest { id };
        let LeaseRevokeResponse {} = self.call("/etcdserverpb.Lease/LeaseRevoke", question).await?;
        Ok(())
    }

    /// Keeps a lease and returns the seconds it has; not positive when it is no more.
    pub async fn keep_alive(&self, id: i64) -> Result<i64, Failure> {
        let path = "/etcdserverpb.Lease/LeaseKeepAlive";
        let questions = tokio_stream::once(LeaseKeepAliveRequest { id });
        let asked = async {
            let mut answers: Streaming<LeaseKeepAliveResponse> = self.stream(path, questions).await?;
            let gone = || Failure {
                code: Code::Unavailable,
                what: "a lease's keep-alive was not answered".to_owned(),
            };
            answers.message().await?.ok_or_else(gone)
        };
        let answer = tokio::time::timeout(self.timeout, asked).await.map_err(|_| Failure::late(path))?;
        Ok(answer?.ttl)
    }

    /// The state of the member itself. It answers without the quorum.
    pub async fn status(&self) -> Result<StatusResponse, Failure> {
        self.call("/etcdserverpb.Maintenance/Status", StatusRequest {}).await
    }

    /// Watches, for as long as the answer is held.
    pub async fn watch(&self, question: WatchCreateRequest) -> Result<Streaming<WatchResponse>, Failure> {
        // Closing our side would end the watch.
        self.watch_by(question, tokio_stream::pending()).await
    }

    /// Watches as [`Client::watch`] does. For each item of `asked` etcd says how far the watch is,
    /// with an answer without events.
    pub async fn watch_asked(
        &self,
        question: WatchCreateRequest,
        asked: mpsc::Receiver<()>,
    ) -> Result<Streaming<WatchResponse>, Failure> {
        let progress = || WatchRequest { request_union: Some(WatchUnion::Progress(WatchProgressRequest {})) };
        let asked = ReceiverStream::new(asked).map(move |()| progress());
        self.watch_by(question, asked.chain(tokio_stream::pending())).await
    }

    async fn watch_by(
        &self,
        question: WatchCreateRequest,
        more: impl tokio_stream::Stream<Item = WatchRequest> + Send + 'static,
    ) -> Result<Streaming<WatchResponse>, Failure> {
        let path = "/etcdserverpb.Watch/Watch";
        let create = WatchRequest { request_union: Some(WatchUnion::Create(question)) };
        let asked = self.stream(path, tokio_stream::once(create).chain(more));
        tokio::time::timeout(self.timeout, asked).await.map_err(|_| Failure::late(path))?
    }

    async fn call<Q, A>(&self, path: &'static str, question: Q) -> Result<A, Failure>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let asked = async {
            let mut grpc = self.grpc().await?;
            let codec = ProstCodec::<Q, A>::default();
            Ok(grpc.unary(self.request(question), PathAndQuery::from_static(path), codec).await?.into_inner())
        };
        tokio::time::timeout(self.timeout, asked).await.map_err(|_| Failure::late(path))?
    }

    async fn stream<Q, A>(
        &self,
        path: &'static str,
        questions: impl tokio_stream::Stream<Item = Q> + Send + 'static,
    ) -> Result<Streaming<A>, Failure>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let mut grpc = self.grpc().await?;
        let codec = ProstCodec::<Q, A>::default();
        let request = self.request(questions);
        Ok(grpc.streaming(request, PathAndQuery::from_static(path), codec).await?.into_inner())
    }

    async fn grpc(&self) -> Result<Grpc<Channel>, Failure> {
        let mut grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(ANSWER_BYTES_MAX);
        let gone = |why| Failure { code: Code::Unavailable, what: format!("the connection is gone: {why}") };
        grpc.ready().await.map_err(gone)?;
        Ok(grpc)
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }
}
