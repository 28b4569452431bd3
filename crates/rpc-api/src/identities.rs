//! Callers by the certificate that their connection was opened with.
//!
//! The TLS layer has verified it against the listener's authorities and revocation lists. Here its
//! name finds the rights; a certificate that has ended since names nobody.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use foldhash::fast::RandomState;
use stadium_http::{Holder, HolderRights, Principal};
use stadium_rpc::Refusal;
use stadium_rpc::net::{CertificateName, CertificateNames};

use crate::refused::refused;

/// Identities of one server. Each holds grants of its own in memory.
const IDENTITIES_MAX: usize = 1_024;

/// The names of certificates, and the rights of each.
pub struct Identities {
    place: CertificateName,
    by_name: HashMap<Box<str>, Arc<dyn Principal>, RandomState>,
}

impl Identities {
    /// Identities by the name in this place of a certificate.
    ///
    /// # Errors
    /// The first identity whose name or rights are not right, in words for the operator.
    pub fn new(
        place: CertificateName,
        rows: impl IntoIterator<Item = (String, HolderRights)>,
    ) -> Result<Self, String> {
        let mut by_name = HashMap::<Box<str>, Arc<dyn Principal>, RandomState>::default();
        for (name, rights) in rows {
            if name.is_empty() || name.contains(char::is_control) {
                return Err("an identity needs a name, without control characters".to_owned());
            }
            let wrong = |reason: String| format!("{name:?}: {reason}");
            rights.check("an identity").map_err(wrong)?;
            let holder = Holder::new(format!("certificate:{name}"), name.clone(), rights);
            let holder = holder.map_err(|invalid| wrong(invalid.to_string()))?;
            by_name.insert(name.into(), Arc::new(holder));
        }
        if by_name.len() > IDENTITIES_MAX {
            return Err(format!("there are {IDENTITIES_MAX} identities at most"));
        }
        Ok(Self { place, by_name })
    }

    /// The holder of a certificate.
    ///
    /// # Errors
    /// The refusal of one that has ended, or whose name is no identity.
    pub(crate) fn holder(
        &self,
        names: &CertificateNames,
        now: SystemTime,
    ) -> Result<&Arc<dyn Principal>, Refusal> {
        let subject = names.subject();
        if names.ends_at().is_some_and(|end| now > end) {
            return Err(refused(format!("the certificate of {subject} has ended; connect with another")));
        }
        let name = names.name(self.place);
        name.and_then(|name| self.by_name.get(name)).ok_or_else(|| {
            refused(match name {
                Some(name) => format!("the certificate names {name:?}, which is none of rpc.identities"),
                None => format!("the certificate of {subject} has not exactly one rpc.identity_name"),
            })
        })
    }
}
