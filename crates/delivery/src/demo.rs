//! `GET /demo/clip.mp4`: the clip that `kinora demo` ingests, while there is one.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use kinora_web::error::ApiError;

use super::response::{CacheLifetime, Content, ResponsePolicy};
use crate::DeliveryState;
use crate::error;

pub(super) async fn clip(State(app): State<DeliveryState>, request: HeaderMap) -> Result<Response, ApiError> {
    let Some(reader) = app.packager.demo_clip().await.map_err(error::from_packager)? else {
        return Err(ApiError::no_such_path());
    };
    let content = Content {
        content_type: "video/mp4",
        etag: format!("\"demo-{}\"", reader.len()),
        policy: ResponsePolicy::unmetered(CacheLifetime::Short.public()),
        len: reader.len(),
        playing_time_us: 0,
    };
    Ok(content.answer(&request, |range| match reader.stream(range) {
        Ok(stream) => Body::from_stream(stream),
        Err(_) => Body::empty(), // unreachable: the range was cut to the length
    }))
}
