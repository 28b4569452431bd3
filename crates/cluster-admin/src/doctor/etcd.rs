//! etcd: each member, the lease that it grants, and the cluster's keys.
//!
//! An answer that is too slow for leases is a problem, as is a lease that is longer than asked for.

use std::collections::BTreeSet;
use std::time::Duration;

use stadium_membership::{Cluster, Error as Membership, LEASE};
use stadium_membership_etcd::{Member, MemberState, Sight};

use super::check::{Area, Findings};

/// A read that takes longer: the network or the disk is too slow for leases of two seconds.
const SLOW: Duration = Duration::from_millis(100);
/// A node leaves a member that answers later.
const TOO_SLOW: Duration = Duration::from_millis(450);

/// The members at the endpoints of the settings.
pub(super) fn examine_members(members: &[Member], findings: &mut Findings) {
    for Member { endpoint, state } in members {
        match state {
            Err(why) => findings.problem(
                Area::Etcd,
                format_args!("{endpoint} does not answer: {why}"),
                refused(why)
                    .unwrap_or("start this member, or correct cluster.etcd in the configuration file"),
            ),
            Ok(state) => examine_member(endpoint, state, findings),
        }
    }
    let answering: Vec<&MemberState> =
        members.iter().filter_map(|member| member.state.as_ref().ok()).collect();
    let clusters: BTreeSet<u64> = answering.iter().map(|state| state.cluster_id).collect();
    if clusters.len() > 1 {
        findings.problem(
            Area::Etcd,
            format_args!("the endpoints are of {} different etcds", clusters.len()),
            "name the members of one etcd in cluster.etcd.endpoints, on each node the same",
        );
    }
    let versions: BTreeSet<&str> = answering.iter().map(|state| state.version.as_str()).collect();
    if versions.len() > 1 {
        let versions: Vec<&str> = versions.into_iter().collect();
        findings.warning(
            Area::Etcd,
            format_args!("the members have different versions: {}", versions.join(", ")),
            "finish the upgrade of etcd",
        );
    }
    if members.len() < 3 {
        findings.warning(
            Area::Etcd,
            format_args!("{} member(s) are named: the cluster stands on all of them", members.len()),
            "run three members and name each in cluster.etcd.endpoints",
        );
    }
}

/// The remedy where etcd refuses, by its words (etcd's api/v3rpc/rpctypes).
fn refused(why: &str) -> Option<&'static str> {
    let remedies = [
        (
            "permission denied",
            "grant the role of this user READWRITE on the keys /stadium/CLUSTER/: \
             etcdctl role grant-permission ROLE --prefix=true readwrite /stadium/CLUSTER/",
        ),
        (
            "authentication failed",
            "correct cluster.etcd.user and cluster.etcd.password_file, or change the password: etcdctl user passwd",
        ),
        ("user name is empty", "etcd asks for a user: set cluster.etcd.user and cluster.etcd.password_file"),
    ];
    remedies.iter().find(|(words, _)| why.contains(words)).map(|(_, remedy)| *remedy)
}

fn examine_member(endpoint: &str, state: &MemberState, findings: &mut Findings) {
    let MemberState { version, is_leader, revision, errors, read, .. } = state;
    if !is_supported(version) {
        findings.problem(
            Area::Etcd,
            format_args!("{endpoint} has version {version}: etcd must be 3.4 or newer"),
            "upgrade etcd",
        );
    }
    for error in errors {
        findings.problem(
            Area::Etcd,
            format_args!("{endpoint} reports: {error}"),
            "see the alarms of etcd: etcdctl alarm list",
        );
    }
    match read {
        Err(why) => findings.problem(
            Area::Etcd,
            format_args!("{endpoint} answers no reads: {why}"),
            refused(why)
                .unwrap_or("see whether a majority of the members runs: the others have to be started"),
        ),
        Ok(took) => {
            let role = if *is_leader { ", leader" } else { "" };
            let finding =
                format!("{endpoint}, version {version}{role}, revision {revision}, read in {took:.1?}");
            let remedy = "see the disk and the network of this member: nodes leave one that takes 450 ms";
            match *took {
                took if took >= TOO_SLOW => findings.problem(Area::Etcd, finding, remedy),
                took if took >= SLOW => findings.warning(Area::Etcd, finding, remedy),
                _ => findings.ok(Area::Etcd, finding),
            }
        }
    }
}

/// Whether the version is 3.4 or newer.
fn is_supported(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (3, 4)
}

/// The lease that etcd grants.
pub(super) fn examine_lease(granted: Result<Duration, Membership>, findings: &mut Findings) {
    match granted {
        Ok(granted) if granted <= LEASE => {
            findings.ok(Area::Etcd, format_args!("it grants leases of {granted:?}"));
        }
        Ok(granted) => findings.warning(
            Area::Etcd,
            format_args!(
                "it grants leases of {granted:?} where {LEASE:?} are asked for: a dead node is noticed later"
            ),
            "start the members with --election-timeout=1000 --heartbeat-interval=100: leases of 2 s need an \
             election timeout of 1300 or less",
        ),
        Err(why) => findings.problem(
            Area::Etcd,
            format_args!("it grants no lease: {why}"),
            "see whether the user of cluster.etcd may grant leases",
        ),
    }
}

/// The cluster's keys. Returns the cluster, if it was made.
pub(super) fn examine_keys<'s>(name: &str, sight: &'s Sight, findings: &mut Findings) -> Option<&'s Cluster> {
    for unreadable in &sight.unreadable {
        findings.warning(
            Area::Etcd,
            unreadable,
            "a person or a newer version wrote the key: correct it, or delete it with etcdctl",
        );
    }
    let cluster = sight.view.cluster.as_deref();
    match cluster {
        None => findings.problem(
            Area::Etcd,
            format_args!("no cluster is named {name:?}"),
            "make it with `stadium cluster init`, or correct cluster.name",
        ),
        Some(cluster) => {
            let (id, shards) = (String::from(cluster.id), cluster.shards);
            findings.ok(Area::Etcd, format_args!("cluster {name}, id {id}, {shards} shards"));
        }
    }
    cluster
}

#[cfg(test)]
mod tests {
    use super::is_supported;

    #[test]
    fn etcd_3_4_and_newer_are_supported() {
        for (version, supported) in
            [("3.4.23", true), ("3.3.27", false), ("3.10.0", true), ("4.0.0-rc.1", true), ("", false)]
        {
            assert_eq!(is_supported(version), supported, "{version}");
        }
    }
}
