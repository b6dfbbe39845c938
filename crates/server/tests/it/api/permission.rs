//! Permissions for changes of a media.

use kinora_domain::{DEVELOPMENT, PRODUCTION, Permission};
use serde_json::Value;

use crate::support::{TestApp, text};

/// An id without a media.
pub(super) const UNKNOWN: &str = "019a492c-41f3-7001-8203-040506070809";

/// Checks that only a read-write token of its workspace may change a media by `PATCH
/// /on-demand/{mediaId}/{operation}`.
///
/// `body` is a valid change, but the media does not change.
pub(super) async fn check_patch(app: &TestApp, media: &Value, operation: &str, body: &Value) {
    let id = text(&media["id"]);
    let path = |id: &str| format!("/v1/on-demand/{id}/{operation}");
    let patch = async |id| app.call("PATCH", &path(id)).json(body).send().await;
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let call = async |token| app.request("PATCH", &path(id)).token(token).json(body).send().await;
    assert_eq!(call(&reader).await.refusal(), (403, "forbidden".to_owned()));
    assert_eq!(app.request("PATCH", &path(id)).json(body).send().await.refusal().0, 401);
    let not_found = (404, "media workspace relation not found".to_owned());
    assert_eq!(call(&other_token).await.refusal(), not_found);
    assert_eq!(patch(UNKNOWN).await.refusal(), not_found);
    assert_eq!(patch("42").await.status, 422);
    let wrong = app.call("GET", &path(id)).send().await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("PATCH")));
    assert_eq!(app.get(id).await.data(), *media);
}
