//! The message of `cargo xtask bench rpc` (bench/proto/echo.proto) and the method that returns it.

use stadium_rpc::Method;

/// The sample comes back, decoded and encoded again.
pub const ECHO: Method<Sample, Sample> = Method::unary("echo/Echo");

/// 48 bytes with 2 elements, 3,216 with 200.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Sample {
    /// Never 0; the answer carries the request's.
    #[prost(fixed64, tag = "1")]
    pub id: u64,
    /// What is transported.
    #[prost(message, repeated, tag = "2")]
    pub elements: Vec<Element>,
    /// Never 0.
    #[prost(fixed32, tag = "3")]
    pub source: u32,
    /// 1 to 127.
    #[prost(uint32, tag = "4")]
    pub kind: u32,
}

/// 16 bytes, its tag and length included.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Element {
    /// Never 0.
    #[prost(fixed64, tag = "1")]
    pub value: u64,
    /// Never 0.
    #[prost(fixed32, tag = "2")]
    pub weight: u32,
}
