//! A message of an application: it has no session, and hears what became of it as a device does.
//!
//! The host has asked the authorisation function, and checked the topic, before it comes here.

use super::Broker;
use super::durable::{PublishId, What};
use super::host::Host;
use super::parts::Decides;
use super::publication::Message;
use super::publish::Otherwise;
use crate::reason::ReasonCode;

/// The immediate outcome of a message of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// Whether somebody may have subscribed to its topic. Another loop may turn out to have nobody.
    pub anybody: bool,
    /// Whether it is not durable yet: [`Host::published`] follows.
    pub waits: bool,
}

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    /// Publishes a message of an application. Retained if its head marks it so; the message then
    /// belongs to no principal.
    ///
    /// # Errors
    /// It is to be retained and there is no room for it: nobody got it.
    pub fn publish_for<H>(
        &mut self,
        host: &mut H,
        message: &Message<'_>,
        publish: PublishId,
    ) -> Result<Published, ReasonCode>
    where
        H: Host<Link = L, Identity = I>,
    {
        self.parts = None;
        self.from = None;
        self.decides = Decides::Here;
        let taken = self.take_over_message(host, message, None, Otherwise::Refuse);
        self.decides = Decides::Each;
        self.beside = 0;
        let mut waits = self.parts.take();
        if let Some(retains) = self.retains.take() {
            waits = Some(self.retain_last(host, waits, retains));
        }
        let anybody = taken?;
        if let Some(then) = waits {
            self.pendings.goes_on(then, What::Published(publish));
        }
        Ok(Published { anybody, waits: waits.is_some() })
    }
}
