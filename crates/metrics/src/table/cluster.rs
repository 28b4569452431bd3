//! A node's part in its cluster. The figures of its shards are those of every server's shards.

crate::definition::section! { "Cluster"
    CLUSTER_REGISTERED = Gauge "cluster_registered" when Cluster: "1 while the node is registered in etcd",
        rises "0 while etcd does not answer, or the node's lease has expired. Its shards move to other nodes then.",
        act "Check etcd and the network to it: `stadium cluster doctor`.",
        set by "cluster.etcd.endpoints";
    CLUSTER_LEASE_CERTAIN = Gauge "cluster_lease_certain" when Cluster:
        "1 while the node's lease is certainly valid; else each read costs a commit",
        rises "0 while etcd is away or slow. Nothing is lost; reads are slower.",
        act "Check etcd: `stadium cluster doctor`.",
        set by "cluster.etcd.endpoints";
    CLUSTER_NODES = Gauge "cluster_nodes" when Cluster: "Nodes of the cluster that are alive, as this one knows",
        rises "A node joined. A fall is a node that left or was lost.",
        act "After an unexpected fall, look for the missing node: `stadium cluster status`.",
        set by "cluster.name";
    CLUSTER_SHARDS = Gauge "cluster_shards" when Cluster: "Shards of the cluster",
        rises "Never: the number is fixed when the cluster is made.",
        act "Nothing.",
        set by "shards.count";
    CLUSTER_SHARDS_SERVED = Gauge "cluster_shards_served" when Cluster: "Shards that this node serves",
        rises "It took shards over. The sum over all nodes should be the number of shards.",
        act "If the sum stays below it, a shard has no owner: `stadium cluster status` names it.",
        set by "cluster.standbys";
    CLUSTER_COMMANDS = Counter "cluster_commands" by "reason" when Cluster:
        "Commands between this node and others",
        rises "`asked` and `served` are ordinary traffic. `given_back` and `asked_again` are shards that move, `unknown` are \
               outcomes that callers must ask for again.",
        act "If `unknown` rises without a drain or a failure, look at the links.",
        set by "cluster.links.loops";
    CLUSTER_COMMANDS_WAITING = Gauge "cluster_commands_waiting" when Cluster:
        "Commands of this node that wait for the answer of another",
        rises "Another node is slow, or a shard has no owner.",
        act "Look at `stadium_cluster_link_up` and `stadium_cluster_shards_served` of all nodes.",
        set by "limits.forwards_waiting_max";
    CLUSTER_LINK_UP = Gauge "cluster_link_up" by "node" "link" when Cluster: "1 while the link is up",
        rises "0 while the other node cannot be reached, or the two do not trust each other's certificate.",
        act "Check that node, the network, and the certificates: `stadium cluster doctor`.",
        set by "cluster.links.advertise" "cluster.links.certificate" "cluster.links.ca";
    CLUSTER_LINK_TRANSFERRED = Counter "cluster_link_transferred" in Bytes by "node" "link" "direction" when Cluster:
        "Bytes over the link, without TLS",
        rises "More commands and messages go between nodes.",
        act "Compare the rate with the capacity of the network.",
        set by "cluster.links.loops";
    CLUSTER_LINK_FAILURES = Counter "cluster_link_failures" by "node" "link" when Cluster:
        "Attempts to connect that failed, and connections that were lost",
        rises "The other node is away, or the network loses connections.",
        act "Check that node and the network between the two.",
        set by "cluster.links.advertise";
    CLUSTER_LINK_CREDIT_TAKEN = Gauge "cluster_link_credit_taken" in Bytes by "node" "link" when Cluster:
        "Credit of the link that is taken",
        rises "The other node processes what it is sent more slowly.",
        act "Look at `stadium_shard_thread_busy_seconds_total` of that node.",
        set by "cluster.links.loops";
    CLUSTER_LINK_ROUND_TRIP = Gauge "cluster_link_round_trip" in Seconds by "node" "link" when Cluster:
        "The last round trip of the link, with a turn of the loop at both ends",
        rises "The network or the loops of links are slower.",
        act "Compare it with a ping between the machines.",
        set by "cluster.links.loops";
    CLUSTER_ARCHIVE_BEHIND = Gauge "cluster_archive_behind" when Store:
        "Shards of this node whose newest checkpoint is not in the object store",
        rises "Uploads are slower than checkpoints, or fail.",
        act "Look at `stadium_cluster_archive_failing` and the bandwidth to the store.",
        set by "cluster.store";
    CLUSTER_ARCHIVE_WAIT = Gauge "cluster_archive_wait" in Seconds when Store:
        "How long the checkpoint that has waited longest for the object store has waited",
        rises "A loss of all brokers' disks would lose what this node did in that time.",
        act "Above an hour, check the store, its credentials and the network.",
        set by "cluster.store";
    CLUSTER_ARCHIVE_FAILING = Gauge "cluster_archive_failing" when Store:
        "Shards of this node that could not be stored at the last attempt",
        rises "The object store refuses or does not answer.",
        act "The log has the store's error. Check credentials, room and permissions.",
        set by "cluster.store";
}
