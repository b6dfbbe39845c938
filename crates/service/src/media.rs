//! Media: created from a URL, changed, deleted.

use kinora_domain::{
    AuditAction, Event, Media, MediaChange, MediaId, MediaSettings, Mp4Support, NewMedia, Timestamp,
};
use kinora_store::Tx;

use crate::audit::CallerAudit;
use crate::{Caller, Commit, Error, Service};

/// A media that was just registered.
#[derive(Debug, Clone)]
pub struct RegisteredMedia {
    /// The media.
    pub media: Media,
    /// Whether it is a public clip of a media without a public playback ID; the response warns of it.
    pub is_more_public_than_origin: bool,
}

impl Service {
    /// Registers a media that will be fetched from its URL, or a clip of another media: row, event and job.
    /// The playback ID is usable at once.
    ///
    /// `new.workspace` is replaced by the caller's. Errors: `SourceUrl`, `TitleTooLong`; for a clip
    /// `OriginNotFound`, `ClipRejected`.
    pub async fn create_media<C: Commit<RegisteredMedia>>(
        &self,
        caller: &Caller,
        new: NewMedia,
        commit: C,
    ) -> Result<C::Output, C::Error> {
        let origin = new.clip_of;
        if origin.is_none() {
            let parsed = kinora_fetch::parse_source_url(&new.url);
            parsed.map_err(|problem| C::reject(Error::SourceUrl(problem)))?;
        }
        check_title(&new.settings).map_err(C::reject)?;
        let (caller, now) = (*caller, self.clock.now());
        let new = NewMedia { workspace: caller.workspace, ..new };
        let (media, event) = Media::create(new, now, &*self.random);
        let work = async move |tx: &mut Tx| {
            caller.check_workspace(tx).await?;
            let Some(origin) = origin else {
                tx.register_media(&media, &event, now).await?;
                return Ok(RegisteredMedia { media: media.clone(), is_more_public_than_origin: false });
            };
            register_clip(tx, media.clone(), origin, now).await
        };
        commit.commit(&self.store, work).await
    }

    /// Changes title, creator, metadata, thumbnail or levelled audio of a media in any state. A change to the
    /// same values emits no event. Audio that is to be levelled is measured, unless it was for the present
    /// target of the workspace.
    ///
    /// Errors: `MediaNotFound`, `ConditionFailed`.
    pub async fn update_media(
        &self,
        caller: &Caller,
        id: MediaId,
        condition: impl Fn(&Media) -> bool + Send + 'static,
        change: MediaChange,
    ) -> Result<Media, Error> {
        let (caller, now) = (*caller, self.clock.now());
        self.store
            .write(async move |tx| {
                let media = find(tx, &caller, id, &condition).await?;
                let was_levelled = media.settings.optimize_audio;
                let (media, updated) = media.update(change.clone(), now);
                tx.save_update(&media, updated.as_ref(), now).await?;
                if let Some(is_levelled) = change.optimize_audio {
                    tx.follow_optimize_audio(&media, is_levelled != was_levelled, now).await?;
                }
                Ok(media)
            })
            .await
    }

    /// Allows or forbids the download of a media's source by its viewers. An unchanged value emits no event.
    /// Forbidding it for a media forbids it for its clips too, because they have the same source (C-198).
    ///
    /// Errors: `MediaNotFound`, `ConditionFailed`, `OriginSourceClosed`.
    pub async fn set_source_access(
        &self,
        caller: &Caller,
        id: MediaId,
        condition: impl Fn(&Media) -> bool + Send + 'static,
        is_open: bool,
    ) -> Result<Media, Error> {
        let (caller, now) = (*caller, self.clock.now());
        self.store
            .write(async move |tx| {
                let media = find(tx, &caller, id, &condition).await?;
                if is_open && !may_open_source(tx, &media).await? {
                    return Err(Error::OriginSourceClosed);
                }
                let (media, events) = media.set_source_access(is_open, now);
                tx.save_with_events(&media, &events).await?;
                if !is_open {
                    close_sources_of_clips(tx, &media, now).await?;
                }
                Ok(media)
            })
            .await
    }

