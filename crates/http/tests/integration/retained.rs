//! Retained messages over HTTP: pages, filters, removal in parts, roles.

use serde_json::Value;

use crate::support::Fixture;

fn topics(page: &Value) -> Vec<&str> {
    let messages = page["messages"].as_array().expect("a list");
    messages.iter().map(|one| one["topic"].as_str().expect("a topic")).collect()
}

/// Two messages of Ann, one of an anonymous device, one of the server's own.
fn fixture() -> Fixture {
    let fixture = Fixture::begin();
    let messages =
        [("a/1", Some("ann")), ("a/2", Some("ann")), ("b/1", Some("")), ("c/1", None), ("c/2", Some("bob"))];
    for (topic, principal) in messages {
        fixture.fleet.retain(topic, principal);
    }
    fixture
}

#[test]
fn retained_messages_are_listed_page_by_page_by_filter_and_principal() {
    let fixture = fixture();
    let page = fixture.get("/api/retained?limit=2").json();
    assert_eq!((topics(&page), page["next"].as_str()), (vec!["a/1", "a/2"], Some("b/1")));
    let rest = fixture.get("/api/retained?limit=9&from=b%2F1").json();
    assert_eq!((topics(&rest), rest.get("next")), (vec!["b/1", "c/1", "c/2"], None));
    assert_eq!(topics(&fixture.get("/api/retained?filter=a/%23").json()), ["a/1", "a/2"]);
    assert_eq!(topics(&fixture.get("/api/retained?principal=bob").json()), ["c/2"]);
    assert_eq!(topics(&fixture.get("/api/retained?principal=").json()), ["b/1"]);
    assert_eq!(topics(&fixture.get("/api/retained?filter=c/%23&principal=ann").json()), [""; 0]);
    // Whose they are, and never what they say.
    let one = &page["messages"][0];
    assert_eq!((one["principal"].as_str(), one["qos"].as_u64()), (Some("ann"), Some(1)));
    assert_eq!((one["payload_bytes"].as_u64(), one["bytes"].as_u64()), (Some(2), Some(5)));
    assert_eq!(one["set_at"].as_str(), Some("1970-01-01T00:00:00.000Z"));
    assert!(one.get("payload").is_none() && one.get("expires_at").is_none());
    assert!(rest["messages"][1].get("principal").is_none(), "it is the server's own");
    for wrong in ["filter=%23/a", "limit=0", "limit=1001", "after=a"] {
        fixture.get(&format!("/api/retained?{wrong}")).problem(400, "HTTP-017");
    }
}

#[test]
fn retained_messages_are_removed_in_parts_and_a_dry_run_only_counts() {
    let fixture = fixture();
    let purge = |query: &str| fixture.delete(&format!("/api/retained?{query}")).json();
    let dry = purge("filter=%23&dry_run=true");
    assert_eq!((dry["removed"].as_u64(), dry["refused"].as_u64()), (Some(5), Some(0)));
    assert_eq!(topics(&fixture.get("/api/retained").json()).len(), 5);
    assert_eq!(purge("filter=a/%23&principal=bob")["removed"], 0, "both hold");
    let part = purge("principal=ann&limit=1");
    assert_eq!((part["removed"].as_u64(), part["next"].as_str()), (Some(1), Some("a/2")));
    let part = purge("principal=ann&limit=1&from=a%2F2");
    assert_eq!((part["removed"].as_u64(), part.get("next")), (Some(1), None));
    assert_eq!(topics(&fixture.get("/api/retained").json()), ["b/1", "c/1", "c/2"]);
    assert_eq!(purge("filter=%23")["removed"], 3);
    assert_eq!(topics(&fixture.get("/api/retained").json()), [""; 0]);
}

#[test]
fn nothing_is_removed_by_mistake_or_by_a_lower_role() {
    let fixture = fixture();
    for wrong in ["", "?dry_run=true", "?limit=5", "?filter=%23&dry_run=maybe", "?filter=%23&dryrun=true"] {
        fixture.delete(&format!("/api/retained{wrong}")).problem(400, "HTTP-017");
    }
    for (role, sees) in [("viewer", 200), ("sender", 403)] {
        let made = fixture.post("/api/keys", &format!(r#"{{"name": "{role}", "roles": ["{role}"]}}"#)).json();
        let key = format!("Bearer {}", made["secret"].as_str().expect("a secret"));
        let answer = fixture.ask("DELETE", "/api/retained?filter=%23", &[("authorization", &key)], None);
        answer.problem(403, "HTTP-003");
        let answer = fixture.ask("GET", "/api/retained", &[("authorization", &key)], None);
        assert_eq!(answer.status, sees, "{role}");
    }
    fixture.ask("GET", "/api/retained", &[], None).problem(401, "HTTP-001");
    assert_eq!(topics(&fixture.get("/api/retained").json()).len(), 5);
}
