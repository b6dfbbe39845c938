//! Media: created from a URL, changed, deleted.

use kinora_domain::{Media, MediaChange, MediaId, MediaSettings, Mp4Support, NewMedia};
use kinora_store::Tx;

use crate::{Caller, Commit, Error, Service};

impl Service {
    /// Registers a media that will be fetched from its URL: row, event and job. The playback ID is
    /// usable at once.
    ///
    /// `new.workspace` is replaced by the caller's. Errors: `SourceUrl`, `TitleTooLong`.
    pub async fn create_media<C: Commit<Media>>(
        &self,
        caller: &Caller,
        new: NewMedia,
        commit: C,
    ) -> Result<C::Output, C::Error> {
        kinora_fetch::parse_source_url(&new.url).map_err(|problem| C::reject(Error::SourceUrl(problem)))?;
        check_title(&new.settings).map_err(C::reject)?;
        let now = self.clock.now();
        let new = NewMedia { workspace: caller.workspace, ..new };
        let (media, event) = Media::create(new, now, &*self.random);
        let work = async move |tx: &mut Tx| {
            tx.register_media(&media, &event, now).await?;
            Ok(media.clone())
        };
        commit.commit(&self.store, work).await
    }

    /// Changes title, creator, metadata or thumbnail of a media in any state. A change to the same values
    /// emits no event.
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
                let (media, updated) = media.update(change.clone(), now);
                tx.save_update(&media, updated.as_ref(), now).await?;
                Ok(media)
            })
            .await
    }

    /// Allows or forbids the download of a media's source by its viewers. An unchanged value emits no event.
    ///
    /// Errors: `MediaNotFound`, `ConditionFailed`.
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
                let (media, events) = media.set_source_access(is_open, now);
                tx.save_with_events(&media, &events).await?;
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
                tx.remove_media(media, now).await?;
                Ok(())
            })
            .await
    }
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
