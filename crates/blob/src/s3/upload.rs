//! Multipart uploads.
//!
//! The store keeps the parts of a multipart upload, and bills them, until a client completes or aborts it.
//! Not every store can list unfinished uploads. So a marker, an object with its own name, records the id
//! of the running upload of an object, from before the first part until after the end. A sweep finds the
//! uploads of killed processes by their markers (`sweep.rs`). An upload without a marker was killed
//! between two requests and has no parts yet, so it costs nothing.
//!
//! For a growing object with several writers (`grow/`) the multipart log replaces the marker.

use object_store::multipart::{MultipartStore, PartId};
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};

use super::error::{MayBeOwnRetry, classify, has_other_parts, is_absent, key_conflict};
use super::{S3Store, Shared, unavailable};
use crate::key::UploadMarker;
use crate::{Error, ObjectKey, Result};

const ACTION: &str = "write an object in parts";

/// The longest upload id that is accepted. Amazon's have some 130 characters.
const ID_LEN_MAX: usize = 2048;

/// A running multipart upload.
#[derive(Debug, Clone)]
pub(super) struct MultipartUpload {
    key: ObjectKey,
    id: String,
}

impl MultipartUpload {
    /// Begins an upload without a marker, for callers that record its id elsewhere.
    pub(super) async fn begin_unmarked(shared: &Shared, key: ObjectKey) -> Result<Self> {
        let id = shared
            .client
            .create_multipart(&shared.path(key))
            .await
            .map_err(|error| classify("begin an object in parts", error))?;
        Ok(Self { key, id })
    }

    /// An upload whose id was recorded elsewhere.
    pub(super) fn from_id(key: ObjectKey, id: String) -> Self {
        Self { key, id }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Begins an upload and writes its marker.
    ///
    /// Errors: `AlreadyThere` when another upload of the same key has a marker.
    pub(super) async fn begin(shared: &Shared, key: ObjectKey) -> Result<Self> {
        let upload = Self::begin_unmarked(shared, key).await?;
        if let Err(error) = upload.write_marker(shared).await {
            let _ = upload.abort_only(shared).await;
            return Err(error);
        }
        Ok(upload)
    }

    async fn write_marker(&self, shared: &Shared) -> Result<()> {
        let payload = PutPayload::from(self.id.clone());
        let options = PutOptions::from(PutMode::Create);
        let Err(error) = shared.client.put_opts(&self.marker_path(shared), payload, options).await else {
            return Ok(());
        };
        match key_conflict(&error) {
            None => Err(classify("write the note of an upload", error)),
            Some(MayBeOwnRetry(true))
                if Self::from_marker(shared, self.key).await?.is_some_and(|n| n.id == self.id) =>
            {
                Ok(())
            }
            Some(_) => Err(Error::AlreadyThere(self.key)),
        }
    }

    /// The upload in the marker of `key`.
    pub(super) async fn from_marker(shared: &Shared, key: ObjectKey) -> Result<Option<Self>> {
        const ACTION: &str = "read the note of an upload";
        let path = shared.path_of_name(&UploadMarker(key).to_string());
        let answer = match shared.client.get(&path).await {
            Ok(answer) => answer,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(classify(ACTION, error)),
        };
        let bytes = answer.bytes().await.map_err(|error| classify(ACTION, error))?;
        match String::from_utf8(bytes.into()) {
            Ok(id) if (1..=ID_LEN_MAX).contains(&id.len()) => Ok(Some(Self { key, id })),
            _ => Err(unavailable(ACTION, "it names no upload".to_owned())),
        }
    }

    /// Sends one part. Parts count from 0. May run twice: the last one counts.
    ///
    /// Errors: `Unavailable` also when the upload is gone.
    pub(super) async fn upload_part(
        &self,
        shared: &Shared,
        index: usize,
        bytes: PutPayload,
    ) -> Result<PartId> {
        self.try_upload_part(shared, index, bytes).await?.ok_or_else(|| upload_ended(ACTION))
    }

    /// Sends one part, as [`Self::upload_part`] does; `None` when the upload is gone.
    pub(super) async fn try_upload_part(
        &self,
        shared: &Shared,
        index: usize,
        bytes: PutPayload,
    ) -> Result<Option<PartId>> {
        match shared.client.put_part(&shared.path(self.key), &self.id, index, bytes).await {
            Ok(id) => Ok(Some(id)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(classify(ACTION, error)),
        }
    }

    /// Completes the object from its parts; it has `len` bytes.
    ///
    /// Errors: `Unavailable` also when the upload is gone, or has other parts.
    pub(super) async fn complete(&self, store: &S3Store, parts: Vec<PartId>, len: u64) -> Result<()> {
        if self.try_complete(store, parts, len).await? {
            return Ok(());
        }
        Err(upload_ended("finish an object"))
    }

    /// Completes the object, as [`Self::complete`] does; `false` when the upload is gone, or has other parts,
    /// and the object does not exist either. May run twice.
    pub(super) async fn try_complete(&self, store: &S3Store, parts: Vec<PartId>, len: u64) -> Result<bool> {
        let shared = &store.shared;
        match shared.client.complete_multipart(&shared.path(self.key), &self.id, parts).await {
            Ok(_) => Ok(true),
            // An earlier try of ours, or another client, has ended the upload.
            Err(error) if is_absent(&error) || has_other_parts(&error) => {
                Ok(store.fetch_info(self.key).await?.is_some_and(|info| info.len == len))
            }
            Err(error) => Err(classify("finish an object", error)),
        }
    }

    /// Aborts the upload and removes the marker. May run twice, also when the upload has been completed.
    pub(super) async fn abort(&self, shared: &Shared) -> Result<()> {
        self.abort_only(shared).await?;
        self.remove_marker(shared).await
    }

    /// Aborts the upload. May run twice, also when the upload has been completed.
    pub(super) async fn abort_only(&self, shared: &Shared) -> Result<()> {
        match shared.client.abort_multipart(&shared.path(self.key), &self.id).await {
            Err(error) if !is_absent(&error) => Err(classify("abort an object in parts", error)),
            _ => Ok(()),
        }
    }

    pub(super) async fn remove_marker(&self, shared: &Shared) -> Result<()> {
        shared.delete(&self.marker_path(shared)).await
    }

    fn marker_path(&self, shared: &Shared) -> object_store::path::Path {
        shared.path_of_name(&UploadMarker(self.key).to_string())
    }
}

fn upload_ended(action: &'static str) -> Error {
    unavailable(action, "another process ended the upload".to_owned())
}
