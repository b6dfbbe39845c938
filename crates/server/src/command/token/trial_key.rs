//! The key of `kinora token sign` without `--key`: one of its own for each workspace, whose private half lies
//! in a file of the data folder and nowhere else. D-0099.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use aws_lc_rs::signature::RsaKeyPair;
use kinora_domain::{KeyMaker as _, KeyPair, SigningKey, SigningKeyId, WorkspaceId};
use kinora_service::{Caller, Error, Plain};
use kinora_store::Store;
use serde_json::json;

use super::sign::{key_of_text, public_pem, read};
use crate::command::print::note;
use crate::command::{Problem, Session};
use crate::place;
use crate::system::SystemKeys;

/// The trial key of a workspace. It is made where there is none, and anew where it was deleted: what somebody
/// took back stays so.
pub(super) async fn of_workspace(
    session: &Session,
    store: &Store,
    workspace: WorkspaceId,
) -> Result<(RsaKeyPair, SigningKeyId), Problem> {
    let settings = &session.settings;
    // Wherever the command is typed it would make another folder, and another key of the hundred.
    if !settings.has_folder() && !settings.has_own_data_dir {
        return Err(Problem::new(
            "there is no data folder to keep a key for trials in; say which with --data-dir, or sign with one of your own: --key FILE",
        ));
    }
    let place = Place::new(&settings.data_dir, workspace);
    // Of two commands at once the second one finds what the first one made.
    let _turn = place.turn().await?;
    if let Some((pair, id)) = place.held()?
        && is_in_force(store, workspace, &pair, id).await?
    {
        return Ok((pair, id));
    }
    let (service, caller) = (place::service(store), Caller::command_line(workspace));
    service.check_signing_key_limit(&caller).await.map_err(explain)?;
    let made = tokio::task::spawn_blocking(|| SystemKeys.make()).await;
    let KeyPair { public_key, private_key } = made.expect("it does not panic and nobody aborts it");
    let key = service.new_signing_key(&caller, public_key);
    let (id, private_key) = (key.id, private_key.reveal());
    // The file first: a file without a row is replaced by the next command, a row without a file would stay
    // for ever.
    place.keep(&json!({
        "id": id.to_string(),
        "privateKey": private_key,
        "createdAt": key.created_at.to_string(),
    }))?;
    service.add_signing_key(&caller, key, Plain).await.map_err(explain)?;
    note(&format!(
        "made the signing key {id} for trials; its private half lies in {} and whoever has it can sign",
        place.file.display()
    ));
    let pair = key_of_text(private_key).ok_or_else(|| Problem::new("the key that was made cannot sign"))?;
    Ok((pair, id))
}

/// Whether this is still a key of the workspace. Its id may be another key's meanwhile: clients choose ids.
async fn is_in_force(
    store: &Store,
    workspace: WorkspaceId,
    pair: &RsaKeyPair,
    id: SigningKeyId,
) -> Result<bool, Problem> {
    let held = store.signing_key(workspace, id).await?;
    let public = public_pem(pair)?;
    Ok(held.is_some_and(|held| held.public_key == public))
}

fn explain(error: Error) -> Problem {
    let max = SigningKey::PER_WORKSPACE_MAX;
    match error {
        Error::TooManySigningKeys => Problem::new(format!(
            "the workspace has {max} signing keys, as many as it may have; delete one that nothing is signed with any more, \
             or say --key"
        )),
        other => other.into(),
    }
}

/// Where the key of a workspace lies.
struct Place {
    folder: PathBuf,
    file: PathBuf,
    workspace: WorkspaceId,
}

impl Place {
    fn new(folder: &Path, workspace: WorkspaceId) -> Self {
        let file = folder.join(format!("trial-key-{workspace}.json"));
        Self { folder: folder.to_owned(), file, workspace }
    }

    /// Waits until no other command looks for this key or makes it. The system gives the lock back when a
    /// process ends, however it ends.
    async fn turn(&self) -> Result<File, Problem> {
        // On PostgreSQL nobody may have made the folder.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(|error| self.unusable(error))?;
        let lock = self.folder.join(format!("trial-key-{}.lock", self.workspace));
        let take = move || {
            let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(lock)?;
            file.lock()?;
            Ok(file)
        };
        let taken = tokio::task::spawn_blocking(take).await.expect("it does not panic and nobody aborts it");
        taken.map_err(|error| self.unusable(error))
    }

    /// The key of the file; `None` where there is no file. One that cannot be read is somebody's mistake, and
    /// not ours to remove.
    fn held(&self) -> Result<Option<(RsaKeyPair, SigningKeyId)>, Problem> {
        if !self.file.try_exists().map_err(|error| self.unusable(error))? {
            return Ok(None);
        }
        let next = "remove it, and the next call makes another key";
        let (pair, id) = read(&self.file).map_err(|problem| Problem::new(format!("{problem}; {next}")))?;
        let id = id.ok_or_else(|| Problem::new(format!("{}: has no id; {next}", self.file.display())))?;
        Ok(Some((pair, id)))
    }

    /// Puts a whole, synced file of mode 0600 there, in one step, also where there was one.
    fn keep(&self, key: &serde_json::Value) -> Result<(), Problem> {
        let draft = self.file.with_extension("json.new");
        let write = || {
            // Of a command that was killed: nobody else writes while we have our turn.
            match fs::remove_file(&draft) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
            file.write_all(format!("{key}\n").as_bytes())?;
            file.sync_all()?;
            fs::rename(&draft, &self.file)?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(|error| self.unusable(error))
    }

    fn unusable(&self, error: io::Error) -> Problem {
        let shown = self.folder.display();
        Problem::with_cause(
            format!("cannot keep a key in {shown}; choose another folder with --data-dir, or say --key"),
            error,
        )
    }
}
