//! SHA256SUMS over the finished files, and its signature with minisign's format and keys.
//!
//! One signature covers all files: minisign verifies SHA256SUMS, and sha256sum the files. The
//! secret key is read from a file or an environment variable, never from the command line, and is
//! never printed.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use minisign::{KeyPair, PublicKey, PublicKeyBox, SecretKey, SecretKeyBox, SignatureBox};
use sha2::{Digest as _, Sha256};

/// The list of checksums, as sha256sum writes and reads it.
const SUMS: &str = "SHA256SUMS";

/// Its signature.
const SIGNATURE: &str = "SHA256SUMS.minisig";

/// The public key of the signature.
const PUBLIC_KEY: &str = "stadium.pub";

/// The variable with the text of the secret key.
const KEY_VARIABLE: &str = "STADIUM_SIGNING_KEY";

/// The variable with the password of a key that has one.
const PASSWORD_VARIABLE: &str = "STADIUM_SIGNING_PASSWORD";

/// A key that signs.
pub(super) struct Key {
    secret: SecretKey,
    public: PublicKey,
}

impl Key {
    /// The key of this file or of the environment; a new one where neither names one.
    pub(super) fn find(file: Option<&Path>) -> Result<Self> {
        let text = match file {
            Some(file) => {
                fs::read_to_string(file).with_context(|| format!("cannot read the key {}", file.display()))?
            }
            None => std::env::var(KEY_VARIABLE).unwrap_or_default(),
        };
        if text.trim().is_empty() {
            eprintln!(
                "    no --key and no {KEY_VARIABLE}: a throw-away key signs, which nobody should trust"
            );
            return Self::throw_away();
        }
        Self::read(&text, std::env::var(PASSWORD_VARIABLE).ok())
    }

    fn throw_away() -> Result<Self> {
        let KeyPair { pk: public, sk: secret } = KeyPair::generate_unencrypted_keypair()?;
        Ok(Self { secret, public })
    }

    fn read(text: &str, password: Option<String>) -> Result<Self> {
        let kept = || SecretKeyBox::from_string(text).context("the signing key is not one of minisign's");
        let secret = match password {
            Some(password) => kept()?.into_secret_key(Some(password)),
            None => kept()?.into_unencrypted_secret_key(),
        };
        let advice =
            format!("the signing key cannot be opened; {PASSWORD_VARIABLE} has to have its password");
        let secret = secret.context(advice)?;
        let public = PublicKey::from_secret_key(&secret)?;
        Ok(Self { secret, public })
    }
}

/// The names of the finished files, sorted.
pub(super) fn files(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Writes checksums, signature and public key beside the files.
pub(super) fn seal(folder: &Path, key: &Key) -> Result<()> {
    let mut sums = String::new();
    for name in files(folder)?.iter().filter(|name| !is_of_seal(name)) {
        sums += &format!("{}  {name}\n", sha256(&folder.join(name))?);
    }
    // The times of signatures would differ between two runs.
    let comment = "The checksums of a release of Stadium";
    let reader = Cursor::new(sums.as_bytes());
    let signature = minisign::sign(Some(&key.public), &key.secret, reader, Some(comment), Some(comment))?;
    fs::write(folder.join(SUMS), &sums)?;
    fs::write(folder.join(SIGNATURE), signature.to_string())?;
    fs::write(folder.join(PUBLIC_KEY), key.public.to_box()?.to_string())?;
    Ok(())
}

/// Verifies signature and checksums, and returns the number of files. Every file must be on the
/// list, and there.
pub(super) fn verify(folder: &Path, public: Option<&Path>) -> Result<usize> {
    let read =
        |path: PathBuf| fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()));
    let public = match public {
        Some(file) => read(file.to_owned())?,
        None => read(folder.join(PUBLIC_KEY))?,
    };
    let public = PublicKeyBox::from_string(&public).and_then(PublicKeyBox::into_public_key);
    let public = public.context("the public key is not one of minisign's")?;
    let sums = read(folder.join(SUMS))?;
    let signature = SignatureBox::from_string(&read(folder.join(SIGNATURE))?)
        .with_context(|| format!("{SIGNATURE} is no signature"))?;
    minisign::verify(&public, &signature, Cursor::new(sums.as_bytes()), true, false, false)
        .with_context(|| format!("{SUMS} was not signed with this key"))?;
    let mut unlisted = files(folder)?;
    unlisted.retain(|name| !is_of_seal(name));
    let mut verified = 0;
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").with_context(|| format!("{SUMS} has the line {line:?}"))?;
        if sha256(&folder.join(name))? != sum {
            bail!("{name} is not the file that was signed");
        }
        unlisted.retain(|other| other != name);
        verified += 1;
    }
    if !unlisted.is_empty() {
        bail!("not in {SUMS}: {}", unlisted.join(", "));
    }
    Ok(verified)
}

fn is_of_seal(name: &str) -> bool {
    [SUMS, SIGNATURE, PUBLIC_KEY].contains(&name)
}

fn sha256(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(hex(&bytes))
}

/// The SHA-256 of some bytes, in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use minisign::KeyPair;

    use super::{Key, PUBLIC_KEY, SUMS, hex, seal, verify};

    fn sealed(folder: &Path) {
        fs::write(folder.join("a.deb"), "first").expect("it is written");
        fs::write(folder.join("b.rpm"), "second").expect("it is written");
        seal(folder, &Key::throw_away().expect("it is made")).expect("it is signed");
    }

    #[test]
    fn the_checksum_is_that_of_sha256sum() {
        assert_eq!(hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn sealed_files_verify() {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        sealed(folder.path());
        assert_eq!(verify(folder.path(), None).expect("nothing was changed"), 2);
    }

    #[test]
    fn a_change_to_any_part_is_refused() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 5] = [
            ("a.deb is not the file", |folder| fs::write(folder.join("a.deb"), "First").unwrap()),
            ("cannot read", |folder| fs::remove_file(folder.join("b.rpm")).unwrap()),
            ("not in SHA256SUMS: c.rpm", |folder| fs::write(folder.join("c.rpm"), "more").unwrap()),
            ("was not signed with this key", |folder| {
                let sums = fs::read_to_string(folder.join(SUMS)).unwrap();
                fs::write(folder.join(SUMS), sums.replace("a.deb", "A.deb")).unwrap();
            }),
            ("was not signed with this key", |folder| {
                let other = Key::throw_away().unwrap().public.to_box().unwrap();
                fs::write(folder.join(PUBLIC_KEY), other.to_string()).unwrap();
            }),
        ];
        for (reason, change) in changes {
            let folder = tempfile::tempdir().expect("a temporary directory can be made");
            sealed(folder.path());
            change(folder.path());
            let refused = verify(folder.path(), None).expect_err(reason);
            assert!(format!("{refused:#}").contains(reason), "{refused:#} is not {reason}");
        }
    }

    #[test]
    fn a_key_with_a_password_needs_it() {
        let pair = KeyPair::generate_encrypted_keypair(Some("secret".into())).expect("it is made");
        let text = pair.sk.to_box(None).expect("it is written").to_string();
        let opened = Key::read(&text, Some("secret".into())).expect("the password is right");
        assert_eq!(opened.public.to_base64(), pair.pk.to_base64());
        assert!(Key::read(&text, Some("wrong".into())).is_err());
        assert!(Key::read(&text, None).is_err());
        assert!(Key::read("not a key", None).is_err());
    }
}
