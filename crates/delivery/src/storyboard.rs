//! Sprite sheets, and the texts that give players the position of each tile:
//! `GET {images}/{playbackId}/spritesheet.{jpg,json}`, `advanced-spritesheet.{jpg,json}` and
//! `storyboard.vtt` (C-175, C-179, D-0082).

use std::fmt::Write as _;

use axum::http::HeaderMap;
use axum::response::Response;
use kinora_domain::{EmbeddingPage, TokenClaims};
use kinora_packager::{SpriteSheet, Storyboard};
use kinora_web::error::ApiError;
use serde::Serialize;

use super::image_query::{ImageViewer, Parameters};
use super::playback_request::{self, forwarded_query};
use super::response::{CacheLifetime, send_changing_text};
use super::thumbnail::ImageResponse;
use crate::DeliveryState;
use crate::error;

/// Longest interval between two tiles, in seconds (C-175).
const INTERVAL_S_MAX: u32 = 10;
/// Default interval, in seconds.
const INTERVAL_S_DEFAULT: u32 = 10;

/// Longest cue, in bytes: its times, the position of its tile, and the address of the sheet.
///
/// That address contains a token, which needs no escapes where it is valid, and a page, whose every byte
/// may need one. A sheet has at most 1,000 tiles (D-0082), so a text has at most 10 MB, and 1 MB with a
/// token such as ours.
const CUE_BYTES_MAX: usize = TokenClaims::TOKEN_BYTES_MAX + 3 * EmbeddingPage::LEN_MAX + 512;

/// The requested part of a storyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoryboardFile {
    Image,
    Json,
    Vtt,
}

/// The sheet that a file name selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SheetKind {
    /// The overview.
    Plain,
    /// The one with an interval.
    Advanced,
    /// The one with an interval where the query has one, else the overview.
    Either,
}

/// File names of the parts of storyboards.
pub(super) const NAMES: [&str; 5] = [
    "spritesheet.jpg",
    "spritesheet.json",
    "advanced-spritesheet.jpg",
    "advanced-spritesheet.json",
    "storyboard.vtt",
];

fn file_of(file: &str) -> Option<(SheetKind, StoryboardFile)> {
    let files = [
        (SheetKind::Plain, StoryboardFile::Image),
        (SheetKind::Plain, StoryboardFile::Json),
        (SheetKind::Advanced, StoryboardFile::Image),
        (SheetKind::Advanced, StoryboardFile::Json),
        (SheetKind::Either, StoryboardFile::Vtt),
    ];
    NAMES.iter().position(|name| *name == file).map(|at| files[at])
}

/// Sends the sheet, made on the first request and cached, or the text with the positions of its tiles, for
/// which no sheet is made.
pub(super) async fn storyboard(
    app: &DeliveryState,
    viewer: ImageViewer<'_>,
    file: &str,
    query: &str,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let (kind, part) = file_of(file).ok_or_else(ApiError::no_such_path)?;
    let (granted, packaged) = viewer.authorize(app).await?;
    let sheet = parse(query, kind)?;
    let policy = granted.response_policy(app, CacheLifetime::Minute);
    // The address is repeated for up to a thousand tiles: the token is included only where it admitted the
    // viewer.
    let token = granted.token_of(viewer.playback_request);
    let address = sheet_url(sheet, &forwarded_query(token, playback_request::embedding_page(query).as_ref()));
    let storyboard = app.packager.storyboard(&packaged, sheet, viewer.client());
    match part {
        StoryboardFile::Image => {
            let etag = match sheet {
                SpriteSheet::Overview => format!("\"{}-sheet\"", packaged.id()),
                SpriteSheet::Every(seconds) => format!("\"{}-sheet-{seconds}\"", packaged.id()),
            };
            let image =
                async { app.packager.sprite_sheet(&packaged, &storyboard.await?, viewer.client()).await };
            ImageResponse { content_type: "image/jpeg", etag, policy }.answer(request, image).await
        }
        StoryboardFile::Json => {
            let url = format!("{}/{}/{address}", app.base_urls.images, viewer.playback);
            let text = json(&*storyboard.await.map_err(error::from_packager)?, url);
            Ok(send_changing_text(app, request, text.into(), "application/json", policy).await)
        }
        StoryboardFile::Vtt => {
            let text = vtt(&*storyboard.await.map_err(error::from_packager)?, &address);
            Ok(send_changing_text(app, request, text.into(), "text/vtt; charset=utf-8", policy).await)
        }
    }
}

/// Parses the sheet that a query selects. 422 names a wrong parameter.
fn parse(query: &str, kind: SheetKind) -> Result<SpriteSheet, ApiError> {
    let mut parameters = Parameters::of(query);
    let interval = match kind {
        SheetKind::Plain => None,
        SheetKind::Either => parameters.number("interval", 1..=INTERVAL_S_MAX, "seconds"),
        SheetKind::Advanced => {
            Some(parameters.number("interval", 1..=INTERVAL_S_MAX, "seconds").unwrap_or(INTERVAL_S_DEFAULT))
        }
    };
    parameters.into_result(interval.map_or(SpriteSheet::Overview, SpriteSheet::Every))
}

