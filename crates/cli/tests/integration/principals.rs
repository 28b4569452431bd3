//! Jobs and transfers name who asked for them: over HTTP, over RPC, and after the server was killed.
//!
//! Black box: the built binary is the server and the client. The admin's key asks over HTTP, a
//! second key over RPC.

use crate::binary;

use std::fs;

use binary::{SMALL, Server, err, json, out, run_in, wait_for};
use serde_json::{Value, json};

/// A server, and the ids of its two keys.
struct Scene {
    server: Server,
    /// The admin's key.
    admin: String,
    /// The key of the service that asks over RPC.
    service: String,
}

impl Scene {
    fn new() -> Self {
        let server = Server::trial();
        let roles = ["--role", "bookkeeper", "--role", "worker"];
        let made = server.answers(&[&["key", "create", "service"], roles.as_slice()].concat());
        fs::write(server.data().join("service.key"), text(&made["secret"])).expect("it is writable");
        let service = text(&made["key"]["id"]).to_owned();
        let listed = server.answers(&["key", "list"]);
        let keys = listed["keys"].as_array().expect("a list of keys");
        let other = keys.iter().map(|key| text(&key["id"])).find(|id| *id != service);
        let admin = other.expect("the admin has a key").to_owned();
        server.does(&["wallet", "asset", "VOTE"]);
        server.does(&["wallet", "open", "VOTE", "alice", "bob"]);
        Self { server, admin, service }
    }

    /// Calls a method over RPC with the service's key.
    fn call(&self, route: &str, request: &Value) -> Value {
        let (address, key) = (self.server.address("rpc"), self.server.data().join("service.key"));
        let (request, key) = (request.to_string(), key.display().to_string());
        let end = ["--instance", &address, "--bearer-file", &key, "--json"];
        let done =
            run_in(self.server.data(), &[&["service", "call", route, &request], end.as_slice()].concat());
        assert!(done.status.success(), "{route} {request}: {}{}", out(&done), err(&done));
        json(&done)
    }

    /// The principal of a transfer.
    fn of_transfer(&self, id: &str) -> Value {
        self.server.answers(&["wallet", "find", id])["principal"].clone()
    }

    /// The principals of a queue's jobs, and of their histories, which are the same.
    fn of_jobs(&self, queue: &str) -> Vec<Value> {
        let jobs = self.server.answers(&["queue", "peek", queue])["jobs"].clone();
        let of = |job: &Value| {
            let id = text(&job["id"]);
            let history = self.server.answers(&["queue", "history", id])["events"].clone();
            let put = history.as_array().and_then(|events| events.last()).expect("it was put").clone();
            assert_eq!((&put["event"], &put["principal"]), (&"put".into(), &job["principal"]), "{put}");
            assert_eq!(self.server.answers(&["queue", "find", id])["principal"], job["principal"]);
            job["principal"].clone()
        };
        jobs.as_array().expect("a list of jobs").iter().map(of).collect()
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is text"))
}

/// The id of a transfer: in the JSON form of Protocol Buffers, and as people write it.
const FIRST: (&str, &str) = ("AAAAAAAAAAAAAAAAAAAAAQ==", "00000000-0000-0000-0000-000000000001");
const SECOND: (&str, &str) = ("AAAAAAAAAAAAAAAAAAAAAg==", "00000000-0000-0000-0000-000000000002");

#[test]
fn two_keys_leave_their_ids_on_transfers_and_jobs_over_a_restart() {
    let mut scene = Scene::new();
    let given = scene.server.prints(&["wallet", "transfer", "@bank", "alice", "9", "VOTE"]);
    let given = given.split_whitespace().next().expect("its id is printed").to_owned();
    let post = |id: &str, credit: &str| json!({"id": id, "post": {"debit": "alice", "credit": credit, "asset": "VOTE", "amount": "1"}});
    scene.call("wallet/Transfer", &json!({"transfers": [post(FIRST.0, "bob")]}));
    let unit = json!({"transfers": [post(SECOND.0, "@candidate")], "jobs": [{"queue": "votes", "job": {}}]});
    scene.call("wallet/Together", &json!({"units": [unit]}));
    scene.server.does(&["queue", "put", "mail", "of the admin"]);
    scene.call("queue/Put", &json!({"queue": "mail", "jobs": [{"payload": "aGk="}]}));
    wait_for("the vote to be on its shard", || {
        let list = scene.server.client(&["queue", "peek", "votes", "--json"]);
        (list.status.success() && json(&list)["jobs"][0].is_object()).then_some(())
    });
    let (admin, service) = (Value::from(scene.admin.as_str()), Value::from(scene.service.as_str()));
    for restarts in 0..2 {
        if restarts == 1 {
            scene.server.signal("KILL");
            scene.server = scene.server.again(&[&["--trial"], SMALL.as_slice()].concat());
        }
        assert_eq!(scene.of_transfer(&given), admin);
        assert_eq!([FIRST.1, SECOND.1].map(|id| scene.of_transfer(id)), [service.clone(), service.clone()]);
        assert_eq!(scene.of_jobs("mail"), [admin.clone(), service.clone()]);
        assert_eq!(scene.of_jobs("votes"), std::slice::from_ref(&service));
        // Bob's shard need not be Alice's.
        let history = scene.server.answers(&["wallet", "history", "bob", "VOTE"]);
        assert_eq!(history["entries"][0]["transfer"]["principal"], service, "{history}");
        let found = scene.call("wallet/Find", &json!({"transfer": FIRST.0}));
        assert_eq!(found["principal"], service, "{found}");
        let peeked = scene.call("queue/Peek", &json!({"queue": "mail"}));
        assert_eq!(peeked["jobs"][0]["principal"], admin, "{peeked}");
        let shown = scene.server.prints(&["wallet", "find", FIRST.1]);
        assert!(shown.contains(&format!("principal  {}", scene.service)), "{shown}");
    }
}
