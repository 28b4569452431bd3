//! Access to the node's own services: holders of API keys, by the role that each method asks for.
//!
//! A key is the same one as at the HTTP port, sent as a bearer token in the authentication metadata; so devices, whose
//! requests carry none, can call nothing here. A key that was found good is believed for [`BELIEVED`], because looking
//! it up costs a hash and a look at a file, which is more than a small call costs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stadium_http::key_store::{KeyStore, Role};
use stadium_rpc::{Call, Interceptor, Operations, Refusal};
use stadium_rsocket::metadata::authentication::Authentication;

/// How long a key is believed without looking again: so long after it was revoked it may still work here.
const BELIEVED: Duration = Duration::from_millis(250);

/// Keys that are believed at once. Beyond it all are looked up anew; a fleet of services has a handful.
const BELIEVED_MAX: usize = 256;

/// Lets calls through whose key's role is enough.
pub(crate) struct Access {
    keys: KeyStore,
    /// What the methods of a route need; `None` is open, as the framework's own methods are that operate nothing.
    needed: fn(route: &str) -> Option<Role>,
    believed: Mutex<HashMap<Box<str>, Believed>>,
}

/// A key that was looked up.
#[derive(Clone, Copy)]
struct Believed {
    role: Role,
    until: Instant,
}

/// Operators: holders of a key that may administer the server.
pub fn operators(keys: KeyStore) -> Operations {
    let access = Access::new(keys, |_| Some(Role::Admin));
    Operations::Authorised(Arc::new(move |call| access.before(call)))
}

impl Access {
    /// By these keys, with what each route needs.
    pub(crate) fn new(keys: KeyStore, needed: fn(route: &str) -> Option<Role>) -> Self {
        Self { keys, needed, believed: Mutex::default() }
    }

    fn role(&self, secret: &str) -> Option<Role> {
        let now = Instant::now();
        if let Some(known) = self.believed.lock().get(secret).filter(|known| known.until > now) {
            return Some(known.role);
        }
        let found = self.keys.authenticate(secret);
        let mut believed = self.believed.lock();
        match &found {
            Some(key) => {
                if believed.len() >= BELIEVED_MAX {
                    believed.clear();
                }
                believed.insert(secret.into(), Believed { role: key.role, until: now + BELIEVED });
            }
            None => drop(believed.remove(secret)),
        }
        found.map(|key| key.role)
    }
}

impl Interceptor for Access {
    fn before(&self, call: &Call<'_>) -> Result<(), Refusal> {
        let Some(needed) = (self.needed)(call.route()) else { return Ok(()) };
        let Some(Authentication::Bearer(secret)) = call.authentication() else {
            return Err(refused(format!("{} needs an API key, sent as a bearer token", call.route())));
        };
        match self.role(secret) {
            Some(role) if role >= needed => Ok(()),
            Some(role) => Err(refused(format!(
                "this key may only {}: {} needs {}",
                role.word(),
                call.route(),
                needed.word()
            ))),
            None => Err(refused("this API key is not one of ours, or was revoked".to_owned())),
        }
    }
}

fn refused(reason: String) -> Refusal {
    Refusal::rejected("NODE-009", reason)
}
