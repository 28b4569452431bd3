//! `stadium demo --nodes 3`: a cluster on this machine, of which one node is killed under load.
//!
//! `parts` starts etcd, Kafka and the nodes as child processes; `node` is one of the nodes. `voters`
//! vote through all of them without a pause, and `books` compares afterwards what they were promised
//! with what the wallets have. `asking` asks again where a shard is on its way. `acts` is the order of
//! it all, `summary` what is told at the end.

#[cfg(feature = "cluster")]
mod acts;
#[cfg(feature = "cluster")]
mod asking;
#[cfg(feature = "cluster")]
mod books;
#[cfg(feature = "cluster")]
mod node;
#[cfg(feature = "cluster")]
mod parts;
#[cfg(feature = "cluster")]
mod summary;
#[cfg(feature = "cluster")]
mod voters;

#[cfg(feature = "cluster")]
pub(super) use acts::run;

/// Refuses: this build has none of it.
#[cfg(not(feature = "cluster"))]
pub(super) fn run(
    arguments: &super::Arguments,
    _: &crate::terminal::Terminal,
) -> Result<(), crate::failure::Failure> {
    Err(crate::failure::Failure::new(format!(
        "this stadium was built without clusters. In the sources of Stadium: cargo run --release --features cluster -- \
         demo --nodes {}",
        arguments.nodes
    )))
}
