//! The registry of devices, as the edge asks it at the door: one question to the device's shard, answered when it answers.
//!
//! Nobody waits: the shard's thread that has the answer hands it on.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use stadium_edge::auth::{DeviceRegistry, Question, Standing};
use stadium_push::refusal::APP_UNKNOWN;
use stadium_push::{Answer, Authenticated, Command, Refusal};
use stadium_shard::{Shards, Ticket};

/// When a device may retry whose shard has no answer and names no time.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The shards, as the authenticator meets them.
pub(crate) struct Credentials(pub(crate) Shards);

type AnswerTo = Box<dyn FnOnce(Result<Standing, Duration>) + Send>;

impl DeviceRegistry for Credentials {
    fn ask(&self, question: Question, answer: AnswerTo) {
        let Question { app, device, secret } = question;
        let ticket = self.0.submit_push(Command::Authenticate { app, device, secret });
        Arc::new(Asked(Mutex::new(Some((ticket, answer))))).wake();
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("shards", &self.0.count()).finish()
    }
}

/// A question under way: woken, it looks whether its answer is there. None once it was answered.
struct Asked(Mutex<Option<(Ticket<Answer>, AnswerTo)>>);

impl Wake for Asked {
    fn wake(self: Arc<Self>) {
        let mut under_way = self.0.lock();
        let Some((ticket, _)) = &mut *under_way else { return };
        let waker = Waker::from(Arc::clone(&self));
        let Poll::Ready(answer) = Pin::new(ticket).poll(&mut Context::from_waker(&waker)) else { return };
        let Some((_, answer_to)) = under_way.take() else { return };
        drop(under_way);
        answer_to(standing(answer));
    }
}

fn standing(answer: Result<Answer, Refusal>) -> Result<Standing, Duration> {
    match answer {
        Ok(Answer::Authenticated(Authenticated::Yes)) => Ok(Standing::Proved),
        Ok(Answer::Authenticated(Authenticated::No)) => Ok(Standing::Unproved),
        Ok(Answer::Authenticated(Authenticated::Revoked { proved })) => Ok(Standing::Revoked { proved }),
        Ok(Answer::Authenticated(Authenticated::NamedAsApp)) => Ok(Standing::NamedAsApp),
        Ok(Answer::Authenticated(Authenticated::Unknown)) => Ok(Standing::Unknown),
        Ok(other) => {
            tracing::error!(?other, "The registry answered something else");
            Err(RETRY_AFTER)
        }
        Err(Refusal::Busy { retry_after, .. } | Refusal::Unknown { retry_after, .. }) => {
            Err(Duration::from_millis(retry_after))
        }
        // An app that nobody declared has no credentials.
        Err(refusal) if refusal.code() == APP_UNKNOWN => Ok(Standing::Unknown),
        Err(refusal) => {
            tracing::error!(error = %refusal, "The registry cannot be asked");
            Err(RETRY_AFTER)
        }
    }
}
