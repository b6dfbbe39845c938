//! The keys of encrypted playback IDs. A key is created with its playback ID and sealed before it is
//! stored.

use kinora_domain::{ContentKey, Encryption, Media, PlaybackId};

use crate::key_rotation::{SealedColumn, WithoutKey};
use crate::keyring::Keyring;
use crate::sql::{statements, values};
use crate::{Error, Store, Tx};

statements! {
    INSERT = "INSERT INTO content_key (playback_id, secret) VALUES ($1, $2) ON CONFLICT (playback_id) DO NOTHING";
    FIND = "SELECT secret FROM content_key WHERE playback_id = $1";
    NEXT_SEAL = "SELECT substr(secret, 1, 11) AS seal FROM content_key WHERE substr(secret, 1, 11) > $1
        ORDER BY substr(secret, 1, 11) LIMIT 1";
    OF_SEAL = "SELECT playback_id, secret AS sealed FROM content_key
        WHERE substr(secret, 1, 11) = $1 AND playback_id > $2 ORDER BY playback_id LIMIT $3";
    SET = "UPDATE content_key SET secret = $1 WHERE secret = $2 AND playback_id = $3";
}

/// The secret column that a new key reseals.
pub(crate) const SECRETS: SealedColumn = SealedColumn {
    what: "keys of encrypted playback IDs",
    next_seal: NEXT_SEAL,
    page: OF_SEAL,
    update: SET,
    start_key: || values![""],
    read: |row| {
        let id: PlaybackId = row.id("playback_id")?;
        Ok((values![id], owner(id)))
    },
    without_key: WithoutKey::FailStart,
};

impl Store {
    /// The key of a playback ID; `None` when the playback ID is not encrypted or was deleted.
    pub async fn content_key(&self, id: PlaybackId) -> Result<Option<ContentKey>, Error> {
        let row = self.reader().await?.first(FIND, values![id]).await?;
        row.map(|row| open(&self.shared().keyring, id, &row.text("secret")?)).transpose()
    }
}

impl Tx {
    /// Creates keys for the encrypted playback IDs of a media that have no key. An existing key never
    /// changes, because caches store segments that it encrypted.
    pub(crate) async fn create_content_keys(&mut self, media: &Media) -> Result<(), Error> {
        let random = self.shared.random.as_ref();
        for handle in
            media.playback_ids.iter().filter(|playback_id| playback_id.encryption == Encryption::Aes128)
        {
            let key = ContentKey::new(random);
            let sealed = self.shared.keyring.seal(key.as_bytes(), &owner(handle.id), random);
            self.session.execute(INSERT, values![handle.id, sealed]).await?;
        }
        Ok(())
    }
}

fn open(keyring: &Keyring, id: PlaybackId, sealed: &str) -> Result<ContentKey, Error> {
    let bytes: Result<[u8; ContentKey::LEN], _> = keyring.open(sealed, &owner(id))?.try_into();
    bytes.map(ContentKey::from_bytes).map_err(|_| Error::internal("a content key has 16 bytes"))
}

/// The owner that a content key is sealed for.
fn owner(id: PlaybackId) -> String {
    format!("content key:{id}")
}
