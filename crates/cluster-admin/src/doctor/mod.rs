//! `doctor`: an examination of all that a cluster stands on. Each finding has its remedy.
//!
//! It changes nothing, but for a lease of etcd that it asks for and gives back. It measures from
//! the machine that it runs on. Clocks are not compared: a node publishes no time.

mod check;
mod etcd;
mod kafka;
mod links;
mod nodes;

use serde::Serialize;
use stadium_membership::Error as Membership;
use stadium_membership::report::ShardReport;

use crate::admin::Admin;
use crate::error::Error;
use check::Findings;

pub use check::{Area, Check, Verdict};

/// The result of `doctor`.
#[derive(Clone, Debug, Serialize)]
pub struct DoctorReport {
    /// The cluster's name.
    pub cluster: String,
    /// All checks, area by area.
    pub checks: Vec<Check>,
    /// How many are problems.
    pub problems: usize,
    /// How many are warnings.
    pub warnings: usize,
}

impl Admin {
    /// Examines the cluster. It takes seconds, and longer by seconds for each broker that is away.
    ///
    /// # Errors
    /// The process can have no threads. All that a person can mend is a finding.
    pub fn examine(&mut self) -> Result<DoctorReport, Error> {
        let mut findings = Findings::default();
        etcd::examine_members(&self.operator.members(), &mut findings);
        let looked = self.operator.look();
        let mut shards = None;
        match &looked {
            // Each member has said why already.
            Err(Membership::Away(_)) => {}
            Err(error) => findings.problem(Area::Etcd, error, "see docs/reference/errors/cluster.md"),
            Ok(sight) => {
                etcd::examine_lease(self.operator.granted_lease(), &mut findings);
                let name = &self.settings.cluster;
                shards = etcd::examine_keys(name, sight, &mut findings).map(|cluster| cluster.shards);
            }
        }
        kafka::examine(&self.settings, shards, &mut findings);
        if let Ok(sight) = &looked
            && let Some(cluster) = sight.view.cluster.as_deref()
        {
            let view = &sight.view;
            nodes::examine_nodes(view, cluster, self.settings.standbys, &mut findings);
            let shards = ShardReport::all(view, cluster.shards, self.settings.standbys);
            nodes::examine_shards(view, &shards, self.settings.standbys, &mut findings);
            links::examine(view, &mut findings);
        }
        let checks = findings.0;
        let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
        let (problems, warnings) = (count(Verdict::Problem), count(Verdict::Warning));
        Ok(DoctorReport { cluster: self.settings.cluster.clone(), checks, problems, warnings })
    }
}
