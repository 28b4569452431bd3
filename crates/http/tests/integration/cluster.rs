//! The cluster over HTTP: what a node tells of it, pages of shards, and servers that have none to tell.

use serde_json::{Value, json};
use stadium_http::fleet::{NoCluster, Readiness};

use crate::support::Fixture;
use crate::support::cluster::{NODES, hurt, whole};

fn numbers(page: &Value) -> Vec<u64> {
    let shards = page["shards"].as_array().expect("a list");
    shards.iter().map(|shard| shard["shard"].as_u64().expect("a number")).collect()
}

#[test]
fn a_standalone_server_has_no_cluster_and_no_list_of_its_shards() {
    let fixture = Fixture::begin();
    let answer = fixture.get("/api/cluster");
    assert_eq!((answer.status, answer.json()), (200, json!({ "cluster": null })));
    fixture.get("/api/cluster/shards").problem(404, "HTTP-037");
}

#[test]
fn a_node_that_has_not_joined_or_leaves_says_so() {
    let fixture = Fixture::begin();
    fixture.fleet.become_clustered(Err(NoCluster::NotNow));
    fixture.fleet.become_ready(Readiness::Starting("the node is being registered in etcd".to_owned()));
    for path in ["/api/cluster", "/api/cluster/shards"] {
        let problem = fixture.get(path).problem(503, "HTTP-014");
        assert!(problem["detail"].as_str().is_some_and(|text| text.contains("registered")), "{problem}");
    }
    fixture.fleet.become_ready(Readiness::Ready);
    let problem = fixture.get("/api/cluster").problem(503, "HTTP-014");
    assert!(problem["detail"].as_str().is_some_and(|text| text.contains("draining")), "{problem}");
}

#[test]
fn nodes_moves_drains_and_links_are_told() {
    let fixture = Fixture::begin();
    fixture.fleet.become_clustered(Ok(hurt()));
    let cluster = &fixture.get("/api/cluster").json()["cluster"];
    assert_eq!(
        (&cluster["name"], &cluster["node"], &cluster["etcd"]),
        (&json!("shop"), &json!("stadium-1"), &json!("connected"))
    );
    assert_eq!(
        cluster["problems"],
        json!({"no_owner": 2, "few_standbys": 30, "one_zone": 0, "not_assigned": 0, "unreadable": 0})
    );
    let states: Vec<&Value> =
        cluster["nodes"].as_array().expect("a list").iter().map(|node| &node["state"]).collect();
    assert_eq!(states, ["alive", "draining", "away"]);
    assert_eq!(cluster["nodes"][0]["alive"]["registered_at"], "2026-11-22T10:20:00.000Z");
    assert!(cluster["nodes"][2].get("alive").is_none(), "a node that is away says nothing");
    let warming = json!({"shard": 7, "from": "stadium-2", "to": "stadium-1", "step": "warming_up", "asked": false,
                         "lag": {"messages": 12_345, "ms": 4_200}});
    assert_eq!(cluster["moves"][1], warming);
    assert_eq!(cluster["drains"], json!([{"node": "stadium-2", "owned": 16, "standby": 16}]));
    let lost = &cluster["links"][3];
    assert_eq!(
        (&lost["node"], &lost["up"], lost.get("round_trip_us")),
        (&json!("stadium-3"), &json!(false), None)
    );
}

#[test]
fn shards_are_listed_page_by_page_and_by_node_and_state() {
    let fixture = Fixture::begin();
    fixture.fleet.become_clustered(Ok(whole()));
    let list = |query: &str| fixture.get(&format!("/api/cluster/shards{query}")).json();
    let page = list("?limit=20");
    assert_eq!((numbers(&page), &page["next"]), ((0..20).collect(), &json!(19)));
    let page = list("?limit=28&after=19");
    assert_eq!((numbers(&page), &page["next"]), ((20..48).collect(), &json!(null)));
    assert_eq!(numbers(&list("?after=4294967295")), [0; 0]);
    let of_first = numbers(&list("?node=stadium-1&limit=5"));
    assert_eq!(of_first, [0, 2, 3, 5, 6], "owned, or a standby there");
    assert_eq!(numbers(&list("?node=nobody")), [0; 0]);
    assert_eq!(numbers(&list("?only=troubled")), [0; 0]);

    fixture.fleet.become_clustered(Ok(hurt()));
    let troubled = list("?only=troubled&limit=1024");
    assert_eq!(numbers(&troubled).len(), 32);
    assert_eq!(troubled["shards"][1]["problems"], json!(["no_owner"]));
    assert_eq!(troubled["shards"][1]["owner"], json!(null));
    assert_eq!(numbers(&list("?only=moving")), [4, 7]);
    let standbys = &list("?after=6&limit=1")["shards"][0]["standbys"];
    assert_eq!(
        standbys[1],
        json!({"node": NODES[0], "state": "behind", "lag": {"messages": 12_345, "ms": 4_200}})
    );
    for wrong in ["limit=0", "limit=1025", "only=some", "after=x", "after=-1", "from=3"] {
        fixture.get(&format!("/api/cluster/shards?{wrong}")).problem(400, "HTTP-017");
    }
}
