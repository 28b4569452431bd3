//! The data of users on all nodes: how a node asks the others, and has its own part answered.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stadium_cluster::NodeAnswers;
use stadium_http::fleet::BoxFuture;
use stadium_http::{ClusterUsers, NodeOfUsers, OtherNodes, SharedDocuments};
use stadium_membership::NodeName;
use stadium_shard::Shards;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::member::{FIRST, Joined, Member};
use crate::fleet::SharedFleet;

/// The time for an answer: a node reads through all of its sessions, and through its audit log.
const ASKED_FOR: Duration = Duration::from_secs(20);

/// The other nodes, while this one is of the cluster.
struct Others {
    me: String,
    joined: Joined,
}

impl OtherNodes for Others {
    fn me(&self) -> &str {
        &self.me
    }

    fn registered(&self) -> BTreeSet<String> {
        let joined = self.joined.read();
        let Some(node) = &*joined else { return BTreeSet::new() };
        node.snapshot().view.nodes.keys().map(NodeName::to_string).collect()
    }

    fn is_first(&self) -> bool {
        self.joined.read().as_ref().is_some_and(|node| node.serves().contains(FIRST))
    }

    fn ask(&self, node: &str, question: Bytes) -> BoxFuture<'static, Option<Bytes>> {
        let (answered, answer) = oneshot::channel();
        if let (Some(this), Ok(node)) = (&*self.joined.read(), node.parse()) {
            // Nobody may wait any more.
            this.ask_node(&node, question, ASKED_FOR, Box::new(move |answer| drop(answered.send(answer))));
        }
        Box::pin(async move { answer.await.ok().flatten() })
    }
}

/// Answers other nodes on the threads of the control plane.
struct Answers {
    users: Arc<ClusterUsers>,
    runtime: Handle,
}

impl NodeAnswers for Answers {
    fn answer(&self, question: Bytes, reply: Box<dyn FnOnce(Vec<u8>) + Send>) {
        let users = Arc::clone(&self.users);
        self.runtime.spawn(async move {
            if let Some(answer) = users.answer(&question).await {
                reply(answer);
            }
        });
    }
}

impl Member {
    /// The data of users in the cluster. From now on this node answers others about its part.
    pub(crate) fn users(
        &self,
        documents: Arc<dyn SharedDocuments>,
        (fleet, sessions): (&SharedFleet, &Shards),
        data: &Path,
        runtime: &Handle,
    ) -> Arc<ClusterUsers> {
        let nodes = Others { me: self.about().me().to_string(), joined: Arc::clone(self.joined()) };
        let users = ClusterUsers::new(NodeOfUsers {
            cluster: self.about().id().to_owned(),
            documents,
            shards: self.shards().clone(),
            sessions: sessions.clone(),
            fleet: Arc::<crate::fleet::EdgeFleet>::clone(fleet),
            nodes: Arc::new(nodes),
            data_dir: data.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        });
        if let Some(node) = &*self.joined().read() {
            node.attach_answers(Arc::new(Answers { users: Arc::clone(&users), runtime: runtime.clone() }));
        }
        users
    }
}
