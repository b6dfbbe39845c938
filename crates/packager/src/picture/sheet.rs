//! Sheets of small pictures from all over a media, which players show while somebody moves along the bar of
//! time. D-0082.

use std::sync::Arc;

use bytes::Bytes;
use kinora_engine::{PICTURE_SIDE_MAX, PictureSize, SheetSpec};
use kinora_formats::encode::Feed;

use super::moment::hash_of;
use super::{Kind, Order, Picture, of_run};
use crate::encode::container;
use crate::{Asker, Error, Packaged, Packager};
use choice::{Choice, Mix, STEP_US};
use frames::Keyframes;

mod choice;
mod frames;

/// Longest side of a tile in pixels: what players show above the bar.
const TILE_SIDE_MAX: u32 = 160;
/// Tiles beside each other, where they do not have to be more.
const COLUMNS: u32 = 10;
/// Tiles of an overview: a bar of time has some hundred places that a finger can tell apart.
const OVERVIEW_TILES_MAX: u32 = 100;
/// Seconds between the tiles of an overview, at least: keyframes are about so far apart.
const OVERVIEW_INTERVAL_MIN_S: u32 = 2;
/// Tiles of any other sheet.
const TILES_MAX: u32 = 1000;

/// Which sheet of a media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sheet {
    /// Up to 100 tiles from the beginning to the end, of keyframes, and of the first frame where an edit list
    /// begins between two.
    Overview,
    /// A tile every so many seconds, 1 or more; further apart where that would be too many.
    Every(u32),
}

/// How a sheet is laid out. A pure function of the index.
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
    /// How long the media is shown, in milliseconds.
    pub duration_ms: u64,
    /// Whether it is the overview, which every player asks for.
    is_overview: bool,
    choice: Choice,
}

impl Storyboard {
    /// `None` for sound alone. Looks at every sample of the video.
    pub fn of(packaged: &Packaged, sheet: Sheet) -> Option<Self> {
        let (track, video) = packaged.index().video()?;
        let (width, height) = packaged.picture_size()?;
        let tile = tile_of(width, height);
        let timescale = u64::from(track.timescale.max(1));
        let end = u64::try_from(track.end).unwrap_or(0);
        let duration_ms = packaged.pictures_end_ms()?;
        let seconds = u32::try_from(end.div_ceil(timescale)).unwrap_or(u32::MAX).max(1);
        let side = |tile: u32| PICTURE_SIDE_MAX / tile;
        let most =
            (side(tile.width) * side(tile.height)).min(TILES_MAX).min(choice::frames_max(video)).max(1);
        let (wanted, most) = match sheet {
            Sheet::Overview => (OVERVIEW_INTERVAL_MIN_S, most.min(OVERVIEW_TILES_MAX)),
            Sheet::Every(seconds) => (seconds.max(1), most),
        };
        let mut interval_s = wanted.max(seconds.div_ceil(most));
        let keyframes = Keyframes::of(track);
        let choice = loop {
            let count = seconds.div_ceil(interval_s);
            if let Some(choice) = Choice::of(track, video, &keyframes, interval_s, count, sheet) {
                break choice;
            }
            // What lies there takes too much to be read: fewer of it.
            interval_s = interval_s.checked_mul(2).filter(|_| 1 < count)?;
        };
        let count = seconds.div_ceil(interval_s);
        let columns = count.min(COLUMNS).max(count.div_ceil(side(tile.height)));
        let rows = count.div_ceil(columns);
        let (tile_width, tile_height) = (tile.width, tile.height);
        let is_overview = sheet == Sheet::Overview;
        Some(Self {
            interval_s,
            count,
            columns,
            rows,
            tile_width,
            tile_height,
            duration_ms,
            is_overview,
            choice,
        })
    }

    /// Bytes of memory.
    pub(super) fn weight(&self) -> u32 {
        u32::try_from(size_of::<Self>() + self.choice.weight()).unwrap_or(u32::MAX)
    }

    /// When each tile begins, in seconds, and where its left upper corner lies in the sheet, in pixels.
    pub fn tiles(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        (0..self.count).map(|n| {
            let (column, row) = (n % self.columns, n / self.columns);
            (n * self.interval_s, column * self.tile_width, row * self.tile_height)
        })
    }
}

