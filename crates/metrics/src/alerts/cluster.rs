//! Nodes of a cluster.

crate::alert::alerts! { "Cluster"
    StadiumShardsWithoutOwner Critical if "sum by (job) (stadium_cluster_shards_served) < \
        max by (job) (stadium_cluster_shards)" for "2m":
        "Shards of the cluster have no owner",
        means "Keys of these shards are answered 503.",
        act "`stadium cluster status` names the shards, `stadium cluster doctor` the cause.",
        fires r#"stadium_cluster_shards_served{job="stadium", instance="a"}"# = "3x120"
              r#"stadium_cluster_shards_served{job="stadium", instance="b"}"# = "4x120"
              r#"stadium_cluster_shards{job="stadium", instance="a"}"# = "8x120"
              r#"stadium_cluster_shards{job="stadium", instance="b"}"# = "8x120",
        silent r#"stadium_cluster_shards_served{job="stadium", instance="a"}"# = "4x120"
               r#"stadium_cluster_shards_served{job="stadium", instance="b"}"# = "4x120"
               r#"stadium_cluster_shards{job="stadium", instance="a"}"# = "8x120"
               r#"stadium_cluster_shards{job="stadium", instance="b"}"# = "8x120";
    StadiumNodeNotRegistered Critical if "stadium_cluster_registered == 0" for "1m":
        "{instance} is not registered in etcd",
        means "Its lease has expired, or etcd does not answer. Its shards move to other nodes.",
        act "`stadium cluster doctor` examines etcd and the node.",
        fires r#"stadium_cluster_registered{instance="a"}"# = "0x120",
        silent r#"stadium_cluster_registered{instance="a"}"# = "1x120";
    StadiumLeaseUncertain Warning if "stadium_cluster_lease_certain == 0" for "5m":
        "The lease of {instance} is not certain",
        means "etcd is away or slow. Nothing is lost; each read costs a commit.",
        act "Check etcd: `stadium cluster doctor`.",
        fires r#"stadium_cluster_lease_certain{instance="a"}"# = "0x120",
        silent r#"stadium_cluster_lease_certain{instance="a"}"# = "1x120";
    StadiumLinkDown Warning if "stadium_cluster_link_up == 0" for "5m":
        "The link {link} of {instance} to {node} is down",
        means "Commands for that node's shards wait, and end as unknown at last.",
        act "Check that node, the network between the two, and their certificates: `stadium cluster doctor`.",
        fires r#"stadium_cluster_link_up{instance="a", node="b", link="0"}"# = "0x120",
        silent r#"stadium_cluster_link_up{instance="a", node="b", link="0"}"# = "1x120";
    StadiumArchiveBehind Critical if "stadium_cluster_archive_wait_seconds > 3600" for "5m":
        "A checkpoint of {instance} has waited for the object store for an hour",
        means "A loss of all brokers' disks would lose what was done since.",
        act "Check the store, its credentials and the bandwidth.",
        fires r#"stadium_cluster_archive_wait_seconds{instance="a"}"# = "4000x120",
        silent r#"stadium_cluster_archive_wait_seconds{instance="a"}"# = "600x120";
    StadiumArchiveFails Warning if "stadium_cluster_archive_failing > 0" for "15m":
        "{instance} cannot write {value} shards to the object store",
        means "The object store refuses, or does not answer.",
        act "The log has the store's error. Check credentials, room and permissions.",
        fires r#"stadium_cluster_archive_failing{instance="a"}"# = "1x120",
        silent r#"stadium_cluster_archive_failing{instance="a"}"# = "0x120";
}