    /// Sets the files that a media offers in addition to playback, and queues the job that prepares them.
    ///
    /// Errors: `MediaNotFound`, `ConditionFailed`, `Mp4Rejected`.
    pub async fn set_mp4_support(
        &self,
        caller: &Caller,
        id: MediaId,
        condition: impl Fn(&Media) -> bool + Send + 'static,
        mp4_support: Mp4Support,
    ) -> Result<Media, Error> {
        let (caller, now) = (*caller, self.clock.now());
        self.store
            .write(async move |tx| {
                let media = find(tx, &caller, id, &condition).await?;
                let (media, updated) = media.set_mp4_support(mp4_support, now).map_err(Error::Mp4Rejected)?;
                tx.save_mp4_support(&media, &updated, now).await?;
                Ok(media)
            })
            .await
    }

    /// Deletes a media permanently: its rows with the commit, its objects soon after.
    ///
    /// Errors: `MediaNotFound`, also the second time; `ConditionFailed`.
    pub async fn delete_media(
        &self,
        caller: &Caller,
        id: MediaId,
        condition: impl Fn(&Media) -> bool + Send + 'static,
    ) -> Result<(), Error> {
        let (caller, now) = (*caller, self.clock.now());
        self.store
            .write(async move |tx| {
                let media = find(tx, &caller, id, &condition).await?;
                let audit = CallerAudit::new(AuditAction::MediaDeleted, "media", id)
                    .named(media.settings.title.clone().unwrap_or_default());
                tx.remove_media(media, now).await?;
                audit.push(tx, &caller, now).await
            })
            .await
    }
}

/// Registers a clip. It uses the sources of its origin from this commit on (D-0131), and until its own
/// subtitles are stored those of the origin too.
async fn register_clip(
    tx: &mut Tx,
    media: Media,
    origin: MediaId,
    now: Timestamp,
) -> Result<RegisteredMedia, Error> {
    let origin = tx.media(media.workspace, origin).await?.ok_or(Error::OriginNotFound)?;
    let media = media.cut_from(&origin).map_err(Error::ClipRejected)?;
    let mut sources = tx.used_sources(origin.id).await?;
    sources.extend(origin.source());
    // Its inputs are those of the request. Inherited subtitles have events of their own.
    let created = media.created_event(now);
    let media = media.inherit_subtitles(&origin, now, tx.random());
    sources.extend(media.subtitles_to_cut());
    tx.register_media(&media, &created, now).await?;
    tx.set_used_sources(media.id, &sources, media.workspace, now).await?;
    let is_more_public_than_origin = media.is_more_public_than(&origin);
    Ok(RegisteredMedia { media, is_more_public_than_origin })
}

/// Whether the source may become downloadable: that of a clip only while that of its origin is (C-198).
async fn may_open_source(tx: &mut Tx, media: &Media) -> Result<bool, Error> {
    let Some(clip_of) = media.clip_of else { return Ok(true) };
    let origin = tx.media(media.workspace, clip_of.media).await?;
    Ok(origin.is_some_and(|origin| origin.offers_source()))
}

/// Forbids the download of the source of all clips of a media, and of their clips, with their events.
async fn close_sources_of_clips(tx: &mut Tx, media: &Media, now: Timestamp) -> Result<(), Error> {
    let workspace = media.workspace;
    let mut open = tx.clips_with_source_access(workspace, media.id).await?;
    // A clip between may have been deleted. The original of a media that is no clip is its own.
    if let (None, Some(original)) = (media.clip_of, media.original()) {
        open.extend(tx.clips_with_original(workspace, original).await?);
    }
    while let Some(clip) = open.pop() {
        let clip = tx.media(workspace, clip).await?.ok_or(Error::MediaNotFound)?;
        let (clip, events): (Media, Vec<Event>) = clip.set_source_access(false, now);
        tx.save_with_events(&clip, &events).await?;
        open.extend(tx.clips_with_source_access(workspace, clip.id).await?);
    }
    Ok(())
}

/// A media of the caller's workspace that satisfies the condition of the request.
async fn find(
    tx: &mut Tx,
    caller: &Caller,
    id: MediaId,
    condition: &impl Fn(&Media) -> bool,
) -> Result<Media, Error> {
    let media = tx.media(caller.workspace, id).await?.ok_or(Error::MediaNotFound)?;
    if condition(&media) { Ok(media) } else { Err(Error::ConditionFailed) }
}

/// Checks the length of a title. HTTP checks it with all other fields, and names each wrong one.
pub(crate) fn check_title(settings: &MediaSettings) -> Result<(), Error> {
    let length = settings.title.as_ref().map_or(0, |title| title.chars().count());
    if length <= MediaSettings::TEXT_MAX { Ok(()) } else { Err(Error::TitleTooLong) }
}
