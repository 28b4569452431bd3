//! Batches the questions of many clients into few calls.
//!
//! A question goes out at once while fewer calls than the bound are under way; those that come
//! meanwhile wait and leave together with the next one. So a single voter waits for nobody, and
//! many at once cost few calls.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc, oneshot};

/// Questions that may wait before askers are held back: a second's worth at the rates this service
/// is built for.
const WAITING_MAX: usize = 32_768;

/// Questions of one kind.
pub(crate) struct Batcher<Q, A> {
    sender: mpsc::Sender<(Q, oneshot::Sender<A>)>,
}

impl<Q: Send + 'static, A: Send + 'static> Batcher<Q, A> {
    /// Asks by `call`, which answers each of up to `batch_max` questions in their order,
    /// `calls_max` calls at a time.
    pub(crate) fn start<F, R>(batch_max: usize, calls_max: usize, call: F) -> Self
    where
        F: Fn(Vec<Q>) -> R + Send + Sync + 'static,
        R: Future<Output = Vec<A>> + Send + 'static,
    {
        let (sender, mut receiver) = mpsc::channel::<(Q, oneshot::Sender<A>)>(WAITING_MAX);
        tokio::spawn(async move {
            let calls = Arc::new(Semaphore::new(calls_max));
            let mut waiting = Vec::new();
            loop {
                // The semaphore is never closed.
                let Ok(permit) = Arc::clone(&calls).acquire_owned().await else { return };
                if receiver.recv_many(&mut waiting, batch_max).await == 0 {
                    return;
                }
                let (questions, askers): (Vec<Q>, Vec<_>) = waiting.drain(..).unzip();
                let answers = call(questions);
                tokio::spawn(async move {
                    for (asker, answer) in askers.into_iter().zip(answers.await) {
                        // An asker that has gone does not want to know.
                        let _ = asker.send(answer);
                    }
                    drop(permit);
                });
            }
        });
        Self { sender }
    }

    /// Asks. `None`: the service is ending.
    pub(crate) async fn ask(&self, question: Q) -> Option<A> {
        let (asker, answer) = oneshot::channel();
        self.sender.send((question, asker)).await.ok()?;
        answer.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn questions_that_come_while_a_call_is_under_way_leave_together() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let batcher = Arc::new(Batcher::start(100, 1, move |questions: Vec<u32>| {
            counted.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::task::yield_now().await;
                questions.into_iter().map(|question| question * 2).collect()
            }
        }));
        let asked: Vec<_> = (0..250_u32)
            .map(|n| {
                let batcher = Arc::clone(&batcher);
                tokio::spawn(async move { batcher.ask(n).await })
            })
            .collect();
        for (n, answer) in (0..).zip(asked) {
            assert_eq!(answer.await.expect("no panic"), Some(n * 2));
        }
        let calls = calls.load(Ordering::Relaxed);
        assert!((3..=20).contains(&calls), "{calls} calls for 250 questions");
    }
}
