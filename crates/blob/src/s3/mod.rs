//! Objects in a bucket of an S3-compatible store.
//!
//! A key is a name below the prefix of the URL. Whole objects are written by conditional puts. Long ones
//! are multipart uploads, and these are written once because their key contains the id of one attempt. This
//! machine caches only lengths.

mod client;
mod error;
mod grow;
mod limits;
mod read;
mod sweep;
mod transport;
mod upload;
mod url;
mod write;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use kinora_domain::{Timestamp, WorkspaceId};
use kinora_fair::{Budget, UnitsPermit};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use object_store::aws::AmazonS3;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};

use self::error::{MayBeOwnRetry, classify, is_absent, key_conflict};
use self::limits::MIB;
use crate::{Entry, Error, Faults, ObjectKey, Prefix, PutOutcome, Result, WriteKind};

pub use self::limits::S3Limits;
pub use self::read::S3Reader;
pub use self::url::{StorageUrl, StorageUrlError};
pub use self::write::{IdlePermit, S3Writer};

/// The most objects whose lengths are cached: some 10 MB of memory.
const INFO_CACHE_MAX: u64 = 100_000;

/// The most names in one response. Amazon S3, ListObjectsV2.
const LIST_PAGE_MAX: usize = 1000;

/// A store in a bucket. A clone is another handle to the same store.
#[derive(Debug, Clone)]
pub struct S3Store {
    shared: Arc<Shared>,
    faults: Option<Arc<Faults>>,
    /// The workspace that this handle writes for; `None` for the server itself.
    workspace: Option<WorkspaceId>,
}

/// Memory for one part.
type PartMemory = UnitsPermit<Option<WorkspaceId>>;

#[derive(Debug)]
struct Shared {
    client: AmazonS3,
    /// The prefix of all object names; empty, or ends with a slash.
    prefix: String,
    limits: Arc<S3Limits>,
    /// Cached lengths and tags of objects, which never change.
    info_cache: Cache<ObjectKey, ObjectInfo>,
    /// Memory for parts, in MiB, shared between workspaces.
    memory: Budget<Option<WorkspaceId>>,
    /// The share of it, in MiB, for idle writers: their source sends nothing for some time.
    idle_memory: Budget<Option<WorkspaceId>>,
}

/// Length and tag of an object, from a response.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ObjectInfo {
    len: u64,
    /// Another tag is another object, which was created under the same key after a deletion.
    tag: Option<String>,
}

impl From<&ObjectMeta> for ObjectInfo {
    fn from(meta: &ObjectMeta) -> Self {
        Self { len: meta.size, tag: meta.e_tag.clone() }
    }
}

impl S3Store {
    pub(crate) fn open(url: &StorageUrl, limits: S3Limits) -> Result<Self> {
        let limits = Arc::new(limits);
        let prefix = if url.prefix.is_empty() { String::new() } else { format!("{}/", url.prefix) };
        let info_cache =
            Cache::builder().max_capacity(INFO_CACHE_MAX).eviction_policy(EvictionPolicy::lru()).build();
        let memory = Budget::new(limits.parts_memory / MIB, limits.reserved_for_others() / MIB);
        let idle_memory = Budget::new(limits.idle_memory() / MIB, limits.idle_reserved_for_others() / MIB);
        let client = client::build(url, &limits)?;
        Ok(Self {
            shared: Arc::new(Shared { client, prefix, limits, info_cache, memory, idle_memory }),
            faults: None,
            workspace: None,
        })
    }

    pub(crate) fn with_faults(self, faults: Arc<Faults>) -> Self {
        Self { faults: Some(faults), ..self }
    }

    pub(crate) fn for_workspace(self, workspace: Option<WorkspaceId>) -> Self {
        Self { workspace, ..self }
    }

    /// Waits until there is memory for a part of `len` bytes.
    async fn part_memory(&self, len: u64) -> PartMemory {
        self.shared.memory.acquire(self.workspace, len.div_ceil(MIB)).await
    }

