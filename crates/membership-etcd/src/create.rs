//! Making a cluster: its key is written once.

use std::time::Duration;

use stadium_etcd::messages::{Compare, RangeRequest, RequestOp, TxnRequest};
use stadium_etcd::{Access, Client, Failure, Members};
use stadium_membership::{Cluster, Error, check_name};

use crate::keys::Keys;

/// How long a call may take. People wait for it.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Makes the cluster `name` in etcd. One that exists and is the same is no error. Blocks for a few
/// seconds at most.
///
/// # Errors
/// [`Error::Setting`] for names, sizes or endpoints out of bounds; [`Error::Differs`] when another
/// cluster has the name; [`Error::Away`] when etcd does not answer or refuses.
pub fn create(access: Access, name: &str, cluster: &Cluster) -> Result<(), Error> {
    check_name("cluster", name)?;
    cluster.check()?;
    access.check().map_err(Error::Setting)?;
    let ended = |why: std::io::Error| Error::Ended(format!("cannot speak to etcd: {why}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ended)?;
    runtime.block_on(create_by(access, &Keys::of(name), cluster))
}

async fn create_by(access: Access, keys: &Keys, cluster: &Cluster) -> Result<(), Error> {
    let mut members = Members::new(access, Duration::from_millis(100));
    let probe = RangeRequest::probe(keys.root());
    let client = members.reach(&probe, TIMEOUT).await.map_err(Error::Away)?;
    let value = serde_json::to_vec(cluster).expect("a cluster has names and numbers");
    let key = keys.cluster();
    let absent = Compare::written_at(&key, 0);
    let question = TxnRequest { compare: vec![absent], success: vec![RequestOp::put(&key, value, 0)] };
    if client.transact(question).await.map_err(away)?.succeeded {
        return Ok(());
    }
    match read(&client, keys).await? {
        Some(found) => cluster.accepts(&found),
        None => Err(Error::Away("the cluster's key was deleted while it was read".to_owned())),
    }
}

/// The cluster's key.
pub(crate) async fn read(client: &Client, keys: &Keys) -> Result<Option<Cluster>, Error> {
    let answer = client.range(RangeRequest::one(&keys.cluster())).await.map_err(away)?;
    let unreadable = |why| Error::Unreadable(format!("{} cannot be read: {why}", keys.cluster()));
    answer.kvs.first().map(|kv| serde_json::from_slice(&kv.value).map_err(unreadable)).transpose()
}

fn away(failure: Failure) -> Error {
    Error::Away(failure.what)
}
