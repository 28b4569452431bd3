//! Asks the registry of devices, then the configured methods in their order, and counts what came of it.
//!
//! [`Authenticator::check`] is called on a loop and never blocks it: what is quick (a remembered pair, a token, a
//! certificate) is answered at once, the rest by a pool's thread or by the registry later. Each device that is checked gets exactly
//! one verdict. Secrets are in no log line and no error.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use stadium_addresses::Buckets;
use stadium_token_keys::looks_like_token;

use super::callback::Callback;
use super::counts::{Counters, increment};
use super::password::{Passwords, User};
use super::pool::{Full, Pool, Turn};
use super::registry::{self, Asked, DeviceRegistry, Question, Standing};
use super::token::{Tokens, bind};
use super::{
    AnonymousAccess, AuthConfig, CertificateConfig, ClientIdBinding, Counts, Credentials, DenyReason, Error,
    Identity, Method, Policy, RegistryAccess, Verdict, Via, certificate,
};

/// Threads of one pool.
const THREADS_MAX: usize = 64;

/// Who may come in. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Authenticator {
    shared: Arc<Shared>,
}

struct Shared {
    anonymous: AnonymousAccess,
    order: Vec<Method>,
    password: Option<Password>,
    token: Option<Tokens>,
    certificate: Option<CertificateConfig>,
    callback: Option<(Arc<Callback>, Pool)>,
    registry: Registry,
    failures: Option<Buckets>,
    counters: Counters,
    policy: Arc<Policy>,
}

struct Password {
    passwords: Arc<Passwords>,
    client_id: ClientIdBinding,
    pool: Pool,
}

/// The registry of devices.
enum Registry {
    /// It is not to be asked.
    Unasked,
    /// It is asked once it is there.
    Asked(OnceLock<Arc<dyn DeviceRegistry>>),
}

/// A verdict, or a question, that comes later than at once.
#[derive(Debug)]
pub enum Late {
    /// The verdict.
    Verdict(Verdict),
    /// The registry leaves it to the other methods: for [`Authenticator::go_on`].
    GoOn(Box<Asked>),
}

/// What a method makes of credentials.
enum Step {
    /// This is the verdict.
    Done(Verdict),
    /// The verdict will come from a pool's thread.
    Later,
    /// They are not for this method.
    Next,
}

/// Where a late verdict goes. Taken by the one method that answers late.
type Answer<A> = Option<(Credentials, A)>;

