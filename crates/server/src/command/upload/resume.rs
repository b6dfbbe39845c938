//! Stores the upload that was begun for a file, so that the same command resumes it after an interruption.

use std::fs;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use kinora_domain::{MediaId, WorkspaceId};
use kinora_store::Store;
use sha2::{Digest as _, Sha256};

use super::{SourceFile, warn_not_resumable};
use crate::command::CommandError;

/// A small file with the id of an upload. Its name is a hash of the workspace, and of the path, size and
/// modification time of the source.
pub(super) struct ResumeState {
    /// `None` without a home directory.
    path: Option<PathBuf>,
    workspace: WorkspaceId,
}

impl ResumeState {
    /// In the state directory of the XDG base directory specification: for files that outlive a program and
    /// are no configuration.
    pub(super) fn of(workspace: WorkspaceId, source: &SourceFile) -> Self {
        let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
        let modified = source.modified.as_ref().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let key = format!("{workspace} {} {} {modified:?}", source.len, source.path.display());
        let name: String =
            Sha256::digest(key.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let path = state.or_else(home).map(|state| state.join("kinora/uploads").join(name));
        Self { path, workspace }
    }

    /// The upload that an earlier run began, unless it has ended.
    pub(super) async fn load(&self, store: &Store) -> Result<Option<MediaId>, CommandError> {
        let text = self.path.as_ref().and_then(|path| fs::read_to_string(path).ok());
        let Some(id) = text.and_then(|text| text.trim().parse().ok()) else { return Ok(None) };
        let upload = store.upload(self.workspace, id).await?;
        Ok(upload.filter(|upload| !upload.is_settled()).map(|upload| upload.id))
    }

    pub(super) fn save(&self, id: MediaId) {
        let Some(path) = &self.path else { return };
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        if let Err(error) = made.and_then(|()| fs::write(path, format!("{id}\n"))) {
            warn_not_resumable(path, &error);
        }
    }

    pub(super) fn delete(&self) {
        if let Some(path) = &self.path {
            // A file that stays names an ended upload, and is ignored.
            let _ = fs::remove_file(path);
        }
    }
}
