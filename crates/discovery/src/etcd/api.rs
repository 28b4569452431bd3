//! Calls of etcd's gRPC API, one method each, all with a deadline.
//!
//! Nothing is decided or tried again here; see [`super::session`].

use std::time::Duration;

use prost::Message;
use tokio_stream::StreamExt as _;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Channel;
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::messages::{
    AuthenticateRequest, AuthenticateResponse, Compare, CompareResult, CompareTarget, LeaseGrantRequest,
    LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse, LeaseRevokeRequest,
    LeaseRevokeResponse, PutRequest, PutResponse, RangeRequest, RangeResponse, Request as Op, RequestOp,
    TargetUnion, TxnRequest, TxnResponse, WatchCreateRequest, WatchRequest, WatchResponse, WatchUnion,
};
use crate::link::Trouble;

/// Bytes of an answer that we read. A thousand values of the largest size that we accept are 4 MiB.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Why a call failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: Code,
    pub(super) what: String,
}

impl Failure {
    fn late(path: &str) -> Self {
        Self { code: Code::DeadlineExceeded, what: format!("no answer to {path} in time") }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self { code: status.code(), what: status.message().to_owned() }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        match failure.code {
            // Asking another member would not help.
            Code::PermissionDenied
            | Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::NotFound
            | Code::ResourceExhausted
            | Code::OutOfRange
            | Code::Unimplemented => Self::Refused(failure.what),
            _ => Self::Lost(failure.what),
        }
    }
}

/// One member of etcd.
#[derive(Clone, Debug)]
pub(super) struct Client {
    channel: Channel,
    token: Option<MetadataValue<Ascii>>,
    timeout: Duration,
}

impl Client {
    /// Calls over `channel`, each of which may take `timeout`.
    pub(super) fn new(channel: Channel, timeout: Duration) -> Self {
        Self { channel, token: None, timeout }
    }

    /// The same, logged in.
    pub(super) async fn authenticate(self, name: String, password: String) -> Result<Self, Failure> {
        let question = AuthenticateRequest { name, password };
        let answer: AuthenticateResponse = self.call("/etcdserverpb.Auth/Authenticate", question).await?;
        let token = answer.token.parse();
        let token =
            token.map_err(|_| Failure { code: Code::Internal, what: "unreadable token".to_owned() })?;
        Ok(Self { token: Some(token), ..self })
    }

    /// A range, read through the quorum.
    pub(super) async fn range(&self, question: RangeRequest) -> Result<RangeResponse, Failure> {
        self.call("/etcdserverpb.KV/Range", question).await
    }

    /// Puts a key that lives with a lease.
    pub(super) async fn put(&self, question: PutRequest) -> Result<(), Failure> {
        let PutResponse {} = self.call("/etcdserverpb.KV/Put", question).await?;
        Ok(())
    }

    /// Puts a key if it still belongs to the lease.
    pub(super) async fn put_if_ours(&self, question: PutRequest) -> Result<(), Failure> {
        let ours = Compare {
            result: CompareResult::Equal.into(),
            target: CompareTarget::Lease.into(),
            key: question.key.clone(),
            target_union: Some(TargetUnion::Lease(question.lease)),
        };
        let put = RequestOp { request: Some(Op::Put(question)) };
        let question = TxnRequest { compare: vec![ours], success: vec![put] };
        let TxnResponse {} = self.call("/etcdserverpb.KV/Txn", question).await?;
        Ok(())
    }

    /// Grants a lease of `ttl` seconds and returns its id and what was granted.
    pub(super) async fn grant(&self, ttl: i64) -> Result<(i64, i64), Failure> {
        let question = LeaseGrantRequest { ttl };
        let answer: LeaseGrantResponse = self.call("/etcdserverpb.Lease/LeaseGrant", question).await?;
        Ok((answer.id, answer.ttl))
    }

    /// Ends a lease and removes its keys.
    pub(super) async fn revoke(&self, id: i64) -> Result<(), Failure> {
        let question = LeaseRevokeRequest { id };
        let LeaseRevokeResponse {} = self.call("/etcdserverpb.Lease/LeaseRevoke", question).await?;
        Ok(())
    }

    /// Keeps a lease and returns the seconds it has; not positive when it is no more.
    pub(super) async fn keep_alive(&self, id: i64) -> Result<i64, Failure> {
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

    /// Watches, for as long as the answer is held.
    pub(super) async fn watch(
        &self,
        question: WatchCreateRequest,
    ) -> Result<Streaming<WatchResponse>, Failure> {
        let path = "/etcdserverpb.Watch/Watch";
        let create = WatchRequest { request_union: Some(WatchUnion::Create(question)) };
        // Closing our side would end the watch.
        let questions = tokio_stream::once(create).chain(tokio_stream::pending());
        let asked = self.stream(path, questions);
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
