//! The extensions: composite metadata and what stands in it.
//!
//! Reading never copies, so the scenarios compare with slices of what was written.

use stadium_rsocket::metadata::authentication::{self, Authentication};
use stadium_rsocket::metadata::mime::TABLE;
use stadium_rsocket::metadata::mime_type::{mimes, write_accept, write_mime_type};
use stadium_rsocket::metadata::routing::write_routes;
use stadium_rsocket::metadata::tracing::{self, Ids, Sampling, TraceId, Tracing};
use stadium_rsocket::metadata::{Malformed, Mime, entries, find, routes, write_entry, write_route};

/// [METADATA-1]
#[test]
fn entries_come_in_the_order_in_which_they_were_written() {
    let mut bytes = Vec::new();
    write_route(&mut bytes, "geo/Store");
    write_entry(&mut bytes, Mime::Named(b"message/x.stadium.deadline.v1"), &[0, 0, 1, 0]);
    write_entry(&mut bytes, Mime::JSON, b"{}");
    write_entry(&mut bytes, Mime::JSON, b"");
    let read: Vec<_> = entries(&bytes).map(|entry| entry.expect("well-formed")).collect();
    let mimes: Vec<_> = read.iter().map(|entry| entry.mime.name().expect("a name")).collect();
    assert_eq!(
        mimes,
        [
            "message/x.rsocket.routing.v0",
            "message/x.stadium.deadline.v1",
            "application/json",
            "application/json"
        ]
    );
    assert_eq!(read[1].content, [0, 0, 1, 0]);
    assert_eq!((read[2].content, read[3].content), (b"{}".as_slice(), b"".as_slice()));
    assert_eq!(find(&bytes, Mime::of("message/x.stadium.deadline.v1")), Some([0, 0, 1, 0].as_slice()));
    assert_eq!(find(&bytes, Mime::TRACING), None);
}

/// [METADATA-2]
#[test]
fn a_well_known_type_is_one_byte() {
    let mut bytes = Vec::new();
    write_entry(&mut bytes, Mime::of("message/x.rsocket.routing.v0"), b"x");
    assert_eq!(bytes, [0xFE, 0, 0, 1, b'x']);
    bytes.clear();
    write_entry(&mut bytes, Mime::Named(b"a/b"), b"x");
    assert_eq!(bytes, [2, b'a', b'/', b'b', 0, 0, 1, b'x']);
    // Written out it means the same.
    assert_eq!(Mime::Named(b"application/json"), Mime::JSON);
    assert_ne!(Mime::Named(b"application/json2"), Mime::JSON);
}

/// [METADATA-3]
#[test]
fn the_well_known_types_are_those_of_the_extension() {
    for (id, name) in [
        (0x00, "application/avro"),
        (0x05, "application/json"),
        (0x09, "application/vnd.google.protobuf"),
        (0x21, "text/plain"),
        (0x25, "video/VP8"),
        (0x7A, "message/x.rsocket.mime-type.v0"),
        (0x7B, "message/x.rsocket.accept-mime-types.v0"),
        (0x7C, "message/x.rsocket.authentication.v0"),
        (0x7D, "message/x.rsocket.tracing-zipkin.v0"),
        (0x7E, "message/x.rsocket.routing.v0"),
        (0x7F, "message/x.rsocket.composite-metadata.v0"),
    ] {
        assert_eq!(Mime::WellKnown(id).name(), Some(name));
        assert!(matches!(Mime::of(name), Mime::WellKnown(found) if found == id));
    }
    assert_eq!(TABLE.len(), 49);
    assert!(TABLE.windows(2).all(|rows| rows[0].0 < rows[1].0));
    assert_eq!(Mime::WellKnown(0x50).name(), None);
}

/// [METADATA-4]
#[test]
fn malformed_metadata_ends_where_it_breaks() {
    let mut bytes = Vec::new();
    write_entry(&mut bytes, Mime::JSON, b"{}");
    write_entry(&mut bytes, Mime::TEXT, b"hello");
    for cut in 1..bytes.len() {
        let read: Vec<_> = entries(&bytes[..cut]).collect();
        let whole = usize::from(cut >= 6);
        let is_broken = cut != 6;
        assert_eq!(read.len(), whole + usize::from(is_broken), "{cut}");
        assert_eq!(read.last() == Some(&Err(Malformed)), is_broken);
    }
    assert_eq!(entries(b"").count(), 0);
    assert_eq!(entries(&[0xFE, 0xFF, 0xFF, 0xFF]).collect::<Vec<_>>(), [Err(Malformed)]);
}