    /// Whether a writer may begin a second part while its first one is sent.
    fn may_fill_ahead(&self) -> bool {
        self.parts_memory_in_use() < self.shared.limits.fill_ahead_limit()
    }

    /// Memory of a part while no bytes arrive; `None` if the limit is reached.
    fn try_idle_memory(&self, len: u64) -> Option<PartMemory> {
        self.shared.idle_memory.acquire(self.workspace, len.div_ceil(MIB)).now_or_never()
    }

    /// Bytes of memory in use by parts, over all writers: never more than [`S3Limits::parts_memory`].
    pub fn parts_memory_in_use(&self) -> u64 {
        self.shared.memory.in_use() * MIB
    }

    pub(crate) async fn put_once(&self, key: ObjectKey, bytes: Bytes) -> Result<PutOutcome> {
        self.inject_write_fault(WriteKind::Put, key)?;
        self.put_whole(key, bytes.into()).await
    }

    /// A conditional put. When an earlier try of ours may have taken the key, the stored bytes decide.
    async fn put_whole(&self, key: ObjectKey, payload: PutPayload) -> Result<PutOutcome> {
        const ACTION: &str = "write an object";
        let options = PutOptions::from(PutMode::Create);
        match self.shared.client.put_opts(&self.shared.path(key), payload.clone(), options).await {
            Ok(_) => Ok(PutOutcome::Written),
            Err(error) => match key_conflict(&error) {
                None => Err(classify(ACTION, error)),
                Some(MayBeOwnRetry(false)) => Ok(PutOutcome::AlreadyThere),
                Some(MayBeOwnRetry(true)) => {
                    let found = self.get(key).await?;
                    let is_ours = found.is_some_and(|found| is_same(&found, &payload));
                    Ok(if is_ours { PutOutcome::Written } else { PutOutcome::AlreadyThere })
                }
            },
        }
    }

    pub(crate) fn writer(&self, key: ObjectKey) -> Result<S3Writer> {
        self.inject_write_fault(WriteKind::Create, key)?;
        Ok(S3Writer::new(self.clone(), key))
    }

    pub(crate) async fn reader(&self, key: ObjectKey) -> Result<Option<S3Reader>> {
        self.inject_read_fault()?;
        let cached = self.shared.info_cache.get(&key);
        let info = match cached {
            Some(facts) => Some(facts),
            None => self.fetch_info(key).await?,
        };
        Ok(info.map(|facts| S3Reader::new(self.clone(), key, facts)))
    }

    /// Requests an object's length and tag, and caches them.
    async fn fetch_info(&self, key: ObjectKey) -> Result<Option<ObjectInfo>> {
        match self.shared.client.head(&self.shared.path(key)).await {
            Ok(meta) => {
                let info = ObjectInfo::from(&meta);
                self.shared.info_cache.insert(key, info.clone());
                Ok(Some(info))
            }
            Err(error) if is_absent(&error) => {
                self.shared.info_cache.invalidate(&key);
                Ok(None)
            }
            Err(error) => Err(classify("look for an object", error)),
        }
    }

    /// Reads an object with one request; a reader needs two.
    pub(crate) async fn get(&self, key: ObjectKey) -> Result<Option<Bytes>> {
        const ACTION: &str = "read an object";
        self.inject_read_fault()?;
        let answer = match self.shared.client.get_opts(&self.shared.path(key), GetOptions::default()).await {
            Ok(answer) => answer,
            Err(error) if is_absent(&error) => {
                self.shared.info_cache.invalidate(&key);
                return Ok(None);
            }
            Err(error) => return Err(classify(ACTION, error)),
        };
        let info = ObjectInfo::from(&answer.meta);
        let bytes = answer.bytes().await.map_err(|error| classify(ACTION, error))?;
        read::check_len(ACTION, &bytes, info.len)?;
        self.shared.info_cache.insert(key, info);
        Ok(Some(bytes))
    }

    pub(crate) async fn delete(&self, key: ObjectKey) -> Result<()> {
        self.inject_write_fault(WriteKind::Delete, key)?;
        let deleted = self.shared.delete(&self.shared.path(key)).await;
        // Also after an error: the deletion may have been done.
        self.shared.info_cache.invalidate(&key);
        deleted
    }