impl Authenticator {
    /// Reads all files and starts the threads that the configuration asks for.
    pub fn open(config: &AuthConfig) -> Result<Self, Error> {
        let now = Instant::now();
        let password = match &config.password {
            Some(password) => Some(Password {
                passwords: Arc::new(Passwords::open(password, now)?),
                client_id: password.client_id,
                pool: pool("auth-password", password.threads, password.queue_max)?,
            }),
            None => None,
        };
        let callback = match &config.callback {
            Some(callback) => Some((
                Arc::new(Callback::open(callback)?),
                pool("auth-callback", callback.in_flight_max, callback.queue_max)?,
            )),
            None => None,
        };
        let shared = Shared {
            anonymous: config.anonymous,
            order: config.order.clone(),
            password,
            token: config.token.as_ref().map(|token| Tokens::open(token, now)).transpose()?,
            certificate: config.certificate.clone(),
            callback,
            registry: match config.registry {
                RegistryAccess::Unasked => Registry::Unasked,
                RegistryAccess::Asked => Registry::Asked(OnceLock::new()),
            },
            failures: config.failures.map(|limit| Buckets::new(limit, now)),
            counters: Counters::default(),
            policy: Arc::new(Policy::open(config.rules.clone())?),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Introduces the registry of devices. Only the first one counts.
    pub fn introduce(&self, registry: Arc<dyn DeviceRegistry>) {
        if let Registry::Asked(place) = &self.shared.registry {
            let _ = place.set(registry);
        }
    }

    /// Whether every device is let in unasked, so that nobody need collect credentials.
    pub fn lets_anyone_in(&self) -> bool {
        self.shared.anonymous == AnonymousAccess::Anyone && self.shared.registry().is_none()
    }

    /// What an identity may do.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.shared.policy
    }

    /// Reads the password file, the keys and the rules again, and forgets the answers of the
    /// callback.
    ///
    /// Each that cannot be read stays as it was; the first error is returned, the others are logged.
    pub fn reload(&self) -> Result<(), Error> {
        let shared = &self.shared;
        let mut results = vec![shared.policy.reload()];
        results.extend(shared.password.as_ref().map(|password| password.passwords.reload()));
        results.extend(shared.token.as_ref().map(Tokens::reload));
        if let Some(tokens) = &shared.token {
            tokens.refresh();
        }
        if let Some((callback, _)) = &shared.callback {
            callback.forget();
        }
        let mut errors = results.into_iter().filter_map(Result::err);
        let first = errors.next();
        for error in errors {
            tracing::warn!(%error, "A file of authentication stays as it was");
        }
        first.map_or(Ok(()), Err)
    }

    /// Verdicts so far.
    pub fn counts(&self) -> Counts {
        let shared = &self.shared;
        let (mut waiting, mut remembered, mut cache) = (0, 0, None);
        if let Some(password) = &shared.password {
            waiting += password.pool.waiting();
            remembered += password.passwords.remembered_now();
        }
        if let Some((callback, pool)) = &shared.callback {
            waiting += pool.waiting();
            remembered += callback.remembered_now();
            cache = callback.cache_counts();
        }
        shared.counters.snapshot(waiting, remembered, cache)
    }

    /// Decides about a device.
    ///
    /// Returns the verdict where it is found at once; `answer` is then dropped unused. Otherwise returns `None`
    /// and calls `answer` exactly once, from another thread, within some ten seconds. The callback
    /// may be asked to go on.
    pub fn check<A>(&self, credentials: Credentials, answer: A) -> Option<Verdict>
    where
        A: FnOnce(Late) + Send + 'static,
    {
        let peer = credentials.peer.ip();
        let early = if credentials.method.is_some() {
            Some(Verdict::Deny(DenyReason::Method))
        } else if self.shared.is_banned(peer) {
            Some(Verdict::Deny(DenyReason::Banned))
        } else {
            match (self.shared.registry(), Question::of(&credentials)) {
                (Some(_), Some(question)) => {
                    self.shared.ask(question, move |shared, standing| {
                        let shown = credentials.password.is_some();
                        let verdict = match standing {
                            Err(retry_after) => Verdict::Busy { retry_after },
                            Ok(standing) => match barred(standing, shown) {
                                Some(reason) => Verdict::Deny(reason),
                                None => return answer(Late::GoOn(Box::new(Asked { credentials, standing }))),
                            },
                        };
                        shared.settle(peer, &verdict);
                        answer(Late::Verdict(verdict));
                    });
                    None
                }
                _ => self.decide(Asked { credentials, standing: Standing::Unknown }, answer),
            }
        };
        let verdict = early?;
        self.shared.settle(peer, &verdict);
        Some(verdict)
    }

    /// Decides about a device after the registry was asked; on a loop, as [`Self::check`].
    pub fn go_on<A>(&self, asked: Asked, answer: A) -> Option<Verdict>
    where
        A: FnOnce(Late) + Send + 'static,
    {
        let peer = asked.credentials.peer.ip();
        let verdict = self.decide(asked, answer)?;
        self.shared.settle(peer, &verdict);
        Some(verdict)
    }

    fn decide<A>(&self, asked: Asked, answer: A) -> Option<Verdict>
    where
        A: FnOnce(Late) + Send + 'static,
    {
        let shared = &self.shared;
        let now = Instant::now();
        let Asked { credentials, standing } = asked;
        if shared.anonymous == AnonymousAccess::Anyone {
            let decided =
                shared.order.contains(&Method::Registry).then(|| by_registry(standing, &credentials));
            return match decided {
                Some(Step::Done(verdict)) => Some(verdict),
                _ => Some(Verdict::Allow(Identity::anonymous())),
            };
        }
        let nothing_shown = credentials.username.is_none() && credentials.password.is_none();
        let mut unasked = Some((credentials, answer));
        for method in &shared.order {
            let step = match method {
                Method::Certificate => self.by_certificate(&unasked),
                Method::Token => self.by_token(&unasked, now),
                Method::Password => self.by_password(&mut unasked, now),
                Method::Callback => self.by_callback(&mut unasked, now),
                Method::Registry => match &unasked {
                    Some((shown, _)) => by_registry(standing, shown),
                    None => Step::Next,
                },
            };
            match step {
                Step::Done(verdict) => return self.concluded(verdict, &mut unasked),
                Step::Later => return None,
                Step::Next => {}
            }
        }
        if nothing_shown && shared.anonymous == AnonymousAccess::WithoutCredentials {
            return Some(Verdict::Allow(Identity::anonymous()));
        }
        match self.by_unknown_name(&mut unasked) {
            Step::Done(verdict) => Some(verdict),
            Step::Later => None,
            Step::Next => Some(Verdict::Deny(DenyReason::NoCredentials)),
        }
    }

    /// The verdict of a method, unless the registry is to be asked about its principal first.
    fn concluded<A>(&self, verdict: Verdict, unasked: &mut Answer<A>) -> Option<Verdict>
    where
        A: FnOnce(Late) + Send + 'static,
    {
        // The answer is gone where a pool had no room: nobody was let in.
        let Some((shown, answer)) = unasked.take() else { return Some(verdict) };
        let Some(question) = self.shared.question_about(&verdict, &shown.client_id) else {
            return Some(verdict);
        };
        self.shared.ask_about_principal(question, shown.peer.ip(), verdict, answer);
        None
    }

    fn by_certificate<A>(&self, unasked: &Answer<A>) -> Step {
        let (Some(config), Some((shown, _))) = (&self.shared.certificate, unasked) else { return Step::Next };
        let Some(der) = &shown.certificate else { return Step::Next };
        Step::Done(verdict(certificate::verify(config, der, &shown.client_id)))
    }

    fn by_token<A>(&self, unasked: &Answer<A>, now: Instant) -> Step {
        let (Some(tokens), Some((shown, _))) = (&self.shared.token, unasked) else { return Step::Next };
        let Some(token) = shown.password.as_deref().filter(|token| looks_like_token(token)) else {
            return Step::Next;
        };
        // A few small files, read at most once a second and only when one has changed.
        if tokens.changed(now)
            && let Err(error) = tokens.reload()
        {
            tracing::warn!(%error, "The keys of tokens stay as they were");
        }
        let verdict = verdict(tokens.verify(token, shown));
        if verdict == Verdict::Deny(DenyReason::BadToken)
            && let Some(retry_after) = tokens.fetch_key_of(token, now)
        {
            return Step::Done(Verdict::Busy { retry_after });
        }
        Step::Done(verdict)
    }

    fn by_password<A>(&self, unasked: &mut Answer<A>, now: Instant) -> Step
    where
        A: FnOnce(Late) + Send + 'static,
    {
        let Some(Password { passwords, client_id, pool }) = &self.shared.password else { return Step::Next };
        self.refresh(passwords, pool, now);
        let Some((shown, _)) = &*unasked else { return Step::Next };
        let (Some(name), Some(password)) = (&shown.username, &shown.password) else { return Step::Next };
        let Some(user) = passwords.user(name) else { return Step::Next };
        let tag = passwords.tag(&user, password);
        if passwords.recalls(&tag, now) {
            increment(&self.shared.counters.remembered);
            return Step::Done(verdict(bound(*client_id, &user, &shown.client_id)));
        }
        let (passwords, client_id) = (Arc::clone(passwords), *client_id);
        self.later(pool, unasked, move |_, shown| {
            let password = shown.password.as_deref().unwrap_or_default();
            if !passwords.verify(&user, password, tag) {
                return Verdict::Deny(DenyReason::BadPassword);
            }
            verdict(bound(client_id, &user, &shown.client_id))
        })
    }

    /// A name that no method knows is refused, after the time that a wrong password takes.
    fn by_unknown_name<A>(&self, unasked: &mut Answer<A>) -> Step
    where
        A: FnOnce(Late) + Send + 'static,
    {
        let Some(Password { passwords, pool, .. }) = &self.shared.password else { return Step::Next };
        let named = |(shown, _): &(Credentials, A)| shown.username.is_some() && shown.password.is_some();
        if !self.shared.order.contains(&Method::Password) || !unasked.as_ref().is_some_and(named) {
            return Step::Next;
        }
        let passwords = Arc::clone(passwords);
        self.later(pool, unasked, move |_, shown| {
            passwords.spend(shown.password.as_deref().unwrap_or_default());
            Verdict::Deny(DenyReason::BadPassword)
        })
    }

    fn by_callback<A>(&self, unasked: &mut Answer<A>, now: Instant) -> Step
    where
        A: FnOnce(Late) + Send + 'static,
    {
        let (Some((callback, pool)), Some((shown, _))) = (&self.shared.callback, &*unasked) else {
            return Step::Next;
        };
        let tags = callback.tags(shown);
        if let Some(verdict) = callback.recall(&tags, shown, now) {
            increment(&self.shared.counters.remembered);
            return Step::Done(verdict);
        }
        if let Some(retry_after) = callback.resting(now) {
            return Step::Done(Verdict::Busy { retry_after });
        }
        let callback = Arc::clone(callback);
        self.later(pool, unasked, move |shared, shown| {
            callback.ask(shown, &tags, &shared.counters.callback_failures)
        })
    }

    /// Hands `work` and the answer to a pool. The answer is taken; where there is no room it is dropped unused.
    fn later<A, W>(&self, pool: &Pool, unasked: &mut Answer<A>, work: W) -> Step
    where
        A: FnOnce(Late) + Send + 'static,
        W: FnOnce(&Shared, &Credentials) -> Verdict + Send + 'static,
    {
        let Some((shown, answer)) = unasked.take() else { return Step::Next };
        let shared = Arc::clone(&self.shared);
        let submitted = pool.submit(shown.peer.ip(), move |turn| {
            let verdict = match turn {
                // Failures that were found while it waited may have banned its address.
                Turn::Now if shared.is_banned(shown.peer.ip()) => Verdict::Deny(DenyReason::Banned),
                Turn::Now => work(&shared, &shown),
                Turn::TooLate { retry_after } => Verdict::Busy { retry_after },
            };
            if let Some(question) = shared.question_about(&verdict, &shown.client_id) {
                return shared.ask_about_principal(question, shown.peer.ip(), verdict, answer);
            }
            shared.settle(shown.peer.ip(), &verdict);
            answer(Late::Verdict(verdict));
        });
        match submitted {
            Ok(()) => Step::Later,
            Err(Full { retry_after }) => Step::Done(Verdict::Busy { retry_after }),
        }
    }

    /// Has a password file that changed read again by a thread of the pool; the old one serves until then.
    fn refresh(&self, passwords: &Arc<Passwords>, pool: &Pool, now: Instant) {
        if !passwords.changed(now) {
            return;
        }
        let again = Arc::clone(passwords);
        let submitted = pool.submit(Ipv4Addr::UNSPECIFIED.into(), move |_| {
            if let Err(error) = again.reload() {
                tracing::warn!(%error, "The password file stays as it was");
            }
        });
        if submitted.is_err() {
            passwords.look_again();
        }
    }
}

impl Shared {
    fn registry(&self) -> Option<&Arc<dyn DeviceRegistry>> {
        match &self.registry {
            Registry::Unasked => None,
            Registry::Asked(place) => place.get(),
        }
    }

