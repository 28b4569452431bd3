//! One order at an ACME server: account, order, challenges, certificate.
//!
//! Everything has a bound of time. A failure is returned in words, those of the ACME server included.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, CertificateIdentifier, ChallengeType, Identifier,
    NewAccount, NewOrder, Order, OrderStatus, RetryPolicy,
};

use super::challenges::Challenges;
use super::files::{Files, Held};
use super::schedule::Suggested;
use crate::settings::Acme as Wanted;

/// The ACME server may take this long to look at the challenges, and to sign.
const PATIENCE: Duration = Duration::from_secs(90);

/// One order may take this long in all; an ACME server that stops answering is given up then.
const ORDER_WITHIN: Duration = Duration::from_secs(300);

/// A question for the renewal window may take this long.
const SUGGESTION_WITHIN: Duration = Duration::from_secs(30);

/// An order: its domains, and the ACME server.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) files: Files,
    pub(super) domains: Vec<String>,
    pub(super) directory: String,
    contacts: Vec<String>,
    authorities: Option<PathBuf>,
    listen: SocketAddr,
}

impl Plan {
    pub(super) fn of(wanted: &Wanted, files: Files) -> Self {
        Self {
            files,
            domains: wanted.domains.clone(),
            directory: wanted.directory.clone(),
            contacts: wanted.contacts.iter().map(|contact| contact_url(contact)).collect(),
            authorities: wanted.ca.clone(),
            listen: wanted.listen,
        }
    }
}

/// A contact as a URL: an address without a scheme is one of mail.
fn contact_url(contact: &str) -> String {
    if contact.contains(':') { contact.to_owned() } else { format!("mailto:{contact}") }
}

/// Obtains a certificate: the chain and its key, PEM.
///
/// # Errors
/// The reason for a failure, in words.
pub(super) async fn obtain(plan: &Plan, held: Option<&Held>) -> Result<String, String> {
    match tokio::time::timeout(ORDER_WITHIN, try_obtain(plan, held)).await {
        Ok(obtained) => obtained,
        Err(_) => Err(format!("the order took more than {} s", ORDER_WITHIN.as_secs())),
    }
}

async fn try_obtain(plan: &Plan, held: Option<&Held>) -> Result<String, String> {
    let account = account(plan).await?;
    let challenges = Challenges::open(plan.listen)
        .await
        .map_err(|error| format!("acme.listen: cannot listen on {}: {error}", plan.listen))?;
    let identifiers: Vec<Identifier> = plan.domains.iter().cloned().map(Identifier::Dns).collect();
    let mut order = new_order(&account, &identifiers, held).await?;
    answer_challenges(&mut order, &challenges).await?;
    let policy = RetryPolicy::default().timeout(PATIENCE);
    let status = order.poll_ready(&policy).await.map_err(|error| words("the challenges", &error))?;
    if status != OrderStatus::Ready {
        return Err(refusal(&mut order).await);
    }
    let key = order.finalize().await.map_err(|error| words("the request to sign", &error))?;
    let chain = order.poll_certificate(&policy).await.map_err(|error| words("the certificate", &error))?;
    Ok(format!("{}\n{key}", chain.trim_end()))
}

/// Orders; where the server knows renewals, as one of the certificate that is held.
async fn new_order(
    account: &Account,
    identifiers: &[Identifier],
    held: Option<&Held>,
) -> Result<Order, String> {
    let replaces = held.and_then(|held| CertificateIdentifier::try_from(&held.leaf).ok());
    if let Some(replaces) = replaces
        && let Ok(order) = account.new_order(&NewOrder::new(identifiers).replaces(replaces)).await
    {
        return Ok(order);
    }
    // A server without renewals, or that has replaced this certificate already.
    account.new_order(&NewOrder::new(identifiers)).await.map_err(|error| words("the order", &error))
}

