//! The media of an operation.

use kinora_domain::{Media, MediaId};
use kinora_web::auth::Access;
use kinora_web::error::ApiError;

use crate::{DashboardState, error};

/// The media, if it is in the workspace of the request; 404 otherwise.
pub(crate) async fn find_media(app: &DashboardState, access: Access, id: MediaId) -> Result<Media, ApiError> {
    app.store.media(access.caller.workspace, id).await?.ok_or_else(error::media_not_found)
}
