//! [`Operator`]: a look at a cluster, and requests to its planner, from a process that is no node.
//!
//! Its calls block, each for at most [`LONGEST_CALL`]. It registers nothing and keeps no watch:
//! each view is read anew through the quorum.

use std::fmt;
use std::time::{Duration, Instant};

use stadium_etcd::messages::{RangeRequest, StatusResponse, TxnRequest};
use stadium_etcd::{Access, Client, Failure, Members, connect_to};
use stadium_membership::{Change, Cluster, Error, LEASE, Request, View, check_name};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::create;
use crate::keys::{KEYS_MAX, Keys};

/// How long each call may take. People wait for it.
pub const LONGEST_CALL: Duration = Duration::from_millis(2500);

/// How much later each further member is tried.
const STAGGER: Duration = Duration::from_millis(40);

/// The cluster as etcd has it.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// The view, as of its revision.
    pub view: View,
    /// A sentence for each key that cannot be read, without those of the map: see
    /// [`View::damaged`].
    pub unreadable: Vec<String>,
}

/// What a member of etcd says of itself.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its endpoint, as the settings name it.
    pub endpoint: String,
    /// Its state, or why it gave none.
    pub state: Result<MemberState, String>,
}

/// The state of a member that answers.
#[derive(Clone, Debug)]
pub struct MemberState {
    /// Its version.
    pub version: String,
    /// Which etcd it belongs to.
    pub cluster_id: u64,
    /// Whether it leads.
    pub is_leader: bool,
    /// The newest revision that it knows.
    pub revision: i64,
    /// Bytes of its database.
    pub bytes: u64,
    /// What it complains of.
    pub errors: Vec<String>,
    /// How long a read through the quorum took, or why there was none.
    pub read: Result<Duration, String>,
}

/// A look at one cluster from outside. It keeps a connection to a member that answered last.
pub struct Operator {
    runtime: Runtime,
    access: Access,
    name: String,
    keys: Keys,
    members: Members,
    client: Option<Client>,
}