/// Has each challenge answered, and the ACME server look.
async fn answer_challenges(order: &mut Order, challenges: &Challenges) -> Result<(), String> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization.map_err(|error| words("an authorization", &error))?;
        let domain = authorization.identifier().to_string();
        match authorization.status {
            AuthorizationStatus::Valid => continue,
            AuthorizationStatus::Pending => {}
            status => return Err(format!("{domain}: the authorization is {status:?}")),
        }
        let mut challenge = authorization.challenge(ChallengeType::Http01).ok_or_else(|| {
            format!("{domain}: the ACME server offers no HTTP-01; wildcards need DNS-01, which Stadium does not speak")
        })?;
        challenges.answer(&challenge.token, challenge.key_authorization().as_str());
        challenge.set_ready().await.map_err(|error| words(&domain, &error))?;
    }
    Ok(())
}

/// The ACME server's reason for a refused order, by the first challenge that failed.
async fn refusal(order: &mut Order) -> String {
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let Ok(state) = authorization.refresh().await else { continue };
        if let Some(error) = state.challenges.iter().find_map(|challenge| challenge.error.as_ref()) {
            return format!("{}: {error}", state.identifier());
        }
    }
    "the ACME server refused the order and gave no reason".to_owned()
}

/// The account, made at the first order.
async fn account(plan: &Plan) -> Result<Account, String> {
    let path = plan.files.account(&plan.directory);
    if let Some(account) = known_account(plan).await? {
        return Ok(account);
    }
    let contacts: Vec<&str> = plan.contacts.iter().map(String::as_str).collect();
    let new = NewAccount { contact: &contacts, terms_of_service_agreed: true, only_return_existing: false };
    let made = builder(plan)?.create(&new, plan.directory.clone(), None).await;
    let (account, credentials) = made.map_err(|error| words("the account", &error))?;
    let bytes = serde_json::to_vec(&credentials).map_err(|error| format!("the account: {error}"))?;
    let stored = plan.files.store_account(&plan.directory, &bytes);
    stored.map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    tracing::info!(directory = plan.directory, "ACME account was made");
    Ok(account)
}

/// The account of an earlier order.
async fn known_account(plan: &Plan) -> Result<Option<Account>, String> {
    let path = plan.files.account(&plan.directory);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
    };
    let credentials: AccountCredentials =
        serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    let account = builder(plan)?.from_credentials(credentials).await;
    account.map(Some).map_err(|error| words(&plan.directory, &error))
}

fn builder(plan: &Plan) -> Result<instant_acme::AccountBuilder, String> {
    match &plan.authorities {
        Some(path) => Account::builder_with_root(path)
            .map_err(|error| format!("acme.ca: {}: {}", path.display(), chain(&error))),
        None => Account::builder().map_err(|error| format!("the system's authorities: {}", chain(&error))),
    }
}

/// The window in which the ACME server wants a certificate to be renewed; none where it says nothing.
pub(super) async fn suggested(plan: &Plan, held: &Held) -> Option<Suggested> {
    let asked = async {
        let id = CertificateIdentifier::try_from(&held.leaf).ok()?;
        let account = known_account(plan).await.ok().flatten()?;
        let (info, _) = account.renewal_info(&id).await.ok()?;
        let seconds = |at: i64| u64::try_from(at).ok();
        let window = info.suggested_window;
        Some(Suggested {
            from_s: seconds(window.start.unix_timestamp())?,
            until_s: seconds(window.end.unix_timestamp())?,
        })
    };
    tokio::time::timeout(SUGGESTION_WITHIN, asked).await.ok().flatten()
}

fn words(what: &str, error: &instant_acme::Error) -> String {
    format!("{what}: {}", chain(error))
}

/// An error with its causes: those of a connection say nothing without.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_is_a_mail_address_or_a_url() {
        assert_eq!(contact_url("ops@example.com"), "mailto:ops@example.com");
        assert_eq!(contact_url("mailto:ops@example.com"), "mailto:ops@example.com");
    }
}
