//! Keys that sign playback tokens.

use kinora_domain::{AuditAction, SigningKey, SigningKeyId, Timestamp};
use kinora_store::Tx;

use crate::audit::CallerAudit;
use crate::{Caller, Commit, Error, Service};

impl Service {
    /// Creates the record of a key with the public half `public_key`, PEM. It is not valid before
    /// [`Service::add_signing_key`].
    pub fn new_signing_key(&self, caller: &Caller, public_key: String) -> SigningKey {
        let now = self.clock.now();
        let id = SigningKeyId::new(now, &*self.random);
        SigningKey { id, workspace: caller.workspace, public_key, created_at: now }
    }

    /// Checks whether the workspace may have one more key. Call it before the generation of a key pair,
    /// which takes a tenth of a second. The transaction that adds the key checks again.
    ///
    /// Errors: `TooManySigningKeys`.
    pub async fn check_signing_key_limit(&self, caller: &Caller) -> Result<(), Error> {
        check_limit(self.store.signing_key_count(caller.workspace).await?)
    }

    /// Adds a key of [`Service::new_signing_key`] to the caller's workspace.
    ///
    /// Errors: `TooManySigningKeys`.
    pub async fn add_signing_key<C: Commit<SigningKey>>(
        &self,
        caller: &Caller,
        key: SigningKey,
        commit: C,
    ) -> Result<C::Output, C::Error> {
        let key = SigningKey { workspace: caller.workspace, ..key };
        let (caller, now) = (*caller, self.clock.now());
        let work = async move |tx: &mut Tx| {
            insert(tx, &caller, &key, now).await?;
            Ok(key.clone())
        };
        commit.commit(&self.store, work).await
    }

    /// Adds the public half of a key whose private half stays with the client. `false`: the key was already
    /// there.
    ///
    /// Errors: `SigningKeyTaken` when the id is another key's, `TooManySigningKeys`.
    pub async fn put_signing_key(&self, caller: &Caller, key: SigningKey) -> Result<bool, Error> {
        let key = SigningKey { workspace: caller.workspace, ..key };
        let (caller, now) = (*caller, self.clock.now());
        self.store
            .write(async move |tx| {
                if let Some(found) = tx.signing_key(key.workspace, key.id).await? {
                    let is_same = found.public_key == key.public_key;
                    return if is_same { Ok(false) } else { Err(Error::SigningKeyTaken) };
                }
                insert(tx, &caller, &key, now).await?;
                Ok(true)
            })
            .await
    }

    /// Deletes a key permanently. Its tokens are rejected from now on.
    ///
    /// Errors: `SigningKeyNotFound`, also the second time.
    pub async fn delete_signing_key(&self, caller: &Caller, id: SigningKeyId) -> Result<(), Error> {
        let (caller, now) = (*caller, self.clock.now());
        self.store
            .write(async move |tx| {
                if !tx.delete_signing_key(caller.workspace, id).await? {
                    return Err(Error::SigningKeyNotFound);
                }
                CallerAudit::new(AuditAction::SigningKeyDeleted, "signing_key", id)
                    .push(tx, &caller, now)
                    .await
            })
            .await
    }
}

async fn insert(tx: &mut Tx, caller: &Caller, key: &SigningKey, now: Timestamp) -> Result<(), Error> {
    caller.check_workspace(tx).await?;
    check_limit(tx.signing_key_count(key.workspace).await?)?;
    tx.insert_signing_key(key).await?;
    CallerAudit::new(AuditAction::SigningKeyCreated, "signing_key", key.id).push(tx, caller, now).await
}

/// Checks whether a workspace with `count` keys may have one more.
fn check_limit(count: u64) -> Result<(), Error> {
    if count < SigningKey::PER_WORKSPACE_MAX { Ok(()) } else { Err(Error::TooManySigningKeys) }
}