impl Operator {
    /// Of the cluster `name`. Connects to nothing yet.
    ///
    /// # Errors
    /// [`Error::Setting`] for a name or endpoints out of bounds; [`Error::Ended`] when the process
    /// can have no sockets.
    pub fn new(access: Access, name: &str) -> Result<Self, Error> {
        check_name("cluster", name)?;
        access.check().map_err(Error::Setting)?;
        let ended = |why: std::io::Error| Error::Ended(format!("cannot speak to etcd: {why}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ended)?;
        let members = Members::new(access.clone(), STAGGER);
        Ok(Self { runtime, access, name: name.to_owned(), keys: Keys::of(name), members, client: None })
    }

    /// Everything below the cluster's prefix.
    ///
    /// # Errors
    /// [`Error::Away`] with the endpoints when none answers in time.
    pub fn look(&mut self) -> Result<Sight, Error> {
        let root = self.keys.root().to_owned();
        let listed = self.call(async move |client| client.list(&root, KEYS_MAX).await)?;
        let mut sight = Sight::default();
        sight.view.revision = listed.mark.revision;
        for kv in &listed.kvs {
            let Some(below) = self.keys.below(&kv.key) else { continue };
            match Change::read(below, Some(&kv.value)) {
                Ok(Some(change)) => sight.view.apply(kv.mod_revision, change),
                Ok(None) => {}
                Err(why) => sight.unreadable.push(why.to_string()),
            }
        }
        Ok(sight)
    }

    /// The same, of a cluster that was made.
    ///
    /// # Errors
    /// Those of [`Self::look`], and [`Error::Missing`] when no cluster has the name.
    pub fn look_at_cluster(&mut self) -> Result<(Sight, Cluster), Error> {
        let sight = self.look()?;
        match sight.view.cluster.as_deref().cloned() {
            Some(cluster) => Ok((sight, cluster)),
            None => {
                let (name, endpoints) = (&self.name, self.access.endpoints.join(", "));
                Err(Error::Missing(format!("the etcd at {endpoints} has no cluster named {name:?}")))
            }
        }
    }

    /// Makes the cluster, as [`crate::create()`] does.
    ///
    /// # Errors
    /// Those of [`crate::create()`].
    pub fn create(&mut self, cluster: &Cluster) -> Result<(), Error> {
        create::create(self.access.clone(), &self.name, cluster)
    }

    /// Asks something of the planner. Whether it makes sense is the caller's to find out before.
    ///
    /// # Errors
    /// [`Error::Away`] when etcd did not confirm it. It may be written all the same.
    pub fn request(&mut self, request: &Request) -> Result<(), Error> {
        self.transact(self.keys.asking(request))
    }

    /// Takes the request with this key back: see [`Request::key`].
    ///
    /// # Errors
    /// [`Error::Away`] when etcd did not confirm it.
    pub fn withdraw(&mut self, key: &str) -> Result<(), Error> {
        self.transact(self.keys.withdrawing(key))
    }

    /// Each member at the endpoints of the settings, all asked at the same time.
    #[must_use]
    pub fn members(&mut self) -> Vec<Member> {
        let root = self.keys.root().to_owned();
        let access = self.access.clone();
        self.runtime.block_on(async move {
            let mut asked = JoinSet::new();
            // Bounded by the 32 endpoints that the settings allow.
            for (place, endpoint) in access.endpoints.iter().cloned().enumerate() {
                let (access, probe) = (access.clone(), RangeRequest::probe(&root));
                asked.spawn(async move {
                    let state = tokio::time::timeout(LONGEST_CALL, state(&access, &endpoint, probe)).await;
                    let state = state.unwrap_or_else(|_| Err(format!("no answer within {LONGEST_CALL:?}")));
                    (place, Member { endpoint, state })
                });
            }
            let mut members = asked.join_all().await;
            members.sort_by_key(|(place, _)| *place);
            members.into_iter().map(|(_, member)| member).collect()
        })
    }

    /// The length of the lease that etcd grants where a node's is asked for. The lease is given
    /// back.
    ///
    /// # Errors
    /// [`Error::Away`] when etcd does not answer or refuses.
    pub fn granted_lease(&mut self) -> Result<Duration, Error> {
        let seconds = i64::try_from(LEASE.as_secs()).expect("two seconds");
        let granted = self.call(async move |client| {
            let (lease, granted) = client.grant(seconds).await?;
            // It ends by itself where this fails.
            _ = client.revoke(lease).await;
            Ok(granted)
        })?;
        Ok(Duration::from_secs(granted.unsigned_abs()))
    }

    fn transact(&mut self, question: TxnRequest) -> Result<(), Error> {
        self.call(async move |client| client.transact(question).await.map(drop))
    }

    /// Calls a member that answers, within [`LONGEST_CALL`] altogether.
    fn call<T>(&mut self, ask: impl AsyncFnOnce(Client) -> Result<T, Failure>) -> Result<T, Error> {
        let Self { runtime, members, client, access, keys, .. } = self;
        let probe = RangeRequest::probe(keys.root());
        let asked = async {
            let reached = match client.take() {
                Some(client) => client,
                None => members.reach(&probe, LONGEST_CALL).await?,
            };
            let answer = ask(reached.clone()).await.map_err(|failure| failure.what)?;
            *client = Some(reached);
            Ok(answer)
        };
        let answer = runtime.block_on(async { tokio::time::timeout(LONGEST_CALL, asked).await });
        let why: String = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(why)) => why,
            Err(_) => format!("no answer within {LONGEST_CALL:?}"),
        };
        Err(Error::Away(format!("etcd does not answer at {}: {why}", access.endpoints.join(", "))))
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operator").field("cluster", &self.name).finish_non_exhaustive()
    }
}

async fn state(access: &Access, endpoint: &str, probe: RangeRequest) -> Result<MemberState, String> {
    let client = connect_to(access, endpoint, LONGEST_CALL).await?;
    let StatusResponse { header, version, db_size, leader, errors } =
        client.status().await.map_err(|failure| failure.what)?;
    let header = header.unwrap_or_default();
    let asked = Instant::now();
    let read = client.range(probe).await;
    Ok(MemberState {
        version,
        cluster_id: header.cluster_id,
        is_leader: leader != 0 && leader == header.member_id,
        revision: header.revision,
        bytes: db_size.unsigned_abs(),
        errors,
        read: read.map(|_| asked.elapsed()).map_err(|failure| failure.what),
    })
}
