//! The still image of a media, for people who may see the media.

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use kinora_delivery::StillImage;
use kinora_domain::MediaId;
use kinora_web::auth::Access;
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;
use kinora_web::fields::Problems;
use kinora_web::pagination::ListQuery;

use crate::DashboardState;
use crate::media::find_media;
use crate::parameters::{or_problem, whole_number};
use crate::request_origin::Client;

/// The width without a parameter, in pixels: twice that of a card of the library.
const WIDTH_DEFAULT: u32 = 640;
/// The largest width, in pixels: that of a full-screen player on most screens.
const WIDTH_MAX: u32 = 1920;
/// Images have multiples of this width: requests for all widths would otherwise make and store 1,920 images
/// of a media, and evict those of others.
const WIDTH_STEP: u32 = 160;

/// `GET /media/{mediaId}/picture.jpg?width=`: one frame of the video as JPEG, with any playback ID or
/// none. The width is rounded up to a multiple of 160 pixels. It counts as no delivery.
///
/// 404 for a media of another workspace, without video, and while it is not ready.
pub(crate) async fn read(
    State(app): State<DashboardState>,
    Extension(access): Extension<Access>,
    PathId(id): PathId<MediaId>,
    client: Client,
    query: ListQuery,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let width = width_of(&query)?;
    let media = find_media(&app, access, id).await?;
    let still_image = StillImage { media: &media, width, address: client.address.0 };
    kinora_delivery::still_image(&app.delivery, still_image, &request).await
}

/// The width, rounded up; 422 for one out of range. Other parameters are ignored: a page may add one to load
/// the image again.
fn width_of(query: &ListQuery) -> Result<u32, ApiError> {
    let problems = Problems::default();
    let width = query.single_value("width", &problems).and_then(|text| {
        let problem = format!("must be a whole number of pixels from 1 to {WIDTH_MAX}");
        or_problem(whole_number(text, 1..=WIDTH_MAX), "width", &problem, &problems)
    });
    problems.into_result(Some(width.unwrap_or(WIDTH_DEFAULT).next_multiple_of(WIDTH_STEP)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn width_is_rounded_up_to_one_of_twelve() {
        let width = |query: &str| {
            width_of(&ListQuery::of("/picture.jpg", query)).map_err(|error| error.fields().len())
        };
        for (query, expected) in [("", 640), ("width=1", 160), ("width=160", 160), ("width=161", 320)] {
            assert_eq!(width(query), Ok(expected), "{query}");
        }
        let all: BTreeSet<_> =
            (1..=WIDTH_MAX).map(|pixels| width(&format!("width={pixels}")).unwrap()).collect();
        assert_eq!((all.len(), all.last()), (12, Some(&WIDTH_MAX)));
        assert_eq!(width("width=%2B5"), Err(1));
    }
}
