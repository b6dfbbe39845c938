//! Playlists, and the media of the manual ones.

use kinora_domain::{AuditAction, Media, MediaId, NewPlaylist, Playlist, PlaylistContent, PlaylistId};
use kinora_store::{Error as StoreError, Tx};

use crate::audit::CallerAudit;
use crate::{Caller, Commit, Error, Service};

impl Service {
    /// Creates a playlist: a manual one without media, or a smart one. The outcome is the playlist, and the
    /// media that it lists now.
    ///
    /// `new.workspace` is replaced by the caller's. Errors: `PlaylistReferenceTaken`, `TooManyPlaylists`.
    pub async fn create_playlist<C: Commit<(Playlist, Vec<Media>)>>(
        &self,
        caller: &Caller,
        new: NewPlaylist,
        commit: C,
    ) -> Result<C::Output, C::Error> {
        let caller = *caller;
        let new = NewPlaylist { workspace: caller.workspace, ..new };
        let playlist = Playlist::create(new, self.clock.now(), &*self.random);
        // Read outside the transaction: a long query would block other writers, and the selection of a smart
        // playlist changes at any time.
        let media = match &playlist.content {
            PlaylistContent::Manual(_) => Vec::new(),
            PlaylistContent::Smart(_) => {
                let chosen = self.store.chosen_media(&playlist).await;
                chosen.map_err(|error| C::reject(error.into()))?
            }
        };
        let work = async move |tx: &mut Tx| {
            caller.check_workspace(tx).await?;
            tx.insert_playlist(&playlist).await.map_err(|error| insert_error(error, &playlist))?;
            Ok((playlist.clone(), media.clone()))
        };
        commit.commit(&self.store, work).await
    }

    /// Replaces name and description of a playlist. The outcome is the playlist, and the media that it lists.
    ///
    /// With a `condition` the media are read before the change, too. Errors: `PlaylistNotFound`,
    /// `ConditionFailed`.
    pub async fn rename_playlist(
        &self,
        caller: &Caller,
        id: PlaylistId,
        condition: Option<impl Fn(&Playlist, &[Media]) -> bool + Send + 'static>,
        (name, description): (String, String),
    ) -> Result<(Playlist, Vec<Media>), Error> {
        let now = self.clock.now();
        let rename = async move |_: &mut Tx, playlist: Playlist| {
            Ok(playlist.rename(name.clone(), description.clone(), now))
        };
        self.change_playlist(caller, id, condition, rename).await
    }

    /// Appends ready media to a manual playlist, in this order. Media that are already in the list keep
    /// their position.
    ///
    /// Errors: `PlaylistNotFound`, `ConditionFailed`, `PlaylistRejected`, `MediaNotReady`.
    pub async fn append_to_playlist(
        &self,
        caller: &Caller,
        id: PlaylistId,
        condition: Option<impl Fn(&Playlist, &[Media]) -> bool + Send + 'static>,
        media: Vec<MediaId>,
    ) -> Result<(Playlist, Vec<Media>), Error> {
        let (workspace, now) = (caller.workspace, self.clock.now());
        let append = async move |tx: &mut Tx, playlist: Playlist| {
            let after = playlist.append(&media, now).map_err(Error::PlaylistRejected)?;
            let states = tx.media_states(workspace, &media).await?;
            let states = media.iter().map(|id| states.get(id).cloned()).enumerate();
            let not_ready: Vec<_> = states.filter(|(_, state)| state.as_deref() != Some("Ready")).collect();
            if not_ready.is_empty() { Ok(after) } else { Err(Error::MediaNotReady(not_ready)) }
        };
        self.change_playlist(caller, id, condition, append).await
    }

    /// Reorders the media of a manual playlist. The order must name each of them once.
    ///
    /// Errors: `PlaylistNotFound`, `ConditionFailed`, `PlaylistRejected`.
    pub async fn reorder_playlist(
        &self,
        caller: &Caller,
        id: PlaylistId,
        condition: Option<impl Fn(&Playlist, &[Media]) -> bool + Send + 'static>,
        media: Vec<MediaId>,
    ) -> Result<(Playlist, Vec<Media>), Error> {
        let now = self.clock.now();
        let reorder = async move |_: &mut Tx, playlist: Playlist| {
            playlist.reorder(&media, now).map_err(Error::PlaylistRejected)
        };
        self.change_playlist(caller, id, condition, reorder).await
    }

