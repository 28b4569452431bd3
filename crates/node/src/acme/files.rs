//! The files of ACME in the data directory: `acme/identity.pem`, the certificate chain with its key,
//! and `acme/account-HASH.json`, the account at one ACME server.
//!
//! Certificate and key are one file, so that no crash leaves two that do not match. All have mode
//! 0600, and each is replaced by renaming.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, DnType, KeyPair};
use ring::digest;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer as _;

/// Issuer of the certificate that stands there until the ACME server has signed one.
pub(super) const PLACEHOLDER: &str = "Stadium, until an ACME server has signed a certificate";

/// The folder.
#[derive(Clone, Debug)]
pub(super) struct Files(PathBuf);

/// A certificate of an ACME server, for the domains that are configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// From when it is good, in seconds since 1970.
    pub(super) from_s: u64,
    /// Until when.
    pub(super) until_s: u64,
    /// The certificate itself.
    pub(super) leaf: CertificateDer<'static>,
}

/// The contents of `identity.pem`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing that can be read.
    Nothing,
    /// The placeholder.
    Placeholder,
    /// A certificate for other names: these.
    OtherNames(Vec<String>),
    /// A certificate for the names that are configured.
    Held(Held),
}

impl Files {
    pub(super) fn of(data: &Path) -> Self {
        Self(data.join("acme"))
    }

    /// Certificate chain and key.
    pub(super) fn identity(&self) -> PathBuf {
        self.0.join("identity.pem")
    }

    /// The account at this ACME server.
    pub(super) fn account(&self, directory: &str) -> PathBuf {
        let hash = digest::digest(&digest::SHA256, directory.as_bytes());
        let short: String = hash.as_ref()[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        self.0.join(format!("account-{short}.json"))
    }

    /// Makes the folder, and a placeholder where there is no certificate.
    pub(super) fn prepare(&self, domains: &[String]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        match self.identity().try_exists()? {
            true => Ok(()),
            false => self.store(&placeholder(domains).map_err(io::Error::other)?),
        }
    }

    /// Replaces certificate and key.
    pub(super) fn store(&self, identity: &str) -> io::Result<()> {
        replace(&self.identity(), identity.as_bytes())
    }

    /// Writes the account.
    pub(super) fn store_account(&self, directory: &str, account: &[u8]) -> io::Result<()> {
        replace(&self.account(directory), account)
    }

    /// The certificate that is there.
    pub(super) fn state(&self, domains: &[String]) -> State {
        let Ok(bytes) = fs::read(self.identity()) else { return State::Nothing };
        let Some(Ok(leaf)) = CertificateDer::pem_slice_iter(&bytes).next() else { return State::Nothing };
        let Ok((_, certificate)) = X509Certificate::from_der(&leaf) else { return State::Nothing };
        let issuer = certificate.issuer().iter_common_name().next().and_then(|name| name.as_str().ok());
        if issuer == Some(PLACEHOLDER) {
            return State::Placeholder;
        }
        let names = names(&certificate);
        if !domains.iter().all(|domain| names.iter().any(|name| name.eq_ignore_ascii_case(domain))) {
            return State::OtherNames(names);
        }
        let seconds = |at: i64| u64::try_from(at).unwrap_or(0);
        let validity = certificate.validity();
        let (from_s, until_s) =
            (seconds(validity.not_before.timestamp()), seconds(validity.not_after.timestamp()));
        State::Held(Held { from_s, until_s, leaf: leaf.clone().into_owned() })
    }

    /// The certificate of an ACME server that is there, if it has all of these names.
    pub(super) fn held(&self, domains: &[String]) -> Option<Held> {
        match self.state(domains) {
            State::Held(held) => Some(held),
            State::Nothing | State::Placeholder | State::OtherNames(_) => None,
        }
    }
}

fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(extension)) = certificate.subject_alternative_name() else { return Vec::new() };
    let name = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    };
    extension.value.general_names.iter().filter_map(name).collect()
}

/// A certificate that nobody trusts, so that TLS listeners can open.
fn placeholder(domains: &[String]) -> Result<String, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(domains.to_vec())?;
    params.distinguished_name.push(DnType::CommonName, PLACEHOLDER);
    Ok(format!("{}{}", params.self_signed(&key)?.pem(), key.serialize_pem()))
}

fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&fresh)?;
    file.write_all(contents).and_then(|()| file.sync_all())?;
    fs::rename(&fresh, path)?;
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn signed(names: &[&str]) -> String {
        let key = KeyPair::generate().expect("a key");
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.distinguished_name.push(DnType::CommonName, "some authority");
        params.not_before = rcgen::date_time_ymd(2026, 1, 1);
        params.not_after = rcgen::date_time_ymd(2026, 4, 1);
        format!("{}{}", params.self_signed(&key).expect("signed").pem(), key.serialize_pem())
    }

    #[test]
    fn a_placeholder_stands_until_a_certificate_for_all_names_is_there() {
        let data = tempfile::tempdir().expect("a folder");
        let files = Files::of(data.path());
        let domains = ["push.example.com".to_owned(), "mqtt.example.com".to_owned()];
        assert_eq!(files.state(&domains), State::Nothing);
        files.prepare(&domains).expect("it is writable");
        assert_eq!(files.state(&domains), State::Placeholder);
        let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!((mode(&files.identity()), mode(&files.0)), (0o600, 0o700));
        files.store(&signed(&["push.example.com"])).expect("it is writable");
        assert_eq!(files.state(&domains), State::OtherNames(vec!["push.example.com".to_owned()]));
        files.store(&signed(&["MQTT.example.com", "push.example.com", "more"])).expect("it is writable");
        let held = files.held(&domains).expect("it has both names");
        assert_eq!((held.from_s, held.until_s), (1_767_225_600, 1_775_001_600));
        files.prepare(&domains).expect("nothing is to be done");
        assert!(files.held(&domains).is_some(), "a start keeps it");
        fs::write(files.identity(), "no certificate").expect("it is writable");
        assert_eq!(files.state(&domains), State::Nothing);
    }

    #[test]
    fn each_server_has_an_account_of_its_own() {
        let files = Files::of(Path::new("d"));
        assert_ne!(files.account("https://a/dir"), files.account("https://b/dir"));
    }
}