    /// The question whether a proved principal is revoked. None where the registry was asked about
    /// it before, because it is the client id, and where it names no device.
    fn question_about(&self, verdict: &Verdict, client_id: &str) -> Option<Question> {
        let Verdict::Allow(identity) = verdict else { return None };
        self.registry()?;
        if identity.via == Via::Anonymous || *identity.principal == *client_id {
            return None;
        }
        Question::about(&identity.principal)
    }

    /// Answers with this verdict, unless the registry reports that its principal is revoked.
    fn ask_about_principal<A>(self: &Arc<Self>, question: Question, peer: IpAddr, verdict: Verdict, answer: A)
    where
        A: FnOnce(Late) + Send + 'static,
    {
        self.ask(question, move |shared, standing| {
            let verdict = match standing {
                // It has proved who it is.
                Ok(Standing::Revoked { .. }) => Verdict::Deny(DenyReason::Revoked),
                Ok(Standing::NamedAsApp) => Verdict::Deny(DenyReason::NamedAsApp),
                Err(retry_after) => Verdict::Busy { retry_after },
                Ok(_) => verdict,
            };
            shared.settle(peer, &verdict);
            answer(Late::Verdict(verdict));
        });
    }

    /// Asks the registry, and counts the question while it waits.
    fn ask(
        self: &Arc<Self>,
        question: Question,
        answer: impl FnOnce(&Shared, Result<Standing, Duration>) + Send + 'static,
    ) {
        let Some(registry) = self.registry() else { return };
        let shared = Arc::clone(self);
        shared.counters.asked.fetch_add(1, Ordering::Relaxed);
        let on_standing = move |standing| {
            shared.counters.asked.fetch_sub(1, Ordering::Relaxed);
            answer(&shared, standing);
        };
        registry.ask(question, Box::new(on_standing));
    }

