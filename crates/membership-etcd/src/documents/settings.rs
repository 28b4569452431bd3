//! Where documents are: an etcd, a cluster, and a file for the copy.

use std::path::PathBuf;

use stadium_etcd::Access;
use stadium_membership::ClusterId;

/// Where the documents are.
#[derive(Clone, Debug)]
pub struct DocumentSettings {
    /// How etcd is reached.
    pub etcd: Access,
    /// The cluster's name.
    pub cluster: String,
    /// The cluster's id: documents of another one are not read.
    pub id: ClusterId,
    /// The file of the copy. Its folder exists.
    pub copy: PathBuf,
}
