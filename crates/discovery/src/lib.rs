//! Who serves what, where: a static list, etcd or ZooKeeper.
//!
//! Services register under `/services/NAME/VERSION/HOST:PORT`; clients watch a name and always hold
//! the last instances they heard of, also while discovery is away.
