//! The same for many workers, all at once.

use crate::error::Error;

/// Does something for each, all at once.
pub(super) fn together<T: Send, R: Send>(
    of: impl Iterator<Item = T>,
    each: impl Fn(T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let each = &each;
    std::thread::scope(|scope| {
        let threads: Vec<_> = of.map(|one| scope.spawn(move || each(one))).collect();
        let gone = || Err(Error::Worker("a thread of the coordinator ended by a panic".to_owned()));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| gone())).collect()
    })
}
