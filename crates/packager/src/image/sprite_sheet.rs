//! Sprite sheets: small thumbnails from all of a media, which players show while the viewer seeks. D-0082.

use std::sync::Arc;

use bytes::Bytes;
use kinora_engine::{IMAGE_SIDE_MAX, ImageSize, SpriteSheetPart, SpriteSheetSpec};
use kinora_formats::encode::{Feed, image_size};
use kinora_index::TrackMedia;

use super::target_frame::hash_of;
use super::{Image, ImageCost, ImageTask, run_error};
use crate::encode::container;
use crate::{Error, Packaged, Packager, PlaybackClient};
use frames::Keyframes;
use tile_frames::{FrameKinds, STEP_US, TileFeed, TileFrames};

mod frames;
mod tile_frames;

/// Longest side of a tile in pixels: the size that players show above the seek bar.
const TILE_SIDE_MAX: u32 = 160;
/// Tiles in a row, unless more are needed.
const COLUMNS: u32 = 10;
/// Tiles of an overview: a finger can select some hundred positions on a seek bar.
const OVERVIEW_TILES_MAX: u32 = 100;
/// Smallest number of seconds between the tiles of an overview: about the distance of keyframes.
const OVERVIEW_INTERVAL_MIN_S: u32 = 2;
/// Tiles of any other sheet.
const TILES_MAX: u32 = 1000;

/// The kind of a sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpriteSheet {
    /// Up to 100 tiles from the beginning to the end, of keyframes, and of the first frame where an edit list
    /// begins between two.
    Overview,
    /// One tile for each interval of this many seconds, 1 or more; a longer interval if the tiles would be
    /// too many.
    Every(u32),
}

/// Layout of a sheet. A pure function of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storyboard {
    /// Seconds from the start of one tile to that of the next.
    pub interval_s: u32,
    /// Tiles, 1 or more: row by row, the first one at 0 s.
    pub count: u32,
    /// Tiles in a row.
    pub columns: u32,
    /// Rows.
    pub rows: u32,
    /// Width of a tile in pixels.
    pub tile_width: u32,
    /// Height of a tile in pixels.
    pub tile_height: u32,
    /// End of the video in milliseconds from 0.
    pub duration_ms: u64,
    /// Whether it is the overview, which every player requests.
    is_overview: bool,
    tile_frames: TileFrames,
}

impl Storyboard {
    /// The layout; `None` for audio only. Reads every sample of the video.
    pub fn of(packaged: &Packaged, sheet: SpriteSheet) -> Option<Self> {
        let (track, video) = packaged.index().video()?;
        let video = super::largest_video(track, video);
        let (width, height) = packaged.default_image_size()?;
        let tile = tile_size(width, height);
        let timescale = u64::from(track.timescale.max(1));
        let end = u64::try_from(track.end).unwrap_or(0);
        let duration_ms = packaged.video_end_ms()?;
        let seconds = u32::try_from(end.div_ceil(timescale)).unwrap_or(u32::MAX).max(1);
        let side = |tile: u32| IMAGE_SIDE_MAX / tile;
        let tiles_max =
            (side(tile.width) * side(tile.height)).min(TILES_MAX).min(tile_frames::frames_max(video)).max(1);
        let (interval_min_s, count_max) = match sheet {
            SpriteSheet::Overview => (OVERVIEW_INTERVAL_MIN_S, tiles_max.min(OVERVIEW_TILES_MAX)),
            SpriteSheet::Every(seconds) => (seconds.max(1), tiles_max),
        };
        let mut interval_s = interval_min_s.max(seconds.div_ceil(count_max));
        let keyframes = Keyframes::of(track);
        let tile_frames = loop {
            let count = seconds.div_ceil(interval_s);
            if let Some(choice) = TileFrames::of(track, video, &keyframes, interval_s, count, sheet) {
                break choice;
            }
            // These frames take too much to be read, so it uses fewer.
            interval_s = interval_s.checked_mul(2).filter(|_| 1 < count)?;
        };
        let count = seconds.div_ceil(interval_s);
        let columns = count.min(COLUMNS).max(count.div_ceil(side(tile.height)));
        let rows = count.div_ceil(columns);
        let (tile_width, tile_height) = (tile.width, tile.height);
        let is_overview = sheet == SpriteSheet::Overview;
        Some(Self {
            interval_s,
            count,
            columns,
            rows,
            tile_width,
            tile_height,
            duration_ms,
            is_overview,
            tile_frames,
        })
    }

    /// Bytes of memory.
    pub(super) fn weight(&self) -> u32 {
        u32::try_from(size_of::<Self>() + self.tile_frames.weight()).unwrap_or(u32::MAX)
    }

    /// The start of each tile in seconds, and the position of its upper left corner in the sheet, in pixels.
    pub fn tiles(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        (0..self.count).map(|n| {
            let (column, row) = (n % self.columns, n / self.columns);
            (n * self.interval_s, column * self.tile_width, row * self.tile_height)
        })
    }
}

/// The largest tile of this ratio that is not larger than the video. Both sides are even, because chroma is
/// subsampled.
fn tile_size(width: u32, height: u32) -> ImageSize {
    let longest = u64::from(width.max(height).max(1));
    let bound = u64::from(TILE_SIDE_MAX).min(longest);
    let side = |side: u32| u32::try_from((u64::from(side) * bound / longest / 2 * 2).max(2)).unwrap_or(2);
    ImageSize { width: side(width), height: side(height) }
}