    /// Requests a listing. Unlike a look-up, a listing distinguishes a missing bucket from an empty one.
    pub(crate) async fn ping(&self) -> Result<()> {
        self.inject_read_fault()?;
        self.shared.list("", None, 1, |_, _| Some(())).await.map(drop)
    }

    pub(crate) async fn list(
        &self,
        prefix: Prefix,
        after: Option<ObjectKey>,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        self.inject_read_fault()?;
        let list_prefix = format!("{prefix}/");
        let offset = match after.map(|key| key.to_string()) {
            Some(key) if key.starts_with(&list_prefix) => Some(key),
            Some(key) if key < list_prefix => None,
            Some(_) => return Ok(Vec::new()), // everything below the prefix comes before the key
            None => None,
        };
        self.shared
            .list(&list_prefix, offset, limit, |name, meta| {
                // Another program created an object whose name is no key. It is ignored.
                let key = name.parse().ok()?;
                Some(Entry { key, len: meta.size, modified: modified(meta) })
            })
            .await
    }

    pub(crate) fn inject_read_fault(&self) -> Result<()> {
        self.faults.as_ref().map_or(Ok(()), |faults| faults.inject_read_fault())
    }

    fn inject_write_fault(&self, kind: WriteKind, key: ObjectKey) -> Result<()> {
        self.faults.as_ref().map_or(Ok(()), |faults| faults.inject_write_fault(kind, key))
    }
}

impl Shared {
    /// The name of an object in the bucket.
    fn path(&self, key: ObjectKey) -> Path {
        self.path_of_name(&key.to_string())
    }

    fn path_of_name(&self, name: &str) -> Path {
        // Keys and prefixes contain only characters that the library does not escape.
        Path::from(format!("{}{name}", self.prefix))
    }

    /// Deletes the object with this name. The store responds alike when it does not exist.
    async fn delete(&self, path: &Path) -> Result<()> {
        match self.client.delete(path).await {
            Err(error) if !is_absent(&error) => Err(classify("delete an object", error)),
            _ => Ok(()),
        }
    }

    /// The first `limit` objects below `prefix`, after the name `offset`, for which `entry` returns a value.
    async fn list<T>(
        &self,
        prefix: &str,
        offset: Option<String>,
        limit: usize,
        entry: fn(&str, &ObjectMeta) -> Option<T>,
    ) -> Result<Vec<T>> {
        let mut page = Vec::new();
        let mut token = None;
        while page.len() < limit {
            let options = PaginatedListOptions {
                offset: offset.as_ref().map(|name| format!("{}{name}", self.prefix)),
                max_keys: Some((limit - page.len()).min(LIST_PAGE_MAX)),
                page_token: token,
                ..PaginatedListOptions::default()
            };
            let listed = self
                .client
                .list_paginated(Some(&format!("{}{prefix}", self.prefix)), options)
                .await
                .map_err(|error| classify("list objects", error))?;
            for meta in &listed.result.objects {
                let name = meta.location.as_ref().strip_prefix(&self.prefix);
                page.extend(name.and_then(|name| entry(name, meta)));
            }
            token = listed.page_token;
            if token.is_none() {
                break;
            }
        }
        page.truncate(limit);
        Ok(page)
    }
}

fn modified(meta: &ObjectMeta) -> Timestamp {
    Timestamp::from_micros(meta.last_modified.timestamp_micros())
}

/// Whether an object consists of these bytes.
fn is_same(mut object: &[u8], payload: &PutPayload) -> bool {
    for chunk in payload {
        let Some(rest) = object.strip_prefix(chunk.as_ref()) else { return false };
        object = rest;
    }
    object.is_empty()
}

/// The error of a store that violated its protocol in a way that a retry may not meet.
fn unavailable(action: &'static str, what: String) -> Error {
    Error::Unavailable { action, source: std::io::Error::other(what) }
}
