//! Added tracks of a media: subtitles and audio with their own URLs.

use kinora_domain::{AddedTrack, AuditAction, Media, MediaId, NewTrack, TrackId, TrackUpdate};
use kinora_store::Tx;

use crate::audit::CallerAudit;
use crate::{Caller, Commit, Error, Service};

impl Service {
    /// Adds a track to a media in any state: row, events and job. Subtitles are fetched at once, audio once
    /// the media is ready.
    ///
    /// Errors: `MediaNotFound`, `TrackRejected`.
    pub async fn add_track<C: Commit<AddedTrack>>(
        &self,
        caller: &Caller,
        id: MediaId,
        new: NewTrack,
        commit: C,
    ) -> Result<C::Output, C::Error> {
        let (workspace, now) = (caller.workspace, self.clock.now());
        let track = AddedTrack::new(new, now, &*self.random);
        let work = async move |tx: &mut Tx| {
            let media = tx.media(workspace, id).await?.ok_or(Error::MediaNotFound)?;
            let (media, events) = media.add_track(track.clone(), now).map_err(Error::TrackRejected)?;
            tx.save_tracks(&media, &events).await?;
            tx.fetch_track(&media, &track, now).await?;
            Ok(track.clone())
        };
        commit.commit(&self.store, work).await
    }

    /// Changes an added track: its name, its language or its file, which is fetched again. A change to the
    /// same values emits no event.
    ///
    /// `condition` is evaluated only if the media has the track. Errors: `MediaNotFound`, `ConditionFailed`,
    /// `TrackRejected`.
    pub async fn update_track(
        &self,
        caller: &Caller,
        (media, track): (MediaId, TrackId),
        condition: impl Fn(&Media) -> bool + Send + 'static,
        update: TrackUpdate,
    ) -> Result<AddedTrack, Error> {
        let (workspace, now, random) = (caller.workspace, self.clock.now(), self.random.clone());
        self.store
            .write(async move |tx| {
                let media = tx.media(workspace, media).await?.ok_or(Error::MediaNotFound)?;
                let before = media.added_track(track).cloned();
                check_condition(&media, track, &condition)?;
                let changed = media.update_track(track, update.clone(), now, &*random);
                let (media, events) = changed.map_err(Error::TrackRejected)?;
                let (before, after) = before.zip(media.added_track(track)).expect("it was just changed");
                if let Some(events) = events {
                    tx.save_tracks(&media, &events).await?;
                    if before.source() != after.source() {
                        tx.discard_track(&media, &before, now).await?;
                        tx.fetch_track(&media, after, now).await?;
                    }
                }
                Ok(after.clone())
            })
            .await
    }

    /// Deletes an added track: its row with the commit, its file soon after.
    ///
    /// `condition` is evaluated only if the media has the track. Errors: `MediaNotFound`, `ConditionFailed`,
    /// `TrackRejected`, also the second time.
    pub async fn delete_track(
        &self,
        caller: &Caller,
        (media, track): (MediaId, TrackId),
        condition: impl Fn(&Media) -> bool + Send + 'static,
    ) -> Result<(), Error> {
        let (caller, now) = (*caller, self.clock.now());
        self.store
            .write(async move |tx| {
                let media = tx.media(caller.workspace, media).await?.ok_or(Error::MediaNotFound)?;
                check_condition(&media, track, &condition)?;
                let (media, removed, events) =
                    media.remove_track(track, now).map_err(Error::TrackRejected)?;
                tx.save_tracks(&media, &events).await?;
                tx.discard_track(&media, &removed, now).await?;
                CallerAudit::new(AuditAction::TrackDeleted, "track", track)
                    .named(&removed.spec.language_name)
                    .with("media", media.id)
                    .push(tx, &caller, now)
                    .await
            })
            .await
    }
}

/// Checks the condition. Without the track it passes: the change itself then reports the missing track.
fn check_condition(media: &Media, track: TrackId, condition: &impl Fn(&Media) -> bool) -> Result<(), Error> {
    if media.added_track(track).is_none() || condition(media) { Ok(()) } else { Err(Error::ConditionFailed) }
}