impl Packager {
    /// The storyboard of a sheet, cached or computed on a blocking thread, once for concurrent calls.
    ///
    /// Errors: [`Error::NoImage`] for audio only, [`Error::Busy`] for too many requests at once.
    pub async fn storyboard(
        &self,
        packaged: &Arc<Packaged>,
        sheet: SpriteSheet,
        client: PlaybackClient,
    ) -> Result<Arc<Storyboard>, Error> {
        let work_out = async {
            let permit = self.client_encode_permit(client)?;
            let packaged = Arc::clone(packaged);
            let work_out = move || {
                // The permit stays in use when the requester disconnects.
                let _permit = permit;
                Storyboard::of(&packaged, sheet).map(Arc::new)
            };
            // A panic is a bug, and was already reported.
            tokio::task::spawn_blocking(work_out).await.map_err(|_| Error::Busy)
        };
        let storyboard = self.images.storyboards.try_get_with((packaged.id(), sheet), work_out).await;
        storyboard.map_err(|error: Arc<Error>| Error::Shared(error))?.ok_or(Error::NoImage)
    }

    /// The sheet as a JPEG, from the store or made now by one run that decodes only the shown frames.
    ///
    /// Errors: [`Error::NoImage`] if nothing decodes, [`Error::Busy`] for too many requests at once or if
    /// the machine is too slow now.
    pub async fn sprite_sheet(
        &self,
        packaged: &Arc<Packaged>,
        storyboard: &Arc<Storyboard>,
        client: PlaybackClient,
    ) -> Result<Image, Error> {
        let Storyboard { interval_s, count, columns, rows, tile_width, tile_height, tile_frames, .. } =
            &**storyboard;
        let mix = match tile_frames.kinds {
            // The first two names are older than the third: whether only keyframes are shown.
            FrameKinds::Keyframes => "true",
            FrameKinds::Any => "false",
            FrameKinds::KeyframesAndOpenings => "openings",
        };
        let text = format!("sheet {interval_s} {count} {columns}x{rows} {tile_width}x{tile_height} {mix}");
        let make = {
            let (packager, packaged) = (self.clone(), Arc::clone(packaged));
            let storyboard = Arc::clone(storyboard);
            async move { packager.make_sheet(&packaged, &storyboard).await }
        };
        let task = ImageTask {
            cost: ImageCost::Long,
            hash: hash_of(&text),
            is_quota_exempt: storyboard.is_overview,
        };
        self.get_or_make(packaged, task, client, Box::pin(make)).await
    }

    async fn make_sheet(&self, packaged: &Packaged, storyboard: &Storyboard) -> Result<Bytes, Error> {
        let Storyboard { count, columns, rows, tile_width, tile_height, tile_frames, .. } = storyboard;
        let (track, video) = packaged.index().video().ok_or(Error::NoImage)?;
        let feeds = tile_frames.feeds(packaged.index(), track)?;
        let first = feeds.first().ok_or(Error::NoImage)?;
        let image = self.overlay_image(packaged).await?;
        let tile = ImageSize { width: *tile_width, height: *tile_height };
        let spec = SpriteSheetSpec {
            container: container(first.feed.format()),
            tile,
            columns: *columns,
            rows: *rows,
            count: *count,
            start_s: u32::try_from(Feed::SINGLE_FRAMES_LEAD_US / STEP_US).unwrap_or(0),
            overlay: image.as_ref().map(|image| image.of_frame(tile)),
            priority: super::SHEET_PRIORITY,
            limits: super::limits(tile_frames.frames, super::largest_video(track, video)),
        };
        match <[TileFeed; 1]>::try_from(feeds) {
            // Configuration 0 has the shape of the tiles.
            Ok([TileFeed { feed, configuration: 0, .. }]) => {
                let input = self.sample_stream(packaged, feed);
                self.engine.sprite_sheet(spec, input).await.map_err(run_error)
            }
            Ok(feed) => self.sheet_of_parts(packaged, spec, feed.into()).await,
            Err(feeds) => self.sheet_of_parts(packaged, spec, feeds).await,
        }
    }

    /// A sheet of frames with several decoder configurations: the input of each is in a file.
    async fn sheet_of_parts(
        &self,
        packaged: &Packaged,
        spec: SpriteSheetSpec,
        feeds: Vec<TileFeed>,
    ) -> Result<Bytes, Error> {
        let (track, base) = packaged.index().video().ok_or(Error::NoImage)?;
        let (mut files, mut parts) = (Vec::new(), Vec::new());
        for TileFeed { feed, count, configuration } in feeds {
            let image = match track.configuration(configuration) {
                TrackMedia::Video(part) => image_size((spec.tile.width, spec.tile.height), base, part),
                TrackMedia::Audio(_) => None,
            };
            let container = container(feed.format());
            let file = self.write_scratch(self.sample_stream(packaged, feed), &self.scratch).await?;
            parts.push(SpriteSheetPart { file: file.path().to_owned(), container, count, image });
            files.push(file);
        }
        self.engine.sprite_sheet_of_parts(spec, &parts).await.map_err(run_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tile_has_the_video_ratio_and_even_sides() {
        let check = |(width, height), expected| {
            let ImageSize { width, height } = tile_size(width, height);
            assert_eq!((width, height), expected);
        };
        check((1920, 1080), (160, 90));
        check((1080, 1920), (90, 160));
        check((640, 480), (160, 120));
        check((161, 91), (160, 90));
        check((101, 57), (100, 56));
        check((4096, 16), (160, 2));
        check((1, 1), (2, 2));
    }
}
