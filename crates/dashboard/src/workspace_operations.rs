//! The operations of one workspace that only the dashboard has, beside those of the API at the same prefix.
//!
//! [`protect_mount`](crate::protect_mount) checks session and workspace and inserts the
//! [`Access`](kinora_web::auth::Access) of the person; each row names the action that a role needs.

use axum::Router;
use axum::routing::on;
use kinora_domain::Action::MediaSee;

use crate::operations::Method::{Get, Post};
use crate::operations::{Operation, open, router_of};
use crate::{DashboardState, MOUNT_PREFIX, events, find, passes, playback_check, renditions, still_image};

/// All operations. None of them changes a row.
static TABLE: [Operation; 6] = [
    open(Get, "/find", MediaSee, |method| on(method, find::find)),
    open(Get, "/media/{mediaId}/events", MediaSee, |method| on(method, events::list)),
    open(Post, "/media/{mediaId}/pass", MediaSee, |method| on(method, passes::create)),
    open(Get, "/media/{mediaId}/picture.jpg", MediaSee, |method| on(method, still_image::read)),
    open(Post, "/media/{mediaId}/playback-ids/{playbackId}/check", MediaSee, |method| {
        on(method, playback_check::check)
    }),
    open(Get, "/media/{mediaId}/renditions", MediaSee, |method| on(method, renditions::list)),
];

/// The table of operations, with paths below [`MOUNT_PREFIX`].
pub fn workspace_operations() -> &'static [Operation] {
    &TABLE
}

/// The routes of all operations, each behind the check of its role. They need the
/// [`CurrentSession`](crate::authenticate::CurrentSession) in the request.
pub(crate) fn router(state: &DashboardState) -> Router {
    router_of(&TABLE, MOUNT_PREFIX, state).with_state(state.clone())
}
