//! Uploads in parts.
//!
//! The store keeps the parts of an upload, and bills them, until somebody completes or aborts it, and not
//! every store can be asked for the uploads of others. So a note under a name of its own says which upload is
//! under way for an object, from before the first part until after the end. What a process that was killed
//! leaves is found by its note (`sweep.rs`). An upload without a note was killed between two requests and has
//! no parts yet, so nobody pays for it.
//!
//! Of an object that grows over several writers (`grow/`) the ledger takes the place of the note.

use object_store::multipart::{MultipartStore, PartId};
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};

use super::problem::{MayBeOurs, has_other_parts, is_absent, is_taken, sort};
use super::{S3Store, Shared, broken};
use crate::key::UploadNote;
use crate::{Error, ObjectKey, Result};

const ACTION: &str = "write an object in parts";

/// The longest id of an upload that is believed. Amazon's have some 130 characters.
const ID_LEN_MAX: usize = 2048;

/// An upload that is under way.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    key: ObjectKey,
    id: String,
}

impl Upload {
    /// Begins an upload without a note, for whoever writes its id down elsewhere.
    pub(super) async fn begin_unnoted(shared: &Shared, key: ObjectKey) -> Result<Self> {
        let id = shared
            .client
            .create_multipart(&shared.path(key))
            .await
            .map_err(|error| sort("begin an object in parts", error))?;
        Ok(Self { key, id })
    }

    /// The upload that was written down elsewhere.
    pub(super) fn known(key: ObjectKey, id: String) -> Self {
        Self { key, id }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Begins an upload and writes its note.
    ///
    /// Errors: `AlreadyThere` when another upload of the same key has a note.
    pub(super) async fn begin(shared: &Shared, key: ObjectKey) -> Result<Self> {
        let upload = Self::begin_unnoted(shared, key).await?;
        if let Err(error) = upload.write_note(shared).await {
            let _ = upload.abort_only(shared).await;
            return Err(error);
        }
        Ok(upload)
    }

    async fn write_note(&self, shared: &Shared) -> Result<()> {
        let payload = PutPayload::from(self.id.clone());
        let options = PutOptions::from(PutMode::Create);
        let Err(error) = shared.client.put_opts(&self.note(shared), payload, options).await else {
            return Ok(());
        };
        match is_taken(&error) {
            None => Err(sort("write the note of an upload", error)),
            Some(MayBeOurs(true))
                if Self::noted(shared, self.key).await?.is_some_and(|n| n.id == self.id) =>
            {
                Ok(())
            }
            Some(_) => Err(Error::AlreadyThere(self.key)),
        }
    }

    /// The upload that the note of `key` speaks of.
    pub(super) async fn noted(shared: &Shared, key: ObjectKey) -> Result<Option<Self>> {
        const ACTION: &str = "read the note of an upload";
        let path = shared.named(&UploadNote(key).to_string());
        let answer = match shared.client.get(&path).await {
            Ok(answer) => answer,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(sort(ACTION, error)),
        };
        let bytes = answer.bytes().await.map_err(|error| sort(ACTION, error))?;
        match String::from_utf8(bytes.into()) {
            Ok(id) if (1..=ID_LEN_MAX).contains(&id.len()) => Ok(Some(Self { key, id })),
            _ => Err(broken(ACTION, "it names no upload".to_owned())),
        }
    }

    /// Sends one part. Parts count from 0. May run twice: the last one counts.
    ///
    /// Errors: `Unavailable` also when the upload is gone.
    pub(super) async fn part(&self, shared: &Shared, index: usize, bytes: PutPayload) -> Result<PartId> {
        self.part_if_there(shared, index, bytes).await?.ok_or_else(|| ended(ACTION))
    }

    /// The same; `None` when the upload is gone.
    pub(super) async fn part_if_there(
        &self,
        shared: &Shared,
        index: usize,
        bytes: PutPayload,
    ) -> Result<Option<PartId>> {
        match shared.client.put_part(&shared.path(self.key), &self.id, index, bytes).await {
            Ok(id) => Ok(Some(id)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(sort(ACTION, error)),
        }
    }

    /// Makes the object of its parts; it has `len` bytes.
    ///
    /// Errors: `Unavailable` also when the upload is gone, or has other parts.
    pub(super) async fn complete(&self, store: &S3Store, parts: Vec<PartId>, len: u64) -> Result<()> {
        if self.complete_if_there(store, parts, len).await? {
            return Ok(());
        }
        Err(ended("finish an object"))
    }

    /// The same; `false` when the upload is gone, or has other parts, and the object is not there either. May
    /// run twice.
    pub(super) async fn complete_if_there(
        &self,
        store: &S3Store,
        parts: Vec<PartId>,
        len: u64,
    ) -> Result<bool> {
        let shared = &store.shared;
        match shared.client.complete_multipart(&shared.path(self.key), &self.id, parts).await {
            Ok(_) => Ok(true),
            // An earlier try of ours has ended the upload, or somebody else has.
            Err(error) if is_absent(&error) || has_other_parts(&error) => {
                Ok(store.look(self.key).await?.is_some_and(|facts| facts.len == len))
            }
            Err(error) => Err(sort("finish an object", error)),
        }
    }

    /// Gives the parts up and removes the note. May run twice, also when the upload has been completed.
    pub(super) async fn abort(&self, shared: &Shared) -> Result<()> {
        self.abort_only(shared).await?;
        self.remove_note(shared).await
    }

    /// Gives the parts up. May run twice, also when the upload has been completed.
    pub(super) async fn abort_only(&self, shared: &Shared) -> Result<()> {
        match shared.client.abort_multipart(&shared.path(self.key), &self.id).await {
            Err(error) if !is_absent(&error) => Err(sort("abort an object in parts", error)),
            _ => Ok(()),
        }
    }

    pub(super) async fn remove_note(&self, shared: &Shared) -> Result<()> {
        shared.delete(&self.note(shared)).await
    }

    fn note(&self, shared: &Shared) -> object_store::path::Path {
        shared.named(&UploadNote(self.key).to_string())
    }
}

fn ended(action: &'static str) -> Error {
    broken(action, "the upload was ended by somebody else".to_owned())
}
