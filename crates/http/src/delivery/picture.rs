//! `GET {images}/{playbackId}/thumbnail.{jpg,png,webp}` (contract 4.4, decision 17).

use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::Response;
use kinora_domain::PlaybackId;
use kinora_packager::{PictureFormat, PictureRequest};

use super::access::grant;
use super::send::{Caching, Content};
use super::viewing::Viewing;
use crate::app::App;
use crate::error::{ApiError, FieldError};

/// Pictures larger than that are never made; the limit of the engine.
const SIDE_MAX: u32 = kinora_packager::PICTURE_SIDE_MAX;
/// Longest media that is accepted (contract section 8: 12 hours), with room; a time past the end is the last frame.
const TIME_S_MAX: f64 = 1_000_000.0;

/// How pictures are called.
pub(super) const NAMES: [&str; 3] = ["thumbnail.jpg", "thumbnail.png", "thumbnail.webp"];

fn kind(file: &str) -> Option<(PictureFormat, &'static str)> {
    let kinds = [
        (PictureFormat::Jpg, "image/jpeg"),
        (PictureFormat::Png, "image/png"),
        (PictureFormat::Webp, "image/webp"),
    ];
    NAMES.iter().position(|name| *name == file).map(|at| kinds[at])
}

/// One frame of a media as a picture, made on the first request and kept.
pub(super) async fn thumbnail(
    app: &App,
    playback: PlaybackId,
    file: &str,
    query: &str,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let (format, content_type) = kind(file).ok_or_else(ApiError::no_such_path)?;
    let wanted = parse(query, format)?;
    let granted = grant(app, playback, &Viewing::by_token(query, request)).await?;
    let packaged = app.packager.packaged(granted.source).await?;
    let picture = app.packager.picture(&packaged, wanted).await?;
    let etag = format!(
        "\"{}-{}-{}-{}-{file}\"",
        packaged.id(),
        wanted.time_ms.map_or_else(|| "m".to_owned(), |time| time.to_string()),
        wanted.width.unwrap_or(0),
        wanted.height.unwrap_or(0),
    );
    // Its address does not name its source, so what is kept of it grows old.
    let caching = granted.caching(Caching::Minute);
    let content = Content { content_type, etag, caching, len: picture.len() as u64 };
    Ok(content.answer(request, |range| {
        let at = |position: u64| usize::try_from(position).map_or(picture.len(), |at| at.min(picture.len()));
        Body::from(picture.slice(at(range.start)..at(range.end)))
    }))
}

/// The parameters; others, such as a token, belong to somebody else.
fn parse(query: &str, format: PictureFormat) -> Result<PictureRequest, ApiError> {
    let mut wanted = PictureRequest { time_ms: None, width: None, height: None, format };
    let mut problems = Vec::new();
    let mut refuse =
        |field: &str, message: String| problems.push(FieldError { field: field.into(), message });
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match name.as_ref() {
            "time" => match value.parse::<f64>() {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the range was checked"
                )]
                Ok(seconds) if (0.0..=TIME_S_MAX).contains(&seconds) => {
                    wanted.time_ms = Some((seconds * 1000.0) as u64)
                }
                _ => refuse("time", format!("must be seconds from 0 to {TIME_S_MAX}")),
            },
            "width" | "height" => match value.parse::<u32>() {
                Ok(side) if (1..=SIDE_MAX).contains(&side) => {
                    *(if name == "width" { &mut wanted.width } else { &mut wanted.height }) = Some(side);
                }
                _ => refuse(&name, format!("must be a whole number of pixels from 1 to {SIDE_MAX}")),
            },
            "fit_mode" if value != "preserve" => {
                refuse("fit_mode", "only preserve is supported yet".to_owned())
            }
            _ => {}
        }
    }
    if problems.is_empty() { Ok(wanted) } else { Err(ApiError::invalid(problems)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_bounds_and_strangers_are_ignored() {
        let read = |query| parse(query, PictureFormat::Jpg).ok();
        let base = PictureRequest { time_ms: None, width: None, height: None, format: PictureFormat::Jpg };
        assert_eq!(read(""), Some(base));
        assert_eq!(
            read("time=1.25&width=1&height=200&fit_mode=preserve&token=x"),
            Some(PictureRequest { time_ms: Some(1250), width: Some(1), height: Some(200), ..base })
        );
        for query in [
            "time=-1",
            "time=x",
            "time=NaN",
            "time=inf",
            "time=1e9",
            "width=0",
            "height=99999",
            "width=1.5",
            "fit_mode=crop",
        ] {
            assert_eq!(read(query), None, "{query}");
        }
    }
}
