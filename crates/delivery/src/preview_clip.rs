//! `GET {images}/{playbackId}/clip.{gif,webp}` (C-175, C-18).

use axum::http::HeaderMap;
use axum::response::Response;
use kinora_packager::{CLIP_FPS_MAX, CLIP_WIDTH_MAX, ClipFormat, ClipRequest};
use kinora_web::error::ApiError;

use super::image_query::{ImageViewer, Parameters};
use super::response::CacheLifetime;
use super::thumbnail::ImageResponse;
use crate::DeliveryState;

/// Longest clip, in milliseconds.
const LENGTH_MS_MAX: u64 = 10_000;
/// Default length, in milliseconds.
const LENGTH_MS_DEFAULT: u64 = 5000;
/// Default width, in pixels.
const WIDTH_DEFAULT: u32 = 320;
/// Default frame rate, in frames per second.
const FPS_DEFAULT: u32 = 15;

/// File names of clips.
pub(super) const NAMES: [&str; 2] = ["clip.gif", "clip.webp"];

fn kind(file: &str) -> Option<(ClipFormat, &'static str)> {
    let kinds = [(ClipFormat::Gif, "image/gif"), (ClipFormat::Webp, "image/webp")];
    NAMES.iter().position(|name| *name == file).map(|at| kinds[at])
}

/// Sends some seconds of a media as an animated image, made on the first request and cached.
pub(super) async fn preview_clip(
    app: &DeliveryState,
    viewer: ImageViewer<'_>,
    file: &str,
    query: &str,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let (format, content_type) = kind(file).ok_or_else(ApiError::no_such_path)?;
    let (granted, packaged) = viewer.authorize(app).await?;
    let clip = parse(query, format)?;
    if let Some(end_ms) = packaged.video_end_ms().filter(|end_ms| *end_ms <= clip.start_ms) {
        let end = format!("{}.{:03}", end_ms / 1000, end_ms % 1000);
        return Err(ApiError::invalid_field(
            "start",
            format!("must be before the end of the media, {end} s"),
        ));
    }
    let ClipRequest { start_ms, end_ms, width, fps, .. } = clip;
    let etag = format!("\"{}-{start_ms}-{end_ms}-{width}-{fps}-{file}\"", packaged.id());
    let image_response =
        ImageResponse { content_type, etag, policy: granted.response_policy(app, CacheLifetime::Minute) };
    image_response.answer(request, app.packager.clip(&packaged, clip, viewer.client())).await
}

/// Parses the parameters; others, such as a token, are ignored. 422 names each wrong one.
fn parse(query: &str, format: ClipFormat) -> Result<ClipRequest, ApiError> {
    let mut parameters = Parameters::of(query);
    let (start, end) = (parameters.time_ms("start"), parameters.time_ms("end"));
    let width = parameters.number("width", 1..=CLIP_WIDTH_MAX, "pixels").unwrap_or(WIDTH_DEFAULT);
    let fps = parameters.number("fps", 1..=CLIP_FPS_MAX, "frames per second").unwrap_or(FPS_DEFAULT);
    let start_ms = start.unwrap_or(0);
    if let Some(end_ms) = end {
        if end_ms <= start_ms {
            parameters.add_problem("end", "must be after start (default: 0)");
        } else if LENGTH_MS_MAX < end_ms - start_ms {
            parameters.add_problem("end", "must be at most 10 s after start (default: 0)");
        }
    }
    let end_ms = end.unwrap_or(start_ms + LENGTH_MS_DEFAULT);
    parameters.into_result(ClipRequest { start_ms, end_ms, width, fps, format })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_bounded_unknown_ones_ignored() {
        let read = |query: &str| parse(query, ClipFormat::Gif).ok();
        let of = |start_ms, end_ms, width, fps| {
            Some(ClipRequest { start_ms, end_ms, width, fps, format: ClipFormat::Gif })
        };
        assert_eq!(read("token=x"), of(0, 5000, 320, 15));
        assert_eq!(read("start=7.25"), of(7250, 12_250, 320, 15));
        assert_eq!(read("start=3&end=13&width=640&fps=30"), of(3000, 13_000, 640, 30));
        assert_eq!(read("end=0.5&width=1&fps=1"), of(0, 500, 1, 1));
        for query in [
            "start=-1",
            "start=x",
            "end=0",
            "end=10.001",
            "start=5&end=5",
            "start=5&end=4",
            "start=5&end=16",
            "width=0",
            "width=641",
            "width=",
            "fps=0",
            "fps=31",
            "fps=7.5",
        ] {
            assert_eq!(read(query), None, "{query}");
        }
    }
}
