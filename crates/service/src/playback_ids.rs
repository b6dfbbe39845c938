//! Playback IDs of a media.

use kinora_domain::{
    AuditAction, Media, MediaId, NewPlaybackId, PlaybackId, PlaybackIdSettings, RestrictionUpdate,
};
use kinora_store::Tx;

use crate::audit::CallerAudit;
use crate::{Caller, Commit, Error, Service};

impl Service {
    /// Adds a playback ID to a media in any state. The outcome is the playback ID, and the media with it.
    ///
    /// Errors: `MediaNotFound`, `TooManyPlaybackIds`.
    pub async fn create_playback_id<C: Commit<(PlaybackIdSettings, Media)>>(
        &self,
        caller: &Caller,
        id: MediaId,
        new: NewPlaybackId,
        commit: C,
    ) -> Result<C::Output, C::Error> {
        let (caller, now) = (*caller, self.clock.now());
        let playback = PlaybackIdSettings::new(new, now, &*self.random);
        let work = async move |tx: &mut Tx| {
            let media = tx.media(caller.workspace, id).await?.ok_or(Error::MediaNotFound)?;
            let added = media.add_playback_id(playback.clone(), now);
            let (media, updated) = added.map_err(Error::TooManyPlaybackIds)?;
            tx.save_with_event(&media, Some(&updated)).await?;
            audit(AuditAction::PlaybackIdCreated, &media, playback.id)
                .with("policy", playback.policy.as_str())
                .push(tx, &caller, now)
                .await?;
            Ok((playback.clone(), media))
        };
        commit.commit(&self.store, work).await
    }

    /// Replaces a restriction of a playback ID. An unchanged restriction emits no event.
    ///
    /// Errors: `MediaPlaybackIdNotFound`, `ConditionFailed`.
    pub async fn set_playback_restriction(
        &self,
        caller: &Caller,
        (media, playback_id): (MediaId, PlaybackId),
        condition: impl Fn(&PlaybackIdSettings) -> bool + Send + 'static,
        restriction: RestrictionUpdate,
    ) -> Result<(), Error> {
        let (caller, now) = (*caller, self.clock.now());
        self.store
            .write(async move |tx| {
                let media = tx.media(caller.workspace, media).await?.ok_or(Error::MediaPlaybackIdNotFound)?;
                check_condition(&media, playback_id, &condition)?;
                let changed = media.set_restriction(playback_id, restriction.clone(), now);
                let (media, updated) = changed.ok_or(Error::MediaPlaybackIdNotFound)?;
                tx.save_with_event(&media, updated.as_ref()).await?;
                if updated.is_none() {
                    return Ok(());
                }
                audit(AuditAction::PlaybackIdChanged, &media, playback_id)
                    .with("restriction", name(&restriction))
                    .push(tx, &caller, now)
                    .await
            })
            .await
    }

    /// Deletes a playback ID, which may be the last one. Playback through it ends.
    ///
    /// Errors: `MediaPlaybackIdNotFound`, also the second time; `ConditionFailed`.
    pub async fn delete_playback_id(
        &self,
        caller: &Caller,
        (media, playback_id): (MediaId, PlaybackId),
        condition: impl Fn(&PlaybackIdSettings) -> bool + Send + 'static,
    ) -> Result<(), Error> {
        let (caller, now) = (*caller, self.clock.now());
        self.store
            .write(async move |tx| {
                let media = tx.media(caller.workspace, media).await?.ok_or(Error::MediaPlaybackIdNotFound)?;
                check_condition(&media, playback_id, &condition)?;
                let (media, updated) =
                    media.remove_playback_id(playback_id, now).ok_or(Error::MediaPlaybackIdNotFound)?;
                tx.save_with_event(&media, Some(&updated)).await?;
                audit(AuditAction::PlaybackIdDeleted, &media, playback_id).push(tx, &caller, now).await
            })
            .await
    }
}

fn audit(action: AuditAction, media: &Media, id: PlaybackId) -> CallerAudit {
    CallerAudit::new(action, "playback_id", id).with("media", media.id)
}

/// The name of a restriction in the API.
fn name(restriction: &RestrictionUpdate) -> &'static str {
    match restriction {
        RestrictionUpdate::Domains(_) => "domains",
        RestrictionUpdate::UserAgents(_) => "userAgents",
    }
}

fn check_condition(
    media: &Media,
    playback_id: PlaybackId,
    condition: &impl Fn(&PlaybackIdSettings) -> bool,
) -> Result<(), Error> {
    let found = media.playback_id(playback_id).ok_or(Error::MediaPlaybackIdNotFound)?;
    if condition(found) { Ok(()) } else { Err(Error::ConditionFailed) }
}
