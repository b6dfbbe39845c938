//! What the changes of a playlist share: their condition and their response.

use axum::response::Response;
use kinora_domain::{Media, Playlist};
use kinora_web::condition::{Conditions, Tagged};
use kinora_web::envelope::Data;

use super::view::PlaylistView;
use crate::ApiState;

/// The conditions of a request on a playlist, as `GET` shows it; `None` without any.
pub(super) fn condition(
    app: &ApiState,
    conditions: Conditions,
) -> Option<impl Fn(&Playlist, &[Media]) -> bool + Send + 'static> {
    let here = app.clone();
    let has_any = !conditions.is_empty();
    has_any.then_some(move |playlist: &Playlist, media: &[Media]| {
        conditions.hold(|| Data::ok(PlaylistView::new(playlist, media, &here.addresses)))
    })
}

/// Responds with a changed playlist as `GET` does.
pub(super) fn changed(app: &ApiState, (playlist, media): &(Playlist, Vec<Media>)) -> Response {
    Tagged::of(&Data::ok(PlaylistView::new(playlist, media, &app.addresses))).into_response()
}
