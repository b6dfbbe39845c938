//! Playback IDs of a media.

use kinora_domain::{Media, MediaId, NewPlayback, NewRestriction, PlaybackHandle, PlaybackId};
use kinora_store::Tx;

use crate::{Caller, Commit, Error, Service};

impl Service {
    /// Adds a playback ID to a media in any state. The outcome is the playback ID, and the media with it.
    ///
    /// Errors: `MediaNotFound`, `TooManyPlaybackIds`.
    pub async fn create_playback_id<C: Commit<(PlaybackHandle, Media)>>(
        &self,
        caller: &Caller,
        id: MediaId,
        new: NewPlayback,
        commit: C,
    ) -> Result<C::Output, C::Error> {
        let (workspace, now) = (caller.workspace, self.clock.now());
        let playback = PlaybackHandle::new(new, now, &*self.random);
        let work = async move |tx: &mut Tx| {
            let media = tx.media(workspace, id).await?.ok_or(Error::MediaNotFound)?;
            let added = media.add_playback(playback.clone(), now);
            let (media, updated) = added.map_err(Error::TooManyPlaybackIds)?;
            tx.save_with_event(&media, Some(&updated)).await?;
            Ok((playback.clone(), media))
        };
        commit.commit(&self.store, work).await
    }

    /// Replaces a restriction of a playback ID. An unchanged restriction emits no event.
    ///
    /// Errors: `PlaybackNotFound`, `ConditionFailed`.
    pub async fn restrict_playback(
        &self,
        caller: &Caller,
        (media, playback): (MediaId, PlaybackId),
        condition: impl Fn(&PlaybackHandle) -> bool + Send + 'static,
        rule: NewRestriction,
    ) -> Result<(), Error> {
        let (workspace, now) = (caller.workspace, self.clock.now());
        self.store
            .write(async move |tx| {
                let media = tx.media(workspace, media).await?.ok_or(Error::PlaybackNotFound)?;
                check(&media, playback, &condition)?;
                let changed = media.restrict_playback(playback, rule.clone(), now);
                let (media, updated) = changed.ok_or(Error::PlaybackNotFound)?;
                tx.save_with_event(&media, updated.as_ref()).await?;
                Ok(())
            })
            .await
    }

    /// Deletes a playback ID, which may be the last one. Playback through it ends.
    ///
    /// Errors: `PlaybackNotFound`, also the second time; `ConditionFailed`.
    pub async fn delete_playback_id(
        &self,
        caller: &Caller,
        (media, playback): (MediaId, PlaybackId),
        condition: impl Fn(&PlaybackHandle) -> bool + Send + 'static,
    ) -> Result<(), Error> {
        let (workspace, now) = (caller.workspace, self.clock.now());
        self.store
            .write(async move |tx| {
                let media = tx.media(workspace, media).await?.ok_or(Error::PlaybackNotFound)?;
                check(&media, playback, &condition)?;
                let (media, updated) = media.remove_playback(playback, now).ok_or(Error::PlaybackNotFound)?;
                tx.save_with_event(&media, Some(&updated)).await?;
                Ok(())
            })
            .await
    }
}

fn check(
    media: &Media,
    playback: PlaybackId,
    condition: &impl Fn(&PlaybackHandle) -> bool,
) -> Result<(), Error> {
    let found = media.playback(playback).ok_or(Error::PlaybackNotFound)?;
    if condition(found) { Ok(()) } else { Err(Error::ConditionFailed) }
}
