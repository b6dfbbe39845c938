//! `GET {images}/{playbackId}/thumbnail.{jpg,png,webp}` (C-180, C-17, D-0081).

use axum::http::HeaderMap;
use axum::response::Response;
use kinora_packager::{Error, FitMode, Packaged, Picture, PictureFormat, PictureRequest};
use kinora_web::error::ApiError;

use super::child::body;
use super::parameter::{Parameters, Viewer};
use super::send::{Caching, Content, Keeping, Terms, had};
use crate::DeliveryState;
use crate::error;

/// Pictures larger than that are never made; the limit of the engine.
const SIDE_MAX: u32 = kinora_packager::PICTURE_SIDE_MAX;
/// Pixels of the largest picture that has a size of its own: as many as the largest of 16:9 has that keeps
/// its ratio.
const AREA_MAX: u64 = 4096 * 2304;
/// How `fit_mode` is written.
const FIT_MODES: [(&str, FitMode); 5] = [
    ("preserve", FitMode::Preserve),
    ("stretch", FitMode::Stretch),
    ("crop", FitMode::Crop),
    ("smartcrop", FitMode::Smartcrop),
    ("pad", FitMode::Pad),
];

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
    app: &DeliveryState,
    viewer: Viewer<'_>,
    file: &str,
    query: &str,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let (format, content_type) = kind(file).ok_or_else(ApiError::no_such_path)?;
    let (granted, packaged) = viewer.look(app).await?;
    let wanted = parse(query, format)?;
    // Without a time the one its owner chose, and where none was chosen the middle.
    let wanted = PictureRequest { time_ms: wanted.time_ms.or(granted.offer.thumbnail_ms), ..wanted };
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
    // Its address does not name its source, so what is kept of it grows old.
    let answer = Answer { content_type, etag, terms: granted.terms(app, Caching::Minute) };
    answer.of(request, app.packager.picture(&packaged, wanted, viewer.asker())).await
}

/// How a picture, a clip or a sheet is sent.
pub(super) struct Answer {
    /// MIME type.
    pub(super) content_type: &'static str,
    /// Names what was asked for, of this index; with its quotes.
    pub(super) etag: String,
    /// How it may be kept, and for whom it counts.
    pub(super) terms: Terms,
}

impl Answer {
    /// Nothing is made for a client that has it.
    pub(super) async fn of(
        self,
        request: &HeaderMap,
        made: impl Future<Output = Result<Picture, Error>>,
    ) -> Result<Response, ApiError> {
        if let Some(had) = had(request, &self.etag, self.terms.keeping) {
            return Ok(had);
        }
        let picture = made.await.map_err(error::from_packager)?;
        let Self { content_type, etag, terms } = if picture.is_stand_in() { self.instead() } else { self };
        let content = picture.into_content();
        let whole = Content { content_type, etag, terms, len: content.total_len(), plays_us: 0 };
        Ok(whole.answer(request, |range| body(content, range)))
    }

    /// Of another picture than was asked for: its tag is another one, and nobody keeps it.
    fn instead(self) -> Self {
        let etag = format!("{}-instead\"", self.etag.trim_end_matches('"'));
        Self { etag, terms: Terms { keeping: Keeping::from("no-store"), ..self.terms }, ..self }
    }
}

/// The parameters; others, such as a token, belong to somebody else.
fn parse(query: &str, format: PictureFormat) -> Result<PictureRequest, ApiError> {
    let mut parameters = Parameters::of(query);
    let side = 1..=SIDE_MAX;
    let wanted = PictureRequest {
        time_ms: parameters.time_ms("time"),
        width: parameters.number("width", side.clone(), "pixels"),
        height: parameters.number("height", side, "pixels"),
        fit: parameters.word("fit_mode", &FIT_MODES).unwrap_or(FitMode::Preserve),
        format,
        is_poster: false,
    };
    let nothing = (None, None, None, FitMode::Preserve);
    let is_poster = (wanted.time_ms, wanted.width, wanted.height, wanted.fit) == nothing;
    parameters.into_result(PictureRequest { is_poster, ..wanted })
}

/// A picture that keeps its ratio is never larger than the video; any other may be asked for in sizes that
/// take too much memory.
fn check_area(wanted: PictureRequest, packaged: &Packaged) -> Result<(), ApiError> {
    let Some((width, height)) = packaged.picture_size().filter(|_| wanted.fit != FitMode::Preserve) else {
        return Ok(());
    };
    let [width, height] = [wanted.width.unwrap_or(width), wanted.height.unwrap_or(height)].map(u64::from);
    if width * height <= AREA_MAX {
        return Ok(());
    }
    let (field, other, most) = match wanted.width {
        Some(_) => ("width", height, AREA_MAX / height),
        None => ("height", width, AREA_MAX / width),
    };
    let message =
        format!("must be at most {most} beside {other} pixels on the other side, or ask for less of both");
    Err(ApiError::invalid_field(field, &message))
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;

    #[test]
    fn what_is_sent_instead_is_kept_by_nobody_and_has_a_tag_of_its_own() {
        let terms = Terms::of_nobody(Caching::Minute.for_everybody());
        let asked = Answer { content_type: "image/png", etag: "\"a-1\"".to_owned(), terms };
        let Answer { content_type, etag, terms } = asked.instead();
        let mut headers = HeaderMap::new();
        terms.keeping.put(&mut headers);
        assert_eq!((content_type, etag.as_str()), ("image/png", "\"a-1-instead\""));
        assert_eq!(headers[header::CACHE_CONTROL], "no-store");
    }

    #[test]
    fn parameters_have_bounds_and_strangers_are_ignored() {
        let read = |query: &str| parse(query, PictureFormat::Jpg).ok();
        let base = PictureRequest {
            time_ms: None,
            width: None,
            height: None,
            fit: FitMode::Preserve,
            format: PictureFormat::Jpg,
            is_poster: false,
        };
        assert_eq!(read("token=x"), Some(PictureRequest { is_poster: true, ..base }));
        assert_eq!(
            read("time=1.25&width=1&height=200&fit_mode=preserve&token=x"),
            Some(PictureRequest { time_ms: Some(1250), width: Some(1), height: Some(200), ..base })
        );
        for (name, fit) in FIT_MODES {
            let is_poster = fit == FitMode::Preserve;
            assert_eq!(read(&format!("fit_mode={name}")), Some(PictureRequest { fit, is_poster, ..base }));
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
