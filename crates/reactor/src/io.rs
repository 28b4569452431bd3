//! Signatures of what a handler may ask of its loop; the bodies follow in the next commit.
use std::net::SocketAddr;
use crate::{ConnectOptions, ConnectionId, Handler, ListenerSettings, LoopHandle, LoopSettings, UdpId, UdpSettings};
/// Bytes staged in this turn.
#[derive(Clone, Copy, Debug)]
pub struct Segment {}
/// What a handler may ask.
pub struct Io<M> { _m: std::marker::PhantomData<M> }
impl<M: Send + 'static> Io<M> {
    /// Published signature.
    pub fn listen(&mut self, _settings: &ListenerSettings) -> std::io::Result<SocketAddr> {
        unimplemented!()
    }
    /// Published signature.
    pub fn stop_listening(&mut self) {
        unimplemented!()
    }
    /// Published signature.
    pub fn bind_udp(&mut self, _address: SocketAddr, _settings: &UdpSettings) -> std::io::Result<(UdpId, SocketAddr)> {
        unimplemented!()
    }
    /// Published signature.
    pub fn send_datagram(&mut self, _socket: UdpId, _peer: SocketAddr, _bytes: &[u8]) -> std::io::Result<()> {
        unimplemented!()
    }
    /// Published signature.
    pub fn connect(&mut self, _address: SocketAddr, _options: &ConnectOptions) -> std::io::Result<ConnectionId> {
        unimplemented!()
    }
    /// Published signature.
    pub fn stage(&mut self, _encode: impl FnOnce(&mut Vec<u8>)) -> Segment {
        unimplemented!()
    }
    /// Published signature.
    pub fn deliver(&mut self, _id: ConnectionId, _segment: Segment) {
        unimplemented!()
    }
    /// Published signature.
    pub fn deliver_patched(&mut self, _id: ConnectionId, _segment: Segment, _at: u32, _value: u16) {
        unimplemented!()
    }
    /// Published signature.
    pub fn deliver_shared(&mut self, _id: ConnectionId, _bytes: &std::sync::Arc<[u8]>) {
        unimplemented!()
    }
    /// Published signature.
    pub fn send(&mut self, _id: ConnectionId, _encode: impl FnOnce(&mut Vec<u8>)) {
        unimplemented!()
    }
    /// Published signature.
    pub fn reserve_turn(&mut self) {
        unimplemented!()
    }
    /// Published signature.
    pub fn unsent(&self, _id: ConnectionId) -> usize {
        unimplemented!()
    }
    /// Published signature.
    pub fn close(&mut self, _id: ConnectionId) {
        unimplemented!()
    }
    /// Published signature.
    pub fn abort(&mut self, _id: ConnectionId) {
        unimplemented!()
    }
    /// Published signature.
    pub fn pause(&mut self, _id: ConnectionId) {
        unimplemented!()
    }
    /// Published signature.
    pub fn resume(&mut self, _id: ConnectionId) {
        unimplemented!()
    }
    /// Published signature.
    pub fn set_timer(&mut self, _id: ConnectionId, _after_ms: u64) {
        unimplemented!()
    }
    /// Published signature.
    pub fn cancel_timer(&mut self, _id: ConnectionId) {
        unimplemented!()
    }
    /// Published signature.
    pub fn last_received(&self, _id: ConnectionId) -> u64 {
        unimplemented!()
    }
    /// Published signature.
    pub fn set_carry_bytes_max(&mut self, _id: ConnectionId, _bytes: u32) {
        unimplemented!()
    }
    /// Published signature.
    pub fn set_write_queue_bytes_max(&mut self, _id: ConnectionId, _bytes: u32) {
        unimplemented!()
    }
    /// Published signature.
    pub fn handoff(&mut self, _id: ConnectionId, _to: &LoopHandle<M>, _attachment: M) {
        unimplemented!()
    }
    /// Published signature.
    pub fn take_peer_certificate(&mut self, _id: ConnectionId) -> Option<rustls_pki_types::CertificateDer<'static>> {
        unimplemented!()
    }
    /// Published signature.
    pub fn contains(&self, _id: ConnectionId) -> bool {
        unimplemented!()
    }
    /// Published signature.
    pub fn connection_count(&self) -> usize {
        unimplemented!()
    }
    /// Published signature.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        std::iter::empty()
    }
    /// Published signature.
    pub fn now(&self) -> u64 {
        unimplemented!()
    }
    /// Published signature.
    pub fn set_alarm(&mut self, _at_ms: u64) {
        unimplemented!()
    }
    /// Published signature.
    pub fn clear_alarm(&mut self) {
        unimplemented!()
    }
    /// Published signature.
    pub fn handle(&self) -> LoopHandle<M> {
        unimplemented!()
    }
    /// Published signature.
    pub fn stop(&mut self) {
        unimplemented!()
    }
}
/// A loop.
pub struct Loop<M> { _m: std::marker::PhantomData<M> }
impl<M: Send + 'static> Loop<M> {
    /// Makes it.
    pub fn new(_settings: LoopSettings) -> std::io::Result<Self> { unimplemented!() }
    /// For listening before it runs.
    pub fn io(&mut self) -> &mut Io<M> { unimplemented!() }
    /// For other threads.
    pub fn handle(&self) -> LoopHandle<M> { unimplemented!() }
    /// Runs on the calling thread until stopped; returns the handler.
    pub fn run<H: Handler<Message = M>>(self, _handler: H) -> std::io::Result<H> { unimplemented!() }
}
