//! The registries that servers register in, as they are installed: killed, paused and started again.

use stadium_testing::etcd::Cluster;
use stadium_testing::zookeeper::Ensemble;

/// A registry of one process, which ends with its owner.
pub trait Registry {
    /// Where it is, in the settings of clients and servers.
    fn url(&self) -> String;

    /// Makes it go away.
    fn leave(&mut self, way: Outage);

    /// Ends the outage, and waits until it answers.
    fn come_back(&mut self, way: Outage);
}

/// How a registry is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// Its process is killed: connections break, and new ones are refused.
    Killed,
    /// Its process is stopped: connections stay open and silent.
    Paused,
}

impl Registry for Cluster {
    fn url(&self) -> String {
        format!("etcd://{}", self.address(0))
    }

    fn leave(&mut self, way: Outage) {
        match way {
            Outage::Killed => self.kill(0),
            Outage::Paused => self.pause(0),
        }
    }

    fn come_back(&mut self, way: Outage) {
        match way {
            Outage::Killed => self.revive(0),
            Outage::Paused => self.go_on(0),
        }
        self.until_ready();
    }
}

impl Registry for Ensemble {
    fn url(&self) -> String {
        format!("zk://{}", self.connect())
    }

    fn leave(&mut self, way: Outage) {
        match way {
            Outage::Killed => self.kill(0),
            Outage::Paused => self.pause(0),
        }
    }

    fn come_back(&mut self, way: Outage) {
        match way {
            Outage::Killed => self.revive(0),
            Outage::Paused => self.go_on(0),
        }
        self.until_ready();
    }
}
