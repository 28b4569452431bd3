//! The echo service: tonic decodes the message, we hand it back, tonic encodes it.

use std::net::SocketAddr;

use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use crate::proto::Sample;
use crate::proto::echo_server::{Echo, EchoServer};
use crate::{CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES, STREAMS_MAX};

struct Service;

#[tonic::async_trait]
impl Echo for Service {
    async fn echo(&self, request: Request<Sample>) -> Result<Response<Sample>, Status> {
        Ok(Response::new(request.into_inner()))
    }
}

/// Runs until killed.
pub(crate) async fn run(listen: SocketAddr) -> Result<(), Box<dyn std::error::Error>> {
    let incoming = TcpIncoming::bind(listen)?.with_nodelay(Some(true));
    println!("listening {listen}");
    Server::builder()
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_streams(STREAMS_MAX)
        .add_service(EchoServer::new(Service))
        .serve_with_incoming(incoming)
        .await?;
    Ok(())
}
