//! `stadium retained`: the retained messages of a running server are listed with their owners, and
//! removed.

use crate::binary::Server;
use crate::binary::device::Device;

#[test]
fn retained_messages_are_listed_counted_and_removed() {
    let server = Server::trial();
    let mut device = Device::connect(&server.address("mqtt"), "phone");
    for number in 0..1_200 {
        device.retain(&format!("state/{number:04}"), b"secret");
    }
    device.retain("other", b"secret");
    let listed = server.prints(&["retained", "list", "--filter", "other"]);
    let rows: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 2, "{listed}");
    assert_eq!(rows[0], ["topic", "principal", "bytes", "qos", "set", "expires"]);
    assert_eq!(
        (rows[1][0], rows[1][1], rows[1][3], rows[1].last()),
        ("other", "(anonymous)", "1", Some(&"-"))
    );
    assert!(!listed.contains("secret"), "{listed}");
    let all = |limit| {
        let page = server.answers(&["retained", "list", "--principal", "", "--limit", limit]);
        page["messages"].as_array().expect("a list").len()
    };
    assert_eq!((all("2000"), all("5")), (1_201, 5));
    assert!(server.prints(&["retained", "list", "--principal", "nobody"]).is_empty());

    server.fails(2, &["retained", "purge"], "required");
    server.fails(2, &["retained", "purge", "--filter", "state/#"], "--yes");
    server.fails(1, &["retained", "purge", "--yes", "--filter", "#/state"], "HTTP-017");
    let counted = server.prints(&["retained", "purge", "--dry-run", "--filter", "state/#"]);
    assert_eq!(counted, "1,200 retained messages would be removed\n");
    let removed = server.prints(&["retained", "purge", "--yes", "--filter", "state/#", "--principal", ""]);
    assert_eq!(removed, "1,200 retained messages are removed\n", "more than one request removes");
    assert_eq!(server.answers(&["retained", "purge", "--yes", "--principal", "nobody"])["removed"], 0);
    assert_eq!(all("2000"), 1);
    let log = std::fs::read_to_string(server.data().join("audit.ndjson")).expect("the audit log");
    assert!(log.contains("DELETE /api/retained\"") && log.contains("filter=state"), "{log}");
}
