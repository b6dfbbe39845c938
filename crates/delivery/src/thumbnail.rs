//! `GET {images}/{playbackId}/thumbnail.{jpg,png,webp}` (C-180, C-17, D-0081).

use axum::http::HeaderMap;
use axum::response::Response;
use kinora_packager::{Error, FitMode, Image, ImageFormat, Packaged, ThumbnailRequest};
use kinora_web::error::ApiError;

use super::image_query::{ImageViewer, Parameters};
use super::rendition::body;
use super::response::{CacheLifetime, CachePolicy, Content, ResponsePolicy, not_modified_by_tag};
use crate::DeliveryState;
use crate::error;

/// Longest side of an image, in pixels; larger ones are never made. The limit of the engine.
const SIDE_MAX: u32 = kinora_packager::IMAGE_SIDE_MAX;
/// Most pixels of an image that does not preserve the ratio of the video: those of the largest 16:9 image
/// that does.
const AREA_MAX: u64 = 4096 * 2304;
/// The values of `fit_mode`.
const FIT_MODES: [(&str, FitMode); 5] = [
    ("preserve", FitMode::Preserve),
    ("stretch", FitMode::Stretch),
    ("crop", FitMode::Crop),
    ("smartcrop", FitMode::Smartcrop),
    ("pad", FitMode::Pad),
];

/// File names of thumbnails.
pub(super) const NAMES: [&str; 3] = ["thumbnail.jpg", "thumbnail.png", "thumbnail.webp"];

fn kind(file: &str) -> Option<(ImageFormat, &'static str)> {
    let kinds = [
        (ImageFormat::Jpg, "image/jpeg"),
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Webp, "image/webp"),
    ];
    NAMES.iter().position(|name| *name == file).map(|at| kinds[at])
}

/// Sends one frame of a media as an image, made on the first request and cached.
pub(super) async fn thumbnail(
    app: &DeliveryState,
    viewer: ImageViewer<'_>,
    file: &str,
    query: &str,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let (format, content_type) = kind(file).ok_or_else(ApiError::no_such_path)?;
    let (granted, packaged) = viewer.authorize(app).await?;
    let options = parse(query, format)?;
    // The default time is the one that the owner chose, else the middle.
    let wanted = ThumbnailRequest { time_ms: options.time_ms.or(granted.media.thumbnail_ms), ..options };
    check_area(wanted, &packaged)?;
    let etag = format!(
        "\"{}-{}-{}-{}-{}{file}\"",
        packaged.id(),
        wanted.time_ms.map_or_else(|| "m".to_owned(), |time| time.to_string()),
        wanted.width.unwrap_or(0),
        wanted.height.unwrap_or(0),
        match wanted.fit {
            FitMode::Preserve => String::new(),
            other =>
                FIT_MODES.iter().find(|(_, fit)| *fit == other).map_or("", |(name, _)| name).to_owned() + "-",
        },
    );
    // The address does not name the source, so cached copies must expire.
    let image_response =
        ImageResponse { content_type, etag, policy: granted.response_policy(app, CacheLifetime::Minute) };
    image_response.answer(request, app.packager.thumbnail(&packaged, wanted, viewer.client())).await
}

/// How a thumbnail, a clip or a sprite sheet is sent.
pub(super) struct ImageResponse {
    /// MIME type.
    pub(super) content_type: &'static str,
    /// Identifies the request, for this index; with its quotes.
    pub(super) etag: String,
    /// Cache policy and account.
    pub(super) policy: ResponsePolicy,
}

impl ImageResponse {
    /// Responds with the image; nothing is made for a client that has it.
    pub(super) async fn answer(
        self,
        request: &HeaderMap,
        image_future: impl Future<Output = Result<Image, Error>>,
    ) -> Result<Response, ApiError> {
        if let Some(unchanged) = not_modified_by_tag(request, &self.etag, self.policy.cache_policy) {
            return Ok(unchanged);
        }
        let image = image_future.await.map_err(error::from_packager)?;
        let Self { content_type, etag, policy } =
            if image.is_placeholder() { self.into_placeholder() } else { self };
        let content = image.into_content();
        let response = Content { content_type, etag, policy, len: content.total_len(), playing_time_us: 0 };
        Ok(response.answer(request, |range| body(content, range)))
    }

