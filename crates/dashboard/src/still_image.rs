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
use crate::request_origin::Client;

/// The width without a parameter, in pixels: twice that of a card of the library.
const WIDTH_DEFAULT: u32 = 640;
/// The largest width, in pixels: that of a full-screen player on most screens.
const WIDTH_MAX: u32 = 1920;

/// `GET /media/{mediaId}/picture.jpg?width=`: one frame of the video as JPEG, with any playback ID or
/// none. It counts as no delivery.
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

/// The width; 422 for one out of range. Other parameters are ignored: a page may add one to load the image
/// anew.
fn width_of(query: &ListQuery) -> Result<u32, ApiError> {
    let problems = Problems::default();
    let width = query.single_value("width", &problems).map(|text| {
        let width = text.parse().ok().filter(|width| (1..=WIDTH_MAX).contains(width));
        if width.is_none() {
            problems.add("width", format!("must be a whole number of pixels from 1 to {WIDTH_MAX}"));
        }
        width
    });
    problems.into_result(width.unwrap_or(Some(WIDTH_DEFAULT)))
}