/// The address of the sheet, relative to its own folder.
fn sheet_url(sheet: SpriteSheet, query: &str) -> String {
    match sheet {
        SpriteSheet::Overview => format!("spritesheet.jpg{query}"),
        SpriteSheet::Every(seconds) => {
            let rest = query.replacen('?', "&", 1);
            format!("advanced-spritesheet.jpg?interval={seconds}{rest}")
        }
    }
}

/// The JSON form with a list of tiles, one of the two forms that the web player reads (C-179).
#[derive(Serialize)]
struct SheetView {
    url: String,
    tile_width: u32,
    tile_height: u32,
    /// In seconds.
    duration: f64,
    tiles: Vec<TileView>,
}

#[derive(Serialize)]
struct TileView {
    /// In seconds.
    start: u32,
    x: u32,
    y: u32,
}

fn json(storyboard: &Storyboard, url: String) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a duration of 12 h has 8 digits")]
    let duration = storyboard.duration_ms as f64 / 1000.0;
    let view = SheetView {
        url,
        tile_width: storyboard.tile_width,
        tile_height: storyboard.tile_height,
        duration,
        tiles: storyboard.tiles().map(|(start, x, y)| TileView { start, x, y }).collect(),
    };
    serde_json::to_string(&view).expect("numbers and texts are always JSON")
}

/// WebVTT whose cues name parts of the sheet (Media Fragments URI 1.0, 4.2.2). Players use it as a track of
/// thumbnails.
fn vtt(storyboard: &Storyboard, address: &str) -> String {
    let (width, height) = (storyboard.tile_width, storyboard.tile_height);
    let mut text = "WEBVTT\n".to_owned();
    for (start, x, y) in storyboard.tiles() {
        let start_ms = u64::from(start) * 1000;
        let end_ms = (start_ms + u64::from(storyboard.interval_s) * 1000).min(storyboard.duration_ms);
        let begun = text.len();
        cue(&mut text, (start_ms, end_ms.max(start_ms + 1)), address, [x, y, width, height]);
        debug_assert!(text.len() - begun <= CUE_BYTES_MAX, "a token or a page was not bounded");
    }
    text
}

fn cue(text: &mut String, (from_ms, to_ms): (u64, u64), address: &str, [x, y, width, height]: [u32; 4]) {
    let (from, to) = (time(from_ms), time(to_ms));
    let _ = write!(text, "\n{from} --> {to}\n{address}#xywh={x},{y},{width},{height}\n");
}

/// WebVTT, 3.4: hours, minutes, seconds, thousandths.
fn time(ms: u64) -> String {
    let seconds = ms / 1000;
    format!("{:02}:{:02}:{:02}.{:03}", seconds / 3600, seconds / 60 % 60, seconds % 60, ms % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sprite_sheet_interval_is_1_to_10_seconds() {
        let sheet = |query: &str, kind| parse(query, kind).ok();
        assert_eq!(sheet("", SheetKind::Advanced), Some(SpriteSheet::Every(10)));
        assert_eq!(sheet("interval=3&token=x", SheetKind::Advanced), Some(SpriteSheet::Every(3)));
        assert_eq!(sheet("interval=1", SheetKind::Either), Some(SpriteSheet::Every(1)));
        assert_eq!(sheet("", SheetKind::Either), Some(SpriteSheet::Overview));
        assert_eq!(sheet("interval=x", SheetKind::Plain), Some(SpriteSheet::Overview), "it has none");
        for query in ["interval=0", "interval=11", "interval=", "interval=1.5", "interval=-1", "interval=ten"]
        {
            assert_eq!(sheet(query, SheetKind::Advanced), None, "{query}");
            assert_eq!(sheet(query, SheetKind::Either), None, "{query}");
        }
    }

    #[test]
    fn sheet_url_carries_the_token() {
        assert_eq!(sheet_url(SpriteSheet::Overview, ""), "spritesheet.jpg");
        assert_eq!(sheet_url(SpriteSheet::Overview, "?token=a+b%26c"), "spritesheet.jpg?token=a+b%26c");
        assert_eq!(
            sheet_url(SpriteSheet::Every(5), "?token=e.f&page=x"),
            "advanced-spritesheet.jpg?interval=5&token=e.f&page=x"
        );
    }

    #[test]
    fn longest_cue_fits_cue_bytes_max() {
        let token = "x".repeat(TokenClaims::TOKEN_BYTES_MAX);
        for page in
            ["!".repeat(EmbeddingPage::LEN_MAX), "[1111:2222:3333:4444:5555:6666:7777:8888]".to_owned()]
        {
            let frame = EmbeddingPage::from_text(&page);
            assert_eq!(frame.to_string(), page);
            let address = sheet_url(SpriteSheet::Every(10), &forwarded_query(Some(&token), Some(&frame)));
            let mut text = String::new();
            cue(&mut text, (u64::MAX - 1, u64::MAX), &address, [u32::MAX; 4]);
            assert!(text.len() <= CUE_BYTES_MAX, "{}", text.len());
        }
    }

    #[test]
    fn webvtt_times_support_100_hours() {
        let check = |ms, expected| assert_eq!(time(ms), expected);
        check(0, "00:00:00.000");
        check(3_723_045, "01:02:03.045");
        check(360_000_000, "100:00:00.000");
    }
}
