//! The open-file limit: each device is one descriptor, and the usual soft limit of 1,024 is the usual surprise.
//!
//! A process may raise its soft limit up to the hard one; the hard one is the operator's.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors a process needs besides connections: listeners, loops, files, the control plane.
pub(crate) const RESERVED: u64 = 256;

/// Raises the limit as far as the process may, and returns how many connections fit under it.
pub(crate) fn raise() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let limit = match raised {
        Ok(()) => maximum,
        // A sandbox may forbid it; what we have then has to do.
        Err(_) => current,
    };
    limit.unwrap_or(u64::MAX).saturating_sub(RESERVED)
}

/// How many connections would fit under the limit once it is raised; changes nothing.
pub(crate) fn room() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX).saturating_sub(RESERVED)
}
