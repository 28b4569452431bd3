//! MIME types as metadata writes them: a well-known id, or a name of 1 to 128 bytes.
//!
//! The table is that of the specification's extension "Well-known MIME Types". A name that has an id is
//! written as its id, and compares equal to it.

/// A MIME type.
#[derive(Debug, Clone, Copy)]
pub enum Mime<'a> {
    /// One of the table; 0 to 127.
    WellKnown(u8),
    /// Any other, US-ASCII by convention, 1 to 128 bytes.
    Named(&'a [u8]),
}

impl<'a> Mime<'a> {
    /// `application/vnd.google.protobuf`.
    pub const PROTOBUF: Mime<'static> = Mime::WellKnown(0x09);
    /// `application/octet-stream`.
    pub const OCTET_STREAM: Mime<'static> = Mime::WellKnown(0x06);
    /// `text/plain`.
    pub const TEXT: Mime<'static> = Mime::WellKnown(0x21);
    /// `application/json`.
    pub const JSON: Mime<'static> = Mime::WellKnown(0x05);
    /// `message/x.rsocket.mime-type.v0`: the MIME type of this stream's data.
    pub const MIME_TYPE: Mime<'static> = Mime::WellKnown(0x7A);
    /// `message/x.rsocket.accept-mime-types.v0`: the MIME types that the requester can read.
    pub const ACCEPT_MIME_TYPES: Mime<'static> = Mime::WellKnown(0x7B);
    /// `message/x.rsocket.authentication.v0`.
    pub const AUTHENTICATION: Mime<'static> = Mime::WellKnown(0x7C);
    /// `message/x.rsocket.tracing-zipkin.v0`.
    pub const TRACING: Mime<'static> = Mime::WellKnown(0x7D);
    /// `message/x.rsocket.routing.v0`.
    pub const ROUTING: Mime<'static> = Mime::WellKnown(0x7E);
    /// `message/x.rsocket.composite-metadata.v0`.
    pub const COMPOSITE: Mime<'static> = Mime::WellKnown(0x7F);

    /// The type called `name`, by its id where it has one.
    pub fn of(name: &'a str) -> Self {
        match TABLE.iter().find(|row| row.1 == name) {
            Some(&(id, _)) => Self::WellKnown(id),
            None => Self::Named(name.as_bytes()),
        }
    }

    /// Its name; `None` for an id that the table does not have and for a name that is no UTF-8.
    pub fn name(&self) -> Option<&'a str> {
        match *self {
            Self::WellKnown(id) => TABLE.iter().find(|row| row.0 == id).map(|row| row.1),
            Self::Named(name) => std::str::from_utf8(name).ok(),
        }
    }
}

impl PartialEq for Mime<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::WellKnown(a), Self::WellKnown(b)) => a == b,
            (Self::Named(a), Self::Named(b)) => a == b,
            (Self::WellKnown(id), Self::Named(name)) | (Self::Named(name), Self::WellKnown(id)) => {
                TABLE.iter().any(|row| row.0 == *id && row.1.as_bytes() == *name)
            }
        }
    }
}

impl Eq for Mime<'_> {}

/// Bytes of a name that its 7-bit length can hold.
pub const NAME_BYTES_MAX: usize = 128;

/// Reads a MIME type and returns what follows it.
#[inline]
pub(crate) fn read(bytes: &[u8]) -> Option<(Mime<'_>, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    if first & 0x80 != 0 {
        return Some((Mime::WellKnown(first & 0x7F), rest));
    }
    // The length is written minus one: a name of no bytes has no form.
    let (name, rest) = rest.split_at_checked(usize::from(first) + 1)?;
    Some((Mime::Named(name), rest))
}

/// Writes a MIME type. A name of no bytes is none, and becomes `application/octet-stream`.
#[inline]
pub(crate) fn write(out: &mut Vec<u8>, mime: Mime<'_>) {
    match mime {
        Mime::WellKnown(id) => out.push(0x80 | id),
        Mime::Named([]) => write(out, Mime::OCTET_STREAM),
        Mime::Named(name) => {
            let name = &name[..name.len().min(NAME_BYTES_MAX)];
            out.push((name.len() - 1) as u8);
            out.extend_from_slice(name);
        }
    }
}

/// Every well-known MIME type with its id.
pub const TABLE: &[(u8, &str)] = &[
    (0x00, "application/avro"),
    (0x01, "application/cbor"),
    (0x02, "application/graphql"),
    (0x03, "application/gzip"),
    (0x04, "application/javascript"),
    (0x05, "application/json"),
    (0x06, "application/octet-stream"),
    (0x07, "application/pdf"),
    (0x08, "application/vnd.apache.thrift.binary"),
    (0x09, "application/vnd.google.protobuf"),
    (0x0A, "application/xml"),
    (0x0B, "application/zip"),
    (0x0C, "audio/aac"),
    (0x0D, "audio/mp3"),
    (0x0E, "audio/mp4"),
    (0x0F, "audio/mpeg3"),
    (0x10, "audio/mpeg"),
    (0x11, "audio/ogg"),
    (0x12, "audio/opus"),
    (0x13, "audio/vorbis"),
    (0x14, "image/bmp"),
    (0x15, "image/gif"),
    (0x16, "image/heic-sequence"),
    (0x17, "image/heic"),
    (0x18, "image/heif-sequence"),
    (0x19, "image/heif"),
    (0x1A, "image/jpeg"),
    (0x1B, "image/png"),
    (0x1C, "image/tiff"),
    (0x1D, "multipart/mixed"),
    (0x1E, "text/css"),
    (0x1F, "text/csv"),
    (0x20, "text/html"),
    (0x21, "text/plain"),
    (0x22, "text/xml"),
    (0x23, "video/H264"),
    (0x24, "video/H265"),
    (0x25, "video/VP8"),
    (0x26, "application/x-hessian"),
    (0x27, "application/x-java-object"),
    (0x28, "application/cloudevents+json"),
    (0x29, "application/x-capnp"),
    (0x2A, "application/x-flatbuffers"),
    (0x7A, "message/x.rsocket.mime-type.v0"),
    (0x7B, "message/x.rsocket.accept-mime-types.v0"),
    (0x7C, "message/x.rsocket.authentication.v0"),
    (0x7D, "message/x.rsocket.tracing-zipkin.v0"),
    (0x7E, "message/x.rsocket.routing.v0"),
    (0x7F, "message/x.rsocket.composite-metadata.v0"),
];
