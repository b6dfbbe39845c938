use axum::extract::State;
use kinora_domain::{Playlist, PlaylistContent};
use kinora_store::{Error, Tx};
use kinora_web::auth::Writer;
use kinora_web::envelope::Answer;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::JsonBody;
use kinora_web::once::Once;

use super::request;
use super::view::PlaylistView;
use crate::ApiState;
use crate::error;

/// `POST /on-demand/playlists`: a manual playlist without media yet, or a smart one with those that its dates
/// choose.
///
/// 201 with the playlist; 409 when another one of the workspace has the reference, 400 when there are as many
/// as there may be; 422 names each wrong field.
pub(super) async fn create(
    State(app): State<ApiState>,
    caller: Writer,
    once: Once,
    JsonBody(body): JsonBody,
) -> Result<Answer, ApiError> {
    let new = request::new_playlist(&body, caller.workspace)?;
    let playlist = Playlist::create(new, app.clock.now(), &*app.random);
    // A long look at the index is not for the one writer; what is chosen changes by itself anyway.
    let media = match &playlist.content {
        PlaylistContent::Manual(_) => Vec::new(),
        PlaylistContent::Smart(_) => app.store.chosen_media(&playlist).await?,
    };
    let here = app.clone();
    let work = async move |tx: &mut Tx| {
        tx.insert_playlist(&playlist).await.map_err(|error| refused(error, &playlist.reference_id))?;
        let view = PlaylistView::new(&playlist, &media, &here.addresses);
        Ok(Data::created(view, Vec::new()).into_answer())
    };
    once.write(&app.idempotency, work).await
}

fn refused(error: Error, reference: &str) -> ApiError {
    match error {
        Error::Taken { .. } => error::playlist_reference_taken(reference),
        Error::TooMany { .. } => error::too_many_playlists(Playlist::PER_WORKSPACE_MAX),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_too_many_is_a_limit_and_a_reference_that_is_taken_is_none() {
        let check = |error, expected: (u16, &str)| {
            let refused = refused(error, "r");
            assert_eq!((refused.status().as_u16(), refused.message()), expected);
        };
        check(Error::TooMany { what: "playlists" }, (400, "limit reached"));
        check(Error::Taken { what: "playlist reference" }, (409, "playlist create failed"));
    }
}