    /// Whether an address is refused unseen. Where everybody is let in, nothing that an address does is a failure.
    fn is_banned(&self, peer: IpAddr) -> bool {
        let failures = self.failures.as_ref().filter(|_| self.anonymous != AnonymousAccess::Anyone);
        failures.is_some_and(|failures| failures.is_banned(peer, Instant::now()))
    }

    /// Counts a verdict, and a failure against its address where guessing could cause it.
    fn settle(&self, peer: IpAddr, verdict: &Verdict) {
        self.counters.count(verdict);
        let Verdict::Deny(
            reason @ (DenyReason::BadPassword
            | DenyReason::BadToken
            | DenyReason::BadSecret
            | DenyReason::RevokedWrongSecret
            | DenyReason::Callback
            | DenyReason::ClientId),
        ) = verdict
        else {
            return;
        };
        let Some(failures) = self.failures.as_ref().filter(|_| self.anonymous != AnonymousAccess::Anyone)
        else {
            return;
        };
        if failures.take(peer, Instant::now()) {
            increment(&self.counters.bans);
            tracing::info!(%peer, reason = reason.as_str(), "An address is banned for a while");
        }
    }
}

/// Why a device stays out whatever the other methods would decide. A device that has not proved who
/// it is gets the answer that it would get if it were not revoked.
fn barred(standing: Standing, shows_password: bool) -> Option<DenyReason> {
    match standing {
        Standing::Revoked { proved: true } => Some(DenyReason::Revoked),
        Standing::Revoked { proved: false } if shows_password => Some(DenyReason::RevokedWrongSecret),
        Standing::Revoked { proved: false } => Some(DenyReason::RevokedNoSecret),
        Standing::NamedAsApp => Some(DenyReason::NamedAsApp),
        Standing::Proved | Standing::Unproved | Standing::Unknown => None,
    }
}

/// The registry's verdict about the device's secret.
fn by_registry(standing: Standing, shown: &Credentials) -> Step {
    if let Some(reason) = barred(standing, shown.password.is_some()) {
        return Step::Done(Verdict::Deny(reason));
    }
    Step::Done(match standing {
        Standing::Proved => Verdict::Allow(registry::identity(&shown.client_id)),
        Standing::Unproved if shown.password.is_some() => Verdict::Deny(DenyReason::BadSecret),
        Standing::Unproved => Verdict::Deny(DenyReason::NoCredentials),
        Standing::Revoked { .. } | Standing::NamedAsApp | Standing::Unknown => return Step::Next,
    })
}

fn bound(binding: ClientIdBinding, user: &User, client_id: &str) -> Result<Identity, DenyReason> {
    bind(binding, &user.name, client_id)?;
    Ok(Identity {
        principal: Arc::clone(&user.name),
        via: Via::Password,
        expires_at: None,
        groups: Arc::clone(&user.groups),
    })
}

fn verdict(result: Result<Identity, DenyReason>) -> Verdict {
    result.map_or_else(Verdict::Deny, Verdict::Allow)
}

fn pool(name: &str, threads: usize, queue_max: usize) -> Result<Pool, Error> {
    if !(1..=THREADS_MAX).contains(&threads) {
        return Err(Error::Setting { name: "threads of authentication", bounds: "1 to 64" });
    }
    Pool::start(name, threads, queue_max)
}