/// [METADATA-5]
#[test]
fn a_route_is_a_list_of_tags() {
    let mut bytes = Vec::new();
    write_routes(&mut bytes, ["geo/Store", "", "ü"]);
    let content = find(&bytes, Mime::ROUTING).expect("an entry");
    assert_eq!(content, b"\x09geo/Store\x00\x02\xC3\xBC");
    assert_eq!(routes(content).collect::<Vec<_>>(), [Ok("geo/Store"), Ok(""), Ok("ü")]);
    assert_eq!(routes(b"\x05abc").collect::<Vec<_>>(), [Err(Malformed)]);
    assert_eq!(routes(b"\x01\xFF\x01a").collect::<Vec<_>>(), [Err(Malformed)]);
    // A tag has at most 255 bytes.
    let mut bytes = Vec::new();
    write_route(&mut bytes, &"ü".repeat(200));
    let content = find(&bytes, Mime::ROUTING).expect("an entry");
    assert_eq!(routes(content).next(), Some(Ok("ü".repeat(127).as_str())));
}

/// [METADATA-6]
#[test]
fn authentication_is_simple_or_bearer_or_something_else() {
    for (credentials, expected) in [
        (Authentication::Simple { username: "ann", password: "pw" }, b"\x80\x00\x03annpw".as_slice()),
        (Authentication::Bearer("token"), b"\x81token"),
        (Authentication::WellKnown { id: 5, content: b"x" }, b"\x85x"),
        (Authentication::Named { name: b"mine", content: b"x" }, b"\x03minex"),
    ] {
        let mut bytes = Vec::new();
        authentication::write(&mut bytes, credentials);
        let content = find(&bytes, Mime::AUTHENTICATION).expect("an entry");
        assert_eq!(content, expected);
        assert_eq!(authentication::read(content), Ok(credentials));
    }
    assert_eq!(authentication::read(b"\x05simple\x00\x01ab"), authentication::read(b"\x80\x00\x01ab"));
    assert_eq!(authentication::read(b"\x05bearert"), Ok(Authentication::Bearer("t")));
    for broken in [b"".as_slice(), b"\x80", b"\x80\x00", b"\x80\x00\x05ann", b"\x81\xFF", b"\x05sim"] {
        assert_eq!(authentication::read(broken), Err(Malformed));
    }
}

/// [METADATA-7]
#[test]
fn tracing_carries_ids_and_whether_to_record() {
    let ids = |trace, parent| Some(Ids { trace, span: 2, parent });
    for (tracing, flags, length) in [
        (Tracing { sampling: Sampling::NotSampled, ids: None }, 0x10, 1),
        (Tracing { sampling: Sampling::Sampled, ids: ids(TraceId::Short(1), None) }, 0xA0, 17),
        (Tracing { sampling: Sampling::Debug, ids: ids(TraceId::Long(1 << 64 | 7), None) }, 0xC8, 25),
        (Tracing { sampling: Sampling::Undecided, ids: ids(TraceId::Short(1), Some(9)) }, 0x84, 25),
        (Tracing { sampling: Sampling::Sampled, ids: ids(TraceId::Long(3), Some(9)) }, 0xAC, 33),
    ] {
        let mut bytes = Vec::new();
        tracing::write(&mut bytes, &tracing);
        let content = find(&bytes, Mime::TRACING).expect("an entry");
        assert_eq!((content[0], content.len()), (flags, length));
        assert_eq!(tracing::read(content), Ok(tracing));
        for cut in 0..length {
            assert_eq!(tracing::read(&content[..cut]), Err(Malformed));
        }
    }
    // A stronger word wins.
    assert_eq!(tracing::read(&[0x70]).map(|tracing| tracing.sampling), Ok(Sampling::Debug));
    assert_eq!(tracing::read(&[0x30]).map(|tracing| tracing.sampling), Ok(Sampling::Sampled));
}

/// [METADATA-8]
#[test]
fn a_stream_may_have_mime_types_of_its_own() {
    let mut bytes = Vec::new();
    write_mime_type(&mut bytes, Mime::JSON);
    write_accept(&mut bytes, [Mime::PROTOBUF, Mime::Named(b"a/b")]);
    assert_eq!(find(&bytes, Mime::MIME_TYPE), Some([0x85].as_slice()));
    let content = find(&bytes, Mime::ACCEPT_MIME_TYPES).expect("an entry");
    assert_eq!(content, b"\x89\x02a/b");
    assert_eq!(mimes(content).collect::<Vec<_>>(), [Ok(Mime::PROTOBUF), Ok(Mime::Named(b"a/b"))]);
    assert_eq!(mimes(b"\x85\x09ab").collect::<Vec<_>>(), [Ok(Mime::JSON), Err(Malformed)]);
}
