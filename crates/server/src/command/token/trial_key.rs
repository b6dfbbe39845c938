//! The key of `kinora token sign` without `--key`: one for each workspace. Its private half is stored only
//! in a file of the data folder. D-0099.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use aws_lc_rs::signature::RsaKeyPair;
use kinora_domain::{KeyMaker as _, KeyPair, SigningKey, SigningKeyId, WorkspaceId};
use kinora_service::{Caller, CommitOnly, Error};
use kinora_store::Store;
use serde_json::json;

use super::sign::{parse_private_key, public_pem, read_key_file};
use crate::backends;
use crate::command::print::print_notice;
use crate::command::{CommandContext, CommandError};
use crate::system::SystemKeys;

/// The trial key of a workspace. Makes one if there is none, and another one if it was deleted: a revoked
/// key stays revoked.
pub(super) async fn find_or_create(
    context: &CommandContext,
    store: &Store,
    workspace: WorkspaceId,
) -> Result<(RsaKeyPair, SigningKeyId), CommandError> {
    let settings = &context.settings;
    // Without a setting, the folder depends on the working directory: each one would get its own key, of the
    // hundred that a workspace may have.
    if !settings.uses_data_dir() && !settings.is_data_dir_set {
        return Err(CommandError::new(
            "there is no data folder to store a trial key in; set --data-dir, or sign with your own key: --key FILE",
        ));
    }
    let key_file = TrialKeyFile::new(&settings.data_dir, workspace);
    // Of two concurrent commands the second one finds the key of the first.
    let _lock = key_file.lock_file().await?;
    if let Some((pair, id)) = key_file.read_key()?
        && is_in_force(store, workspace, &pair, id).await?
    {
        return Ok((pair, id));
    }
    let (service, caller) = (backends::service(store), Caller::command_line(workspace));
    service.check_signing_key_limit(&caller).await.map_err(explain)?;
    let made = tokio::task::spawn_blocking(|| SystemKeys.generate()).await;
    let KeyPair { public_key, private_key } = made.expect("it does not panic and is not aborted");
    let key = service.new_signing_key(&caller, public_key);
    let (id, private_key) = (key.id, private_key.reveal());
    // The file first: the next command replaces a file without a row, but a row without a file would stay
    // for ever.
    key_file.write_key(&json!({
        "id": id.to_string(),
        "privateKey": private_key,
        "createdAt": key.created_at.to_string(),
    }))?;
    service.add_signing_key(&caller, key, CommitOnly).await.map_err(explain)?;
    print_notice(&format!(
        "created the trial signing key {id}; its private key is stored in {}, and everyone who can read it can sign",
        key_file.file.display()
    ));
    let pair =
        parse_private_key(private_key).ok_or_else(|| CommandError::new("the created key cannot sign"))?;
    Ok((pair, id))
}

/// Whether this is still a key of the workspace. Its id may belong to another key meanwhile: clients choose
/// ids.
async fn is_in_force(
    store: &Store,
    workspace: WorkspaceId,
    pair: &RsaKeyPair,
    id: SigningKeyId,
) -> Result<bool, CommandError> {
    let stored = store.signing_key(workspace, id).await?;
    let public = public_pem(pair)?;
    Ok(stored.is_some_and(|key| key.public_key == public))
}

fn explain(error: Error) -> CommandError {
    let max = SigningKey::PER_WORKSPACE_MAX;
    match error {
        Error::TooManySigningKeys => CommandError::new(format!(
            "the workspace has {max} signing keys, the maximum; delete one that is no longer used, or set \
                --key"
        )),
        other => other.into(),
    }
}

/// The file of the trial key of a workspace.
struct TrialKeyFile {
    folder: PathBuf,
    file: PathBuf,
    workspace: WorkspaceId,
}

impl TrialKeyFile {
    fn new(folder: &Path, workspace: WorkspaceId) -> Self {
        let file = folder.join(format!("trial-key-{workspace}.json"));
        Self { folder: folder.to_owned(), file, workspace }
    }

    /// Waits until no other command reads or makes this key. The system releases the lock when a process
    /// ends, also after a crash.
    async fn lock_file(&self) -> Result<File, CommandError> {
        // With PostgreSQL the folder may not exist yet.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(|error| self.unusable(error))?;
        let lock = self.folder.join(format!("trial-key-{}.lock", self.workspace));
        let open_and_lock = move || {
            let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(lock)?;
            file.lock()?;
            Ok(file)
        };
        let locked =
            tokio::task::spawn_blocking(open_and_lock).await.expect("it does not panic and is not aborted");
        locked.map_err(|error| self.unusable(error))
    }

    /// The key of the file; `None` without a file. A file that cannot be parsed is a mistake of the
    /// operator, and is not removed here.
    fn read_key(&self) -> Result<Option<(RsaKeyPair, SigningKeyId)>, CommandError> {
        if !self.file.try_exists().map_err(|error| self.unusable(error))? {
            return Ok(None);
        }
        let next = "remove it, and the next call creates another key";
        let (pair, id) =
            read_key_file(&self.file).map_err(|problem| CommandError::new(format!("{problem}; {next}")))?;
        let id =
            id.ok_or_else(|| CommandError::new(format!("{}: has no id; {next}", self.file.display())))?;
        Ok(Some((pair, id)))
    }

    /// Writes a complete, synced file of mode 0600 atomically, also over an existing one.
    fn write_key(&self, key: &serde_json::Value) -> Result<(), CommandError> {
        let temporary = self.file.with_extension("json.new");
        let write = || {
            // Left by a killed command: no other command writes while this one has the lock.
            match fs::remove_file(&temporary) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
            file.write_all(format!("{key}\n").as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, &self.file)?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(|error| self.unusable(error))
    }

    fn unusable(&self, error: io::Error) -> CommandError {
        let shown = self.folder.display();
        CommandError::with_cause(
            format!("cannot store a key in {shown}; choose another folder with --data-dir, or set --key"),
            error,
        )
    }
}
