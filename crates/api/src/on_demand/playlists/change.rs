//! The condition and the response that all changes of a playlist share.

use axum::response::Response;
use kinora_domain::{Media, Playlist};
use kinora_web::envelope::Data;
use kinora_web::preconditions::{Preconditions, TaggedResponse};

use super::view::PlaylistView;
use crate::ApiState;

/// The conditions of a request on a playlist, as `GET` shows it; `None` without any.
pub(super) fn condition(
    app: &ApiState,
    conditions: Preconditions,
) -> Option<impl Fn(&Playlist, &[Media]) -> bool + Send + 'static> {
    let state = app.clone();
    let has_any = !conditions.is_empty();
    has_any.then_some(move |playlist: &Playlist, media: &[Media]| {
        conditions.is_met(|| Data::ok(PlaylistView::new(playlist, media, &state.base_urls)))
    })
}

/// Responds with a changed playlist as `GET` does.
pub(super) fn playlist_response(app: &ApiState, (playlist, media): &(Playlist, Vec<Media>)) -> Response {
    TaggedResponse::of(&Data::ok(PlaylistView::new(playlist, media, &app.base_urls))).into_response()
}
