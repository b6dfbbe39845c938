//! The keys that seal secrets at rest.
//!
//! A sealed secret is text: `1.KEY.DATA`, where 1 is the format version, KEY names the key and DATA is
//! Base64 of nonce and ciphertext (XChaCha20-Poly1305; its 192-bit nonces may be random). The owner of the
//! secret is authenticated with it, so a sealed secret copied to another row does not open.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac::{Hmac, KeyInit as _, Mac as _};
use kinora_domain::Random;
use sha2::{Digest as _, Sha256};

use crate::{Error, private_file};

const KEY_BYTES: usize = 32;
/// Of XChaCha20.
const NONCE_BYTES: usize = 24;
/// A key file contains one line; a longer file is not ours.
const FILE_SIZE_MAX: u64 = 4096;
/// Of HMAC-SHA256.
const SIGNATURE_BYTES: usize = 32;
const FILE_NAME: &str = "secret.key";
const FORMAT_VERSION: &str = "1";

/// The given keys; the first one seals, all of them open.
pub(crate) struct Keyring {
    keys: Vec<Key>,
}

struct Key {
    id: String,
    cipher: XChaCha20Poly1305,
    /// One signing MAC per purpose, with its key absorbed already. That saves six of the about nine hash
    /// blocks of a short message.
    macs: [Hmac<Sha256>; Purpose::ALL.len()],
}

/// The purpose of a signature. It is not valid for another purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The URL that a client uploads to.
    UploadAddress,
    /// The path of a playback that needs authorization.
    PlaybackPath,
    /// The pass by which a person plays a media in the dashboard.
    PlaybackPass,
}

impl Purpose {
    const ALL: [Self; 3] = [Self::UploadAddress, Self::PlaybackPath, Self::PlaybackPass];

    /// The name that its keys are derived from. A change would invalidate all signatures.
    fn name(self) -> &'static str {
        match self {
            Self::UploadAddress => "upload address",
            Self::PlaybackPath => "playback path",
            Self::PlaybackPass => "playback pass",
        }
    }
}

impl Keyring {
    /// The keys of a text (`KINORA_SECRET_KEY`): Base64 of 32 bytes each, separated by commas.
    pub(crate) fn from_text(text: &str, source: &str) -> Result<Self, Error> {
        let keys = text.trim().split(',').map(|word| Key::from_text(word.trim())).collect::<Option<Vec<_>>>();
        keys.map(|keys| Self { keys }).ok_or_else(|| Error::BadKey { place: source.to_owned() })
    }

    /// The key of a data folder with a key file.
    pub(crate) fn from_folder(data_dir: &Path) -> Result<Self, Error> {
        let path = data_dir.join(FILE_NAME);
        match private_file::read_small(&path, FILE_SIZE_MAX)? {
            Some(text) => Self::from_text(&text, &path.display().to_string()),
            None => Err(Error::KeyMissing { path }),
        }
    }

    /// The key of a data folder, created if missing. Of two concurrent processes the second uses the key of
    /// the first.
    pub(crate) fn from_folder_or_new(data_dir: &Path, random: &dyn Random) -> Result<Self, Error> {
        let path = data_dir.join(FILE_NAME);
        if private_file::read_small(&path, FILE_SIZE_MAX)?.is_none() {
            let (mut key, mut unique) = ([0; KEY_BYTES], [0; 8]);
            random.fill(&mut key);
            random.fill(&mut unique);
            let temporary_extension = format!("key-{:016x}", u64::from_be_bytes(unique));
            private_file::create_atomically(
                &path,
                &temporary_extension,
                &format!("{}\n", STANDARD.encode(key)),
            )?;
        }
        Self::from_folder(data_dir)
    }

    /// The name of the sealing key.
    pub(crate) fn first_id(&self) -> &str {
        &self.keys.first().expect("splitting a text gives at least one word").id
    }

    /// The prefix of every secret that the first key seals.
    pub(crate) fn first_seal(&self) -> String {
        seal_of(self.first_id())
    }

