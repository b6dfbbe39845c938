//! Which upload a file was begun with, so that the same command goes on after it was stopped.

use std::fs;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use kinora_domain::{MediaId, WorkspaceId};
use kinora_store::Store;
use sha2::{Digest as _, Sha256};

use super::{Source, note_forgetful};
use crate::command::Problem;

/// A small file that holds the id of an upload; its name tells workspace, path, size and age of what is sent.
pub(super) struct Memory {
    /// `None` without a home.
    path: Option<PathBuf>,
    workspace: WorkspaceId,
}

impl Memory {
    /// Where the XDG base directory specification keeps what outlives a program and is no configuration.
    pub(super) fn of(workspace: WorkspaceId, source: &Source) -> Self {
        let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
        let modified = source.modified.as_ref().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let key = format!("{workspace} {} {} {modified:?}", source.len, source.path.display());
        let name: String =
            Sha256::digest(key.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let path = state.or_else(home).map(|state| state.join("kinora/uploads").join(name));
        Self { path, workspace }
    }

    /// The upload that an earlier run began, if anything more can come of it.
    pub(super) async fn recall(&self, store: &Store) -> Result<Option<MediaId>, Problem> {
        let text = self.path.as_ref().and_then(|path| fs::read_to_string(path).ok());
        let Some(id) = text.and_then(|text| text.trim().parse().ok()) else { return Ok(None) };
        let upload = store.upload(self.workspace, id).await?;
        Ok(upload.filter(|upload| !upload.is_settled()).map(|upload| upload.id))
    }

    pub(super) fn remember(&self, id: MediaId) {
        let Some(path) = &self.path else { return };
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        if let Err(error) = made.and_then(|()| fs::write(path, format!("{id}\n"))) {
            note_forgetful(path, &error);
        }
    }

    pub(super) fn forget(&self) {
        if let Some(path) = &self.path {
            // One that stays names an upload that is settled, and is not followed.
            let _ = fs::remove_file(path);
        }
    }
}
