//! Sheets of small pictures, and what tells players where each lies: `GET
//! {images}/{playbackId}/spritesheet.{jpg,json}`, `advanced-spritesheet.{jpg,json}` and `storyboard.vtt`
//! (C-175, C-179, D-0082).

use std::fmt::Write as _;

use axum::http::HeaderMap;
use axum::response::Response;
use kinora_domain::{Frame, TokenClaims};
use kinora_packager::{Sheet, Storyboard};
use kinora_web::error::ApiError;
use serde::Serialize;

use super::parameter::{Parameters, Viewer};
use super::picture::Answer;
use super::send::{Caching, send_changing_text};
use super::viewing::{self, handed_on};
use crate::DeliveryState;
use crate::error;

/// Seconds between two tiles that may be asked for (C-175).
const INTERVAL_S_MAX: u32 = 10;
/// Where none are.
const INTERVAL_S: u32 = 10;

/// Longest cue, in bytes: its times, where its tile lies, and the address of the sheet. That has a token,
/// which needs no escapes where it holds, and a page, each byte of which may. As a sheet has 1,000 tiles at
/// most (D-0082), a text has 10 MB at most, and 1 MB with a token such as ours.
const CUE_BYTES_MAX: usize = TokenClaims::TOKEN_BYTES_MAX + 3 * Frame::LEN_MAX + 512;

/// What of a storyboard is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Picture,
    Json,
    Vtt,
}

/// Which sheets a file is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The overview.
    Plain,
    /// The one with an interval.
    Advanced,
    /// The one with an interval where one is said, else the overview.
    Either,
}

/// How the parts of storyboards are called.
pub(super) const NAMES: [&str; 5] = [
    "spritesheet.jpg",
    "spritesheet.json",
    "advanced-spritesheet.jpg",
    "advanced-spritesheet.json",
    "storyboard.vtt",
];

fn file_of(file: &str) -> Option<(Kind, Part)> {
    let files = [
        (Kind::Plain, Part::Picture),
        (Kind::Plain, Part::Json),
        (Kind::Advanced, Part::Picture),
        (Kind::Advanced, Part::Json),
        (Kind::Either, Part::Vtt),
    ];
    NAMES.iter().position(|name| *name == file).map(|at| files[at])
}

/// The sheet, made on the first request and kept, or the text that says where its tiles lie, for which no
/// sheet is made.
pub(super) async fn storyboard(
    app: &DeliveryState,
    viewer: Viewer<'_>,
    file: &str,
    query: &str,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let (kind, part) = file_of(file).ok_or_else(ApiError::no_such_path)?;
    let (granted, packaged) = viewer.look(app).await?;
    let sheet = parse(query, kind)?;
    let terms = granted.terms(app, Caching::Minute);
    // A tile is named a thousand times: a token goes along only where it let the viewer in.
    let token = granted.token_of(viewer.viewing);
    let address = address(sheet, &handed_on(token, viewing::frame(query).as_ref()));
    let storyboard = app.packager.storyboard(&packaged, sheet, viewer.asker());
    match part {
        Part::Picture => {
            let etag = match sheet {
                Sheet::Overview => format!("\"{}-sheet\"", packaged.id()),
                Sheet::Every(seconds) => format!("\"{}-sheet-{seconds}\"", packaged.id()),
            };
            let picture = async { app.packager.sheet(&packaged, &storyboard.await?, viewer.asker()).await };
            Answer { content_type: "image/jpeg", etag, terms }.of(request, picture).await
        }
        Part::Json => {
            let url = format!("{}/{}/{address}", app.addresses.images, viewer.playback);
            let text = json(&*storyboard.await.map_err(error::from_packager)?, url);
            Ok(send_changing_text(app, request, text.into(), "application/json", terms).await)
        }
        Part::Vtt => {
            let text = vtt(&*storyboard.await.map_err(error::from_packager)?, &address);
            Ok(send_changing_text(app, request, text.into(), "text/vtt; charset=utf-8", terms).await)
        }
    }
}

/// The sheet.
fn parse(query: &str, kind: Kind) -> Result<Sheet, ApiError> {
    let mut parameters = Parameters::of(query);
    let interval = match kind {
        Kind::Plain => None,
        Kind::Either => parameters.number("interval", 1..=INTERVAL_S_MAX, "seconds"),
        Kind::Advanced => {
            Some(parameters.number("interval", 1..=INTERVAL_S_MAX, "seconds").unwrap_or(INTERVAL_S))
        }
    };
    parameters.into_result(interval.map_or(Sheet::Overview, Sheet::Every))
}

/// The sheet as seen from beside it.
fn address(sheet: Sheet, handed_on: &str) -> String {
    match sheet {
        Sheet::Overview => format!("spritesheet.jpg{handed_on}"),
        Sheet::Every(seconds) => {
            let rest = handed_on.replacen('?', "&", 1);
            format!("advanced-spritesheet.jpg?interval={seconds}{rest}")
        }
    }
}

/// The form with a list of tiles, of the two that the web player reads (C-179).
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

/// WebVTT whose cues name parts of the sheet (Media Fragments URI 1.0, 4.2.2): what players take as a track
/// of thumbnails.
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
    fn an_interval_is_a_whole_number_of_seconds_from_1_to_10() {
        let sheet = |query: &str, kind| parse(query, kind).ok();
        assert_eq!(sheet("", Kind::Advanced), Some(Sheet::Every(10)));
        assert_eq!(sheet("interval=3&token=x", Kind::Advanced), Some(Sheet::Every(3)));
        assert_eq!(sheet("interval=1", Kind::Either), Some(Sheet::Every(1)));
        assert_eq!(sheet("", Kind::Either), Some(Sheet::Overview));
        assert_eq!(sheet("interval=x", Kind::Plain), Some(Sheet::Overview), "it has none");
        for query in ["interval=0", "interval=11", "interval=", "interval=1.5", "interval=-1", "interval=ten"]
        {
            assert_eq!(sheet(query, Kind::Advanced), None, "{query}");
            assert_eq!(sheet(query, Kind::Either), None, "{query}");
        }
    }

    #[test]
    fn the_sheet_has_the_token_of_what_names_it() {
        assert_eq!(address(Sheet::Overview, ""), "spritesheet.jpg");
        assert_eq!(address(Sheet::Overview, "?token=a+b%26c"), "spritesheet.jpg?token=a+b%26c");
        assert_eq!(
            address(Sheet::Every(5), "?token=e.f&page=x"),
            "advanced-spritesheet.jpg?interval=5&token=e.f&page=x"
        );
    }

    #[test]
    fn a_cue_is_bounded_as_its_token_and_its_page_are() {
        let token = "x".repeat(TokenClaims::TOKEN_BYTES_MAX);
        for page in ["!".repeat(Frame::LEN_MAX), "[1111:2222:3333:4444:5555:6666:7777:8888]".to_owned()] {
            let frame = Frame::of_text(&page);
            assert_eq!(frame.to_string(), page);
            let address = address(Sheet::Every(10), &handed_on(Some(&token), Some(&frame)));
            let mut text = String::new();
            cue(&mut text, (u64::MAX - 1, u64::MAX), &address, [u32::MAX; 4]);
            assert!(text.len() <= CUE_BYTES_MAX, "{}", text.len());
        }
    }

    #[test]
    fn times_have_two_digits_for_hours_and_more_where_they_need_them() {
        let check = |ms, expected| assert_eq!(time(ms), expected);
        check(0, "00:00:00.000");
        check(3_723_045, "01:02:03.045");
        check(360_000_000, "100:00:00.000");
    }
}