    /// Whether the key for secrets with this prefix was given.
    pub(crate) fn has_key_for(&self, seal: &str) -> bool {
        self.keys.iter().any(|key| seal_of(&key.id) == seal)
    }

    /// Seals a secret that belongs to `owner`.
    pub(crate) fn seal(&self, secret: &[u8], owner: &str, random: &dyn Random) -> String {
        let key = self.keys.first().expect("splitting a text gives at least one word");
        let mut nonce = [0; NONCE_BYTES];
        random.fill(&mut nonce);
        let sealed = key
            .cipher
            .encrypt(&XNonce::from(nonce), Payload { msg: secret, aad: owner.as_bytes() })
            .expect("only secrets of many GiB are refused");
        let data = STANDARD.encode([nonce.as_slice(), &sealed].concat());
        format!("{FORMAT_VERSION}.{}.{data}", key.id)
    }

    /// Opens a secret that was sealed for `owner`. [`Error::WrongKey`] when no key fits, or when it was
    /// sealed for another owner.
    pub(crate) fn open(&self, sealed: &str, owner: &str) -> Result<Vec<u8>, Error> {
        let (id, data) = parts(sealed).ok_or(Error::WrongKey)?;
        let key = self.keys.iter().find(|key| key.id == id).ok_or(Error::WrongKey)?;
        let data = STANDARD.decode(data).map_err(|_| Error::WrongKey)?;
        let (nonce, ciphertext) = data.split_first_chunk::<NONCE_BYTES>().ok_or(Error::WrongKey)?;
        key.cipher
            .decrypt(&XNonce::from(*nonce), Payload { msg: ciphertext, aad: owner.as_bytes() })
            .map_err(|_| Error::WrongKey)
    }
}

impl Keyring {
    /// Signs a message for clients with the first key. The division of the message into parts does not
    /// matter.
    pub(crate) fn sign(&self, purpose: Purpose, message: &[&[u8]]) -> [u8; SIGNATURE_BYTES] {
        let key = self.keys.first().expect("splitting a text gives at least one word");
        key.mac(purpose, message).finalize().into_bytes().into()
    }

    /// Whether one of the keys signed this message for this purpose. Takes constant time for right and
    /// wrong signatures.
    pub(crate) fn has_signed(
        &self,
        purpose: Purpose,
        message: &[&[u8]],
        signature: &[u8; SIGNATURE_BYTES],
    ) -> bool {
        self.keys.iter().any(|key| key.mac(purpose, message).verify_slice(signature).is_ok())
    }
}

/// The name of the key that sealed this secret.
pub(crate) fn sealing_key_id(sealed: &str) -> Option<&str> {
    parts(sealed).map(|(id, _)| id)
}

/// 11 characters; statements compare a prefix of this length.
fn seal_of(id: &str) -> String {
    format!("{FORMAT_VERSION}.{id}.")
}

fn parts(sealed: &str) -> Option<(&str, &str)> {
    sealed.strip_prefix(FORMAT_VERSION)?.strip_prefix('.')?.split_once('.')
}

impl Key {
    fn from_text(text: &str) -> Option<Self> {
        let bytes: [u8; KEY_BYTES] = STANDARD.decode(text).ok()?.try_into().ok()?;
        // The name identifies a key and reveals nothing of it.
        let digest = Sha256::new().chain_update(b"kinora key id").chain_update(bytes).finalize();
        let id = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        // Never the sealing key.
        let signing = Sha256::new().chain_update(b"kinora signing key").chain_update(bytes).finalize();
        let keyed = |key: &[u8]| Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
        let mac_for =
            |purpose: Purpose| keyed(&keyed(&signing).chain_update(purpose.name()).finalize().into_bytes());
        Some(Self { id, cipher: XChaCha20Poly1305::new(&bytes.into()), macs: Purpose::ALL.map(mac_for) })
    }