    /// Removes media from a manual playlist: all of them, or none.
    ///
    /// Errors: `PlaylistNotFound`, `ConditionFailed`, `PlaylistRejected`.
    pub async fn remove_from_playlist(
        &self,
        caller: &Caller,
        id: PlaylistId,
        condition: Option<impl Fn(&Playlist, &[Media]) -> bool + Send + 'static>,
        media: Vec<MediaId>,
    ) -> Result<(Playlist, Vec<Media>), Error> {
        let now = self.clock.now();
        let remove = async move |_: &mut Tx, playlist: Playlist| {
            playlist.remove(&media, now).map_err(Error::PlaylistRejected)
        };
        self.change_playlist(caller, id, condition, remove).await
    }

    /// Deletes a playlist. Its media are not deleted.
    ///
    /// Errors: `PlaylistNotFound`, also the second time; `ConditionFailed`.
    pub async fn delete_playlist(
        &self,
        caller: &Caller,
        id: PlaylistId,
        condition: Option<impl Fn(&Playlist, &[Media]) -> bool + Send + 'static>,
    ) -> Result<(), Error> {
        let (caller, now) = (*caller, self.clock.now());
        self.store
            .write(async move |tx| {
                let found = tx.playlist(caller.workspace, id).await?.ok_or(Error::PlaylistNotFound)?;
                check_condition(tx, &found, condition.as_ref()).await?;
                if !tx.delete_playlist(caller.workspace, id).await? {
                    return Err(Error::PlaylistNotFound);
                }
                CallerAudit::new(AuditAction::PlaylistDeleted, "playlist", id)
                    .named(&found.name)
                    .push(tx, &caller, now)
                    .await
            })
            .await
    }

    async fn change_playlist<F>(
        &self,
        caller: &Caller,
        id: PlaylistId,
        condition: Option<impl Fn(&Playlist, &[Media]) -> bool + Send + 'static>,
        mut change: F,
    ) -> Result<(Playlist, Vec<Media>), Error>
    where
        F: AsyncFnMut(&mut Tx, Playlist) -> Result<Playlist, Error> + Send + 'static,
    {
        let workspace = caller.workspace;
        // Read outside the transaction: a long query would block other writers, and no change concerns the
        // rules of a smart playlist.
        let chosen = match &condition {
            None => self.store.chosen_media_of(workspace, id).await?,
            Some(_) => None,
        };
        self.store
            .write(async move |tx: &mut Tx| {
                let before = tx.playlist(workspace, id).await?.ok_or(Error::PlaylistNotFound)?;
                check_condition(tx, &before, condition.as_ref()).await?;
                let after = change(tx, before.clone()).await?;
                tx.save_playlist(&before, &after).await?;
                let media = match &chosen {
                    Some(media) => media.clone(),
                    None => tx.playlist_media(&after).await?,
                };
                Ok((after, media))
            })
            .await
    }
}

/// Checks a condition. Reads the media only if there is one.
async fn check_condition(
    tx: &mut Tx,
    playlist: &Playlist,
    condition: Option<&(impl Fn(&Playlist, &[Media]) -> bool + Send)>,
) -> Result<(), Error> {
    let Some(condition) = condition else { return Ok(()) };
    let media = tx.playlist_media(playlist).await?;
    if condition(playlist, &media) { Ok(()) } else { Err(Error::ConditionFailed) }
}

fn insert_error(error: StoreError, playlist: &Playlist) -> Error {
    match error {
        StoreError::AlreadyExists { .. } => Error::PlaylistReferenceTaken(playlist.reference_id.clone()),
        StoreError::LimitReached { .. } => Error::TooManyPlaylists,
        other => other.into(),
    }
}
