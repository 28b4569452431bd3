//! Making a cluster, whose key is written once, and finding one.

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
    let keys = Keys::of(name);
    once(async { create_by(&reach(access, &keys).await?, &keys, cluster).await })
}

/// The cluster `name`, where there is one in etcd. Blocks for a few seconds at most.
///
/// # Errors
/// [`Error::Setting`] for a name or endpoints out of bounds; [`Error::Unreadable`] for a key that is no
/// cluster; [`Error::Away`] when etcd does not answer or refuses.
pub fn find(access: Access, name: &str) -> Result<Option<Cluster>, Error> {
    check_name("cluster", name)?;
    access.check().map_err(Error::Setting)?;
    let keys = Keys::of(name);
    once(async { read(&reach(access, &keys).await?, &keys).await })
}

/// Runs a few calls on this thread.
fn once<T>(calls: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let ended = |why: std::io::Error| Error::Ended(format!("cannot speak to etcd: {why}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ended)?;
    runtime.block_on(calls)
}

async fn reach(access: Access, keys: &Keys) -> Result<Client, Error> {
    let mut members = Members::new(access, Duration::from_millis(100));
    members.reach(&RangeRequest::probe(keys.root()), TIMEOUT).await.map_err(Error::Away)
}

async fn create_by(client: &Client, keys: &Keys, cluster: &Cluster) -> Result<(), Error> {
    let value = serde_json::to_vec(cluster).expect("a cluster has names and numbers");
    let key = keys.cluster();
    let absent = Compare::written_at(&key, 0);
    let question = TxnRequest { compare: vec![absent], success: vec![RequestOp::put(&key, value, 0)] };
    if client.transact(question).await.map_err(away)?.succeeded {
        return Ok(());
    }
    match read(client, keys).await? {
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