    /// HMAC-SHA256 with the key of this purpose.
    fn mac(&self, purpose: Purpose, message: &[&[u8]]) -> Hmac<Sha256> {
        let [upload, path, pass] = &self.macs;
        let keyed = match purpose {
            Purpose::UploadAddress => upload,
            Purpose::PlaybackPath => path,
            Purpose::PlaybackPass => pass,
        };
        message.iter().fold(keyed.clone(), |mac, part| mac.chain_update(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fill(u8);

    impl Random for Fill {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    fn word(byte: u8) -> String {
        STANDARD.encode([byte; KEY_BYTES])
    }

    fn ring(text: &str) -> Keyring {
        Keyring::from_text(text, "a test").unwrap()
    }

    #[test]
    fn sealed_secret_opens_for_owner_only() {
        let sealed = ring(&word(1)).seal(b"secret", "webhook:a", &Fill(9));
        let check = |keys: &str, owner: &str, sealed: &str, opens: bool| {
            assert_eq!(ring(keys).open(sealed, owner).is_ok_and(|secret| secret == b"secret"), opens);
        };
        check(&word(1), "webhook:a", &sealed, true);
        check(&format!("{},{}", word(2), word(1)), "webhook:a", &sealed, true);
        check(&word(1), "webhook:b", &sealed, false);
        check(&word(2), "webhook:a", &sealed, false);
        check(&word(1), "webhook:a", "", false);
        check(&word(1), "webhook:a", "1.x.", false);
        check(&word(1), "webhook:a", &sealed.replacen('1', "2", 1), false);
        check(&word(1), "webhook:a", &sealed[..sealed.len() - 8], false);
    }

    #[test]
    fn first_key_seals() {
        let both = ring(&format!(" {} , {}\n", word(2), word(1)));
        let sealed = both.seal(b"secret", "", &Fill(0));
        assert!(sealed.starts_with(&both.first_seal()), "{sealed}");
        assert_eq!(both.first_seal().len(), 11, "as in statements and indexes");
        let old = ring(&word(1));
        assert!(
            both.has_key_for(&both.first_seal())
                && both.has_key_for(&old.first_seal())
                && !old.has_key_for(&both.first_seal())
        );
        assert_eq!(sealing_key_id(&both.seal(b"", "", &Fill(0))), Some(both.first_id()));
        assert_eq!(both.first_id(), ring(&word(2)).first_id());
    }

    #[test]
    fn signature_is_bound_to_message_purpose_and_key() {
        let both = ring(&format!("{},{}", word(2), word(1)));
        let signature = ring(&word(1)).sign(Purpose::UploadAddress, &[b"message"]);
        assert!(both.has_signed(Purpose::UploadAddress, &[b"message"], &signature));
        assert!(both.has_signed(Purpose::UploadAddress, &[b"mess", b"", b"age"], &signature));
        assert!(!both.has_signed(Purpose::UploadAddress, &[b"messagf"], &signature));
        for purpose in [Purpose::PlaybackPath, Purpose::PlaybackPass] {
            assert!(!both.has_signed(purpose, &[b"message"], &signature), "{purpose:?}");
            let other = both.sign(purpose, &[b"message"]);
            for wrong in Purpose::ALL.into_iter().filter(|wrong| *wrong != purpose) {
                assert!(!both.has_signed(wrong, &[b"message"], &other), "{purpose:?} {wrong:?}");
            }
        }
        assert!(!ring(&word(2)).has_signed(Purpose::UploadAddress, &[b"message"], &signature));
        assert!(!both.has_signed(Purpose::UploadAddress, &[b"message"], &[0; 32]));
        assert_eq!(
            both.sign(Purpose::UploadAddress, &[b"message"]),
            ring(&word(2)).sign(Purpose::UploadAddress, &[b"message"])
        );
    }

    #[test]
    fn malformed_secret_key_is_rejected() {
        let check = |text: &str| {
            assert!(matches!(Keyring::from_text(text, "it"), Err(Error::BadKey { .. })), "{text}");
        };
        check("");
        check("AAAA");
        check("no base64");
        check(&format!("{},", word(1)));
    }
}
