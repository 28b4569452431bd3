//! Fuzz body: decode any bytes as frames and as metadata; what decodes must survive being encoded and
//! decoded again.
//!
//! An ordinary function, so that the stable test `fuzz` of crates/rsocket runs it as well.

use stadium_rsocket::frame::{self, Frame};
use stadium_rsocket::metadata::{self, authentication, mime_type, tracing};

/// Reads `data` in every way. Panics on a broken promise; returns whether it was a frame.
pub fn rsocket_decode(data: &[u8]) -> bool {
    if let Ok(Some((frame, used))) = frame::split(data, 1 << 20) {
        assert_eq!(used, frame.len() + frame::PREFIX_BYTES);
    }
    check_metadata(data);
    let Ok(decoded) = frame::decode(data) else { return false };
    let mut bytes = Vec::new();
    frame::encode(&decoded, &mut bytes);
    let (again, used) =
        frame::split(&bytes, frame::FRAME_BYTES_MAX).expect("our own frame").expect("a whole one");
    assert_eq!(used, bytes.len());
    assert_eq!(frame::decode(again), Ok(decoded));
    match decoded {
        Frame::RequestResponse { payload, .. }
        | Frame::RequestFireAndForget { payload, .. }
        | Frame::RequestStream { payload, .. }
        | Frame::RequestChannel { payload, .. }
        | Frame::Payload { payload, .. } => check_metadata(payload.metadata.unwrap_or_default()),
        Frame::Setup(setup) => check_metadata(setup.payload.metadata.unwrap_or_default()),
        _ => {}
    }
    true
}

fn check_metadata(bytes: &[u8]) {
    let mut written = Vec::new();
    let mut is_whole = true;
    for entry in metadata::entries(bytes) {
        let Ok(entry) = entry else {
            is_whole = false;
            break;
        };
        metadata::write_entry(&mut written, entry.mime, entry.content);
        let _ = (authentication::read(entry.content), tracing::read(entry.content));
        let _ = (metadata::routes(entry.content).count(), mime_type::mimes(entry.content).count());
    }
    assert!(bytes.starts_with(&written), "entries are written as they were read");
    assert!(!is_whole || written.len() == bytes.len());
}
