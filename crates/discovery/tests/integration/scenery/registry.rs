//! A backend as it is installed, of one member or more: what the suites do to it, whichever it is.
//!
//! What only one of them can do (leases, transactions, access rights) stands with its own type.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use stadium_discovery::Backend;

use super::Process;

/// Members that know each other. They end with their owner.
pub trait Registry: Sized {
    /// Starts `count` members and waits until they serve.
    fn start(count: usize) -> Self;

    fn count(&self) -> usize;

    /// Where a member serves its clients.
    fn address(&self, number: usize) -> SocketAddr;

    /// What discovery needs to reach the members at these addresses.
    fn backend_at(&self, addresses: &[SocketAddr]) -> Backend;

    /// A member's process; none while it is dead.
    fn process(&mut self, number: usize) -> &mut Option<Process>;

    /// Starts a member that was killed, with the data that it has.
    fn revive(&mut self, number: usize);

    /// The folder that holds what a member stores, and nothing else.
    fn data(&self, number: usize) -> PathBuf;

    /// Waits until the members have a leader and answer.
    fn until_ready(&self);

    /// The number of the leader.
    fn leader(&self) -> usize;

    /// What an entry holds; none where there is no such entry.
    fn value(&self, path: &str) -> Option<String>;

    /// What discovery needs to reach all members.
    fn backend(&self) -> Backend {
        self.backend_at(&(0..self.count()).map(|number| self.address(number)).collect::<Vec<_>>())
    }

    /// Kills a member with SIGKILL.
    fn kill(&mut self, number: usize) {
        *self.process(number) = None;
    }

    fn kill_all(&mut self) {
        (0..self.count()).for_each(|number| self.kill(number));
    }

    fn revive_all(&mut self) {
        (0..self.count()).for_each(|number| self.revive(number));
    }

    /// Stops a member where it stands; its connections stay open and silent.
    fn pause(&mut self, number: usize) {
        self.process(number).as_ref().expect("a living member").pause();
    }

    fn go_on(&mut self, number: usize) {
        self.process(number).as_ref().expect("a living member").go_on();
    }

    /// Removes all data of all members, which are dead.
    fn wipe(&mut self) {
        for number in 0..self.count() {
            assert!(self.process(number).is_none(), "a living member's data");
            fs::remove_dir_all(self.data(number)).expect("a member's data");
        }
    }
}