    /// The response for a stand-in of the requested image: it has another tag, and is not cached.
    fn into_placeholder(self) -> Self {
        let etag = format!("{}-instead\"", self.etag.trim_end_matches('"'));
        Self {
            etag,
            policy: ResponsePolicy { cache_policy: CachePolicy::from("no-store"), ..self.policy },
            ..self
        }
    }
}

/// Parses the parameters; others, such as a token, are ignored. 422 names each wrong one.
fn parse(query: &str, format: ImageFormat) -> Result<ThumbnailRequest, ApiError> {
    let mut parameters = Parameters::of(query);
    let side = 1..=SIDE_MAX;
    let options = ThumbnailRequest {
        time_ms: parameters.time_ms("time"),
        width: parameters.number("width", side.clone(), "pixels"),
        height: parameters.number("height", side, "pixels"),
        fit: parameters.word("fit_mode", &FIT_MODES).unwrap_or(FitMode::Preserve),
        format,
        is_poster: false,
    };
    let nothing = (None, None, None, FitMode::Preserve);
    let is_poster = (options.time_ms, options.width, options.height, options.fit) == nothing;
    parameters.into_result(ThumbnailRequest { is_poster, ..options })
}

/// Rejects an image that takes too much memory, with 422. An image that preserves the ratio is never larger
/// than the video; others may be requested in any size.
fn check_area(options: ThumbnailRequest, packaged: &Packaged) -> Result<(), ApiError> {
    let Some((width, height)) = packaged.default_image_size().filter(|_| options.fit != FitMode::Preserve)
    else {
        return Ok(());
    };
    let [width, height] = [options.width.unwrap_or(width), options.height.unwrap_or(height)].map(u64::from);
    if width * height <= AREA_MAX {
        return Ok(());
    }
    let (field, other, most) = match options.width {
        Some(_) => ("width", height, AREA_MAX / height),
        None => ("height", width, AREA_MAX / width),
    };
    let message =
        format!("must be at most {most} when the other side has {other} pixels; reduce one of them");
    Err(ApiError::invalid_field(field, &message))
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;

    #[test]
    fn placeholder_is_not_cached_and_has_own_etag() {
        let policy = ResponsePolicy::unmetered(CacheLifetime::Minute.public());
        let response = ImageResponse { content_type: "image/png", etag: "\"a-1\"".to_owned(), policy };
        let ImageResponse { content_type, etag, policy: terms } = response.into_placeholder();
        let mut headers = HeaderMap::new();
        terms.cache_policy.apply(&mut headers);
        assert_eq!((content_type, etag.as_str()), ("image/png", "\"a-1-instead\""));
        assert_eq!(headers[header::CACHE_CONTROL], "no-store");
    }

    #[test]
    fn parameters_are_bounded_unknown_ones_ignored() {
        let read = |query: &str| parse(query, ImageFormat::Jpg).ok();
        let base = ThumbnailRequest {
            time_ms: None,
            width: None,
            height: None,
            fit: FitMode::Preserve,
            format: ImageFormat::Jpg,
            is_poster: false,
        };
        assert_eq!(read("token=x"), Some(ThumbnailRequest { is_poster: true, ..base }));
        assert_eq!(
            read("time=1.25&width=1&height=200&fit_mode=preserve&token=x"),
            Some(ThumbnailRequest { time_ms: Some(1250), width: Some(1), height: Some(200), ..base })
        );
        for (name, fit) in FIT_MODES {
            let is_poster = fit == FitMode::Preserve;
            assert_eq!(read(&format!("fit_mode={name}")), Some(ThumbnailRequest { fit, is_poster, ..base }));
        }
        for query in [
            "time=-1",
            "time=x",
            "time=NaN",
            "time=inf",
            "time=1e9",
            "width=0",
            "height=99999",
            "width=1.5",
            "fit_mode=Crop",
            "fit_mode=",
            "fit_mode=contain",
        ] {
            assert_eq!(read(query), None, "{query}");
        }
    }
}
