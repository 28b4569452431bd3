//! The one call to the system that has no safe function.

#![allow(unsafe_code)]

/// Has a function called in each child that this process forks: pthread_atfork(3).
pub(crate) fn after_fork(child: extern "C" fn()) {
    // SAFETY: the function only adds to an atomic, which a child may do after fork(2).
    // It fails only without memory; then a child does not notice that it was forked.
    unsafe { libc::pthread_atfork(None, None, Some(child)) };
}
