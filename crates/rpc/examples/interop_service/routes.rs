//! The interoperability routes, and their message: bare bytes, so that the suites of bare RSocket fit.

use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType};
use prost::{DecodeError, Message};
use stadium_rpc::Method;

/// A message that is its bytes, whatever they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bare(pub Vec<u8>);

impl Message for Bare {
    fn encode_raw(&self, out: &mut impl BufMut) {
        out.put_slice(&self.0);
    }

    fn merge_field(
        &mut self,
        _: u32,
        _: WireType,
        _: &mut impl Buf,
        _: DecodeContext,
    ) -> Result<(), DecodeError> {
        unreachable!("merge takes all bytes")
    }

    fn merge(&mut self, mut bytes: impl Buf) -> Result<(), DecodeError> {
        self.0.put(&mut bytes);
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

impl Bare {
    /// As text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl From<String> for Bare {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

/// All of them.
pub type Unary = Method<Bare, Bare>;
pub const ECHO: Unary = Method::unary("interop/echo");
pub const METADATA: Unary = Method::unary("interop/metadata");
pub const NOTES: Unary = Method::unary("interop/notes");
pub const NEVER: Unary = Method::unary("interop/never");
pub const BUSY: Unary = Method::unary("interop/busy");
/// Only other implementations have it: it fails as asked, with the frame's code.
pub const FAIL: Unary = Method::unary("interop/fail");
pub const REJECT: Unary = Method::unary("interop/reject");
pub const NOTE: Unary = Method::one_way("interop/note");
pub const RANGE: Unary = Method::stream("interop/range");
pub const ENDLESS: Unary = Method::stream("interop/endless");
pub const FAIL_AFTER: Unary = Method::stream("interop/fail-after");
pub const CHANNEL: Unary = Method::channel("interop/channel");
pub const SUM: Unary = Method::channel("interop/sum");