/// The largest size of this ratio in which a tile may be, and not larger than the video; both sides are even,
/// as halved colours want it.
fn tile_of(width: u32, height: u32) -> PictureSize {
    let longest = u64::from(width.max(height).max(1));
    let bound = u64::from(TILE_SIDE_MAX).min(longest);
    let side = |side: u32| u32::try_from((u64::from(side) * bound / longest / 2 * 2).max(2)).unwrap_or(2);
    PictureSize { width: side(width), height: side(height) }
}

impl Packager {
    /// The storyboard of a sheet, from memory or worked out beside the threads that answer requests, once
    /// however many ask.
    ///
    /// Errors: [`Error::NoPicture`] for sound alone, [`Error::Busy`] when too much is asked for at once.
    pub async fn storyboard(
        &self,
        packaged: &Arc<Packaged>,
        sheet: Sheet,
        asker: Asker,
    ) -> Result<Arc<Storyboard>, Error> {
        let work_out = async {
            let place = self.cold_place(asker)?;
            let packaged = Arc::clone(packaged);
            let work_out = move || {
                // Whoever leaves does not end it.
                let _place = place;
                Storyboard::of(&packaged, sheet).map(Arc::new)
            };
            // A panic is a bug, and was told where it happened.
            tokio::task::spawn_blocking(work_out).await.map_err(|_| Error::Busy)
        };
        let storyboard = self.pictures.storyboards.try_get_with((packaged.id(), sheet), work_out).await;
        storyboard.map_err(|error: Arc<Error>| Error::Shared(error))?.ok_or(Error::NoPicture)
    }

    /// The sheet as a JPEG, from the store or made now by one run that decodes no more than what it shows.
    ///
    /// Errors: [`Error::NoPicture`] where nothing decodes, [`Error::Busy`] when too much is asked for at once
    /// or the machine is too slow for it now.
    pub async fn sheet(
        &self,
        packaged: &Arc<Packaged>,
        storyboard: &Arc<Storyboard>,
        asker: Asker,
    ) -> Result<Picture, Error> {
        let Storyboard { interval_s, count, columns, rows, tile_width, tile_height, choice, .. } =
            &**storyboard;
        let mix = match choice.mix {
            // As it was named before there was a third: whether keyframes alone are shown.
            Mix::Keyframes => "true",
            Mix::Any => "false",
            Mix::Openings => "openings",
        };
        let text = format!("sheet {interval_s} {count} {columns}x{rows} {tile_width}x{tile_height} {mix}");
        let make = {
            let (packager, packaged) = (self.clone(), Arc::clone(packaged));
            let storyboard = Arc::clone(storyboard);
            async move { packager.make_sheet(&packaged, &storyboard).await }
        };
        let order = Order { kind: Kind::Long, hash: hash_of(&text), is_always_kept: storyboard.is_overview };
        self.made_once(packaged, order, asker, Box::pin(make)).await
    }

    async fn make_sheet(&self, packaged: &Packaged, storyboard: &Storyboard) -> Result<Bytes, Error> {
        let Storyboard { count, columns, rows, tile_width, tile_height, choice, .. } = storyboard;
        let (track, video) = packaged.index().video().ok_or(Error::NoPicture)?;
        // One decoder shows all tiles.
        if !track.configurations.is_empty() {
            return Err(Error::NoPicture);
        }
        let feed = choice.feed(packaged.index(), track)?;
        let spec = SheetSpec {
            container: container(feed.format()),
            tile: PictureSize { width: *tile_width, height: *tile_height },
            columns: *columns,
            rows: *rows,
            count: *count,
            start_s: u32::try_from(Feed::SELECTED_LEAD_US / STEP_US).unwrap_or(0),
            priority: super::SHEET_PRIORITY,
            limits: super::limits(choice.frames, video),
        };
        let input = self.selected(packaged, feed);
        self.engine.sheet(spec, input).await.map_err(of_run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_has_the_ratio_of_the_video_and_even_sides() {
        let check = |(width, height), expected| {
            let PictureSize { width, height } = tile_of(width, height);
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
