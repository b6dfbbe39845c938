//! Uploads in parts.
//!
//! The store keeps the parts of an upload, and bills them, until somebody completes or aborts it, and not every store can be asked for the
//! uploads of others. So a note under a name of its own says which upload is under way for an object, from before the
//! first part until after the end. What a process that was killed leaves is found by its note (`sweep.rs`). An upload without a
//! note was killed between two requests and has no parts yet, so nobody pays for it.

use object_store::multipart::{MultipartStore, PartId};
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};

use super::problem::{MayBeOurs, is_absent, is_taken, sort};
use super::{S3Store, Shared, broken};
use crate::key::UploadNote;
use crate::{Error, ObjectKey, Result};

const ACTION: &str = "write an object in parts";

/// The longest id of an upload that is believed. Amazon's have some 130 characters.
const ID_LEN_MAX: usize = 2048;

/// An upload that is under way.
#[derive(Debug)]
pub(super) struct Upload {
    key: ObjectKey,
    id: String,
}

impl Upload {
    /// Begins an upload and writes its note.
    ///
    /// Errors: `AlreadyThere` when another upload of the same key has a note.
    pub(super) async fn begin(shared: &Shared, key: ObjectKey) -> Result<Self> {
        let id = shared
            .client
            .create_multipart(&shared.path(key))
            .await
            .map_err(|error| sort("begin an object in parts", error))?;
        let upload = Self { key, id };
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
    pub(super) async fn part(&self, shared: &Shared, index: usize, bytes: PutPayload) -> Result<PartId> {
        let path = shared.path(self.key);
        shared.client.put_part(&path, &self.id, index, bytes).await.map_err(|error| sort(ACTION, error))
    }

    /// Makes the object of its parts; it has `len` bytes.
    pub(super) async fn complete(&self, store: &S3Store, parts: Vec<PartId>, len: u64) -> Result<()> {
        const ACTION: &str = "finish an object";
        let shared = &store.shared;
        match shared.client.complete_multipart(&shared.path(self.key), &self.id, parts).await {
            Ok(_) => Ok(()),
            // The upload is gone: an earlier try of ours has ended it, or somebody else has.
            Err(error) if is_absent(&error) => match store.look(self.key).await? {
                Some(facts) if facts.len == len => Ok(()),
                _ => Err(broken(ACTION, "the upload was ended by somebody else".to_owned())),
            },
            Err(error) => Err(sort(ACTION, error)),
        }
    }

    /// Gives the parts up and removes the note. May run twice, also when the upload has been completed.
    pub(super) async fn abort(&self, shared: &Shared) -> Result<()> {
        self.abort_only(shared).await?;
        self.remove_note(shared).await
    }

    async fn abort_only(&self, shared: &Shared) -> Result<()> {
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
