//! The bytes of docs/formats/devices.md, written out: journals hold them, so they stay as they are.
//!
//! A change that breaks this needs a new version of the format.

use serde_json::json;
use stadium_registry::{Changes, DeviceId, Limits, Registry, Selector, Slot, Time};
use stadium_state_machine::encoding::Reader;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(text: &str) -> String {
    format!("{:02x}{}", text.len(), hex(text.as_bytes()))
}

#[test]
fn changes_look_like_this() {
    let mut changes = Changes::parse(&json!({
        "platform": "ios", "app_version": "2.3", "language": "de-AT", "country": "AT", "time_zone": "Europe/Vienna",
        "named_user": "ada", "opt_in": false, "quiet_hours": {"from": "22:00", "to": "07:00"},
        "location": {"latitude": 1, "longitude": -1}, "revoked": true,
        "tags": {"set": ["a"], "remove": ["g:b"], "add": ["list:l"]},
        "attributes": {"d": {"date": "1970-01-01T00:00:01Z"}, "n": 1.5, "t": "x", "z": null}
    }))
    .expect("changes");
    changes.attributes.sort_by(|(one, _), (other, _)| one.cmp(other));
    changes.credential = Some(Some([0xab; 32]));
    let mut bytes = Vec::new();
    changes.encode(&mut bytes);
    let expected = [
        // Bits 0 to 7, 9, 10, 12 to 16.
        "ffed07".into(),
        text("ios"),
        text("2.3"),
        text("de-AT"),
        text("AT"),
        text("Europe/Vienna"),
        text("ada"),
        "a80aa403".into(),
        "80969800806967ff".into(),
        format!("0100{}", text("a")),
        format!("01{}{}", text("g"), text("b")),
        format!("01{}{}", text("list"), text("l")),
        format!("04{}02e803000000000000", text("d")),
        format!("{}01000000000000f83f", text("n")),
        format!("{}00{}", text("t"), text("x")),
        format!("{}03", text("z")),
        "ab".repeat(32),
    ];
    assert_eq!(hex(&bytes), expected.concat());
    let cleared = Changes {
        platform: Some(None),
        credential: Some(None),
        opt_in: Some(true),
        revoked: Some(false),
        ..Changes::default()
    };
    let mut bytes = Vec::new();
    cleared.encode(&mut bytes);
    // Bits 8, 11, 17 and 25.
    assert_eq!(hex(&bytes), "80928810");
    assert_eq!(Changes::decode(&mut Reader::new(&bytes)), Ok(cleared));
}

#[test]
fn selectors_look_like_this() {
    let table = [
        (json!("all"), "00".to_owned()),
        (json!({"tag": "g:t"}), format!("01{}{}", text("g"), text("t"))),
        (json!({"named_user": "u"}), format!("02{}", text("u"))),
        (json!({"device": "d"}), format!("03{}", text("d"))),
        (json!({"devices": ["d", "e"]}), format!("0402{}{}", text("d"), text("e"))),
        (json!({"list": "l"}), format!("05{}", text("l"))),
        (json!({"attribute": "a", "equals": "x"}), format!("06{}0000{}", text("a"), text("x"))),
        (json!({"attribute": "a", "not_equals": 1}), format!("06{}0101000000000000f03f", text("a"))),
        (json!({"attribute": "a", "at_least": 1}), format!("06{}020201000000000000f03f00", text("a"))),
        (
            json!({"attribute": "a", "before": "1970-01-01T00:00:01Z"}),
            format!("06{}02000102e803000000000000", text("a")),
        ),
        (json!({"attribute": "a", "contains": "x"}), format!("06{}03{}", text("a"), text("x"))),
        (json!({"attribute": "a", "within_s": 300}), format!("06{}04ac02", text("a"))),
        (json!({"attribute": "a", "exists": true}), format!("06{}0501", text("a"))),
        (json!({"platform": "ios"}), format!("07{}", text("ios"))),
        (
            json!({"app_version": {"at_least": "2", "less_than": "3"}}),
            format!("0802{}01{}", text("2"), text("3")),
        ),
        (json!({"language": "de"}), format!("09{}", text("de"))),
        (json!({"country": "DE"}), format!("0a{}", text("DE"))),
        (json!({"time_zone": "UTC"}), format!("0b{}", text("UTC"))),
        (json!({"last_seen": {"within_s": 300}}), "0c00ac02".to_owned()),
        (json!({"registered": {"before": "1970-01-01T00:00:09Z"}}), "0d0309".to_owned()),
        (
            json!({"registered": {"after": "1970-01-01T00:00:01Z", "before": "1970-01-01T00:00:09Z"}}),
            "0d040109".to_owned(),
        ),
        (
            json!({"location": {"latitude": 1, "longitude": -1, "radius_m": 300}}),
            "0e80969800806967ffac02".to_owned(),
        ),
        (json!({"opted_in": false}), "0f00".to_owned()),
        (json!({"and": ["all", {"not": "all"}]}), "1002001200".to_owned()),
        (json!({"or": ["all"]}), "110100".to_owned()),
    ];
    for (json, expected) in table {
        let mut bytes = Vec::new();
        Selector::parse(&json).expect("a selector").encode(&mut bytes);
        assert_eq!(hex(&bytes), expected, "{json}");
    }
}

#[test]
fn a_checkpoint_looks_like_this_and_an_old_one_is_read() {
    let mut registry = Registry::new(Limits::default(), 1);
    let changes =
        json!({"platform": "ios", "tags": ["g:t"], "attributes": {"a": "x", "n": -2}, "revoked": true});
    let changes = Changes::parse(&changes).expect("changes");
    let slot = registry.apply(Time(5_000), &DeviceId::new("d").expect("an id"), &changes);
    registry.seen(slot, Time(6_000));
    registry.checkpoint_begin();
    let mut slices = Vec::new();
    loop {
        let mut slice = Vec::new();
        let more = registry.checkpoint_next(&mut slice, 1 << 16);
        slices.push(slice);
        if !more {
            break;
        }
    }
    // A page: 1, its number, which places are taken. The end: 3, how many there were.
    let page = |taken: &str| format!("0100000000{taken}{}", "00".repeat(31));
    let end = |entries: &str| format!("03{entries}{}", "00".repeat(7));
    let expected = [
        "0001".to_owned(),
        format!("01{}00{}06{}{}{}", page("03"), text("ios"), text("g"), text("t"), end("02")),
        format!("02{}{}{}{}", page("03"), text("a"), text("n"), end("02")),
        format!("03{}{}{}", page("01"), text("x"), end("01")),
        // Flags, id; the platform; one tag; two attributes: text 0 of name 0, and a whole number, -2, of name 1.
        format!("04{}0c02{}0100010102000005030600000005000000{}", page("01"), text("d"), end("01")),
    ];
    let slices_hex: Vec<String> = slices.iter().map(|slice| hex(slice)).collect();
    assert_eq!(slices_hex, expected);
    let mut restored = Registry::new(Limits::default(), 2);
    for slice in &expected {
        let bytes: Vec<u8> = (0..slice.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&slice[at..at + 2], 16).expect("hex"))
            .collect();
        restored.restore(&bytes).expect("a slice");
    }
    restored.restore_finish().expect("a checkpoint");
    assert_eq!(restored.device(Slot(0)), registry.device(slot));
}
