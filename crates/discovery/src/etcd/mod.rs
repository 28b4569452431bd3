//! etcd: a member that answers. What is done with it is in [`session`].

mod session;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stadium_etcd::messages::RangeRequest;
use stadium_etcd::{Access, Members};

use self::session::{Memory, Session};
use crate::config::Config;
use crate::hub::Hub;
use crate::link;
use crate::timing::Timing;

/// How much later each further member is tried.
const STAGGER: Duration = Duration::from_millis(100);

/// Finds members.
pub(crate) struct Backend {
    members: Members,
    prefix: String,
    timing: Timing,
    memory: Rc<RefCell<Memory>>,
}

impl Backend {
    /// Has not spoken to anybody yet.
    pub(crate) fn new(config: &Config, access: Access) -> Self {
        let timing = Timing::new(config);
        let memory = Memory { contact: Instant::now(), marks: BTreeMap::new(), leases: BTreeMap::new() };
        let members = Members::new(access, STAGGER);
        let prefix = config.prefix.clone();
        Self { members, prefix, timing, memory: Rc::new(RefCell::new(memory)) }
    }
}

impl link::Backend for Backend {
    type Session = Session;

    async fn open(&mut self, hub: &Hub) -> Result<Session, String> {
        self.memory.borrow_mut().marks.retain(|name, _| hub.is_watched(name));
        let probe = RangeRequest::probe(&format!("{}/", self.prefix));
        let client = self.members.reach(&probe, self.timing.timeout).await?;
        Ok(Session::new(client, self.prefix.clone(), self.timing, self.memory.clone()))
    }
}
