use axum::extract::State;
use kinora_domain::SigningKey;
use kinora_store::Page;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::auth::Reader;
use crate::envelope::{Data, Pagination};
use crate::error::ApiError;
use crate::extract::PageQuery;
use crate::openapi::schema;

/// A key in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedSigningKey")]
pub(super) struct KeyView {
    #[schemars(with = "schema::Id")]
    id: String,
    #[schemars(with = "schema::Instant")]
    created_at: String,
}

impl From<&SigningKey> for KeyView {
    fn from(key: &SigningKey) -> Self {
        Self { id: key.id.to_string(), created_at: key.created_at.to_string() }
    }
}

/// `GET /iam/signing-keys`: one page of the workspace's keys, by creation time.
pub(super) async fn list(
    State(app): State<App>,
    caller: Reader,
    query: PageQuery,
) -> Result<Data<Vec<KeyView>>, ApiError> {
    let page = Page { limit: query.limit, number: query.offset, newest_first: query.is_newest_first };
    let found = app.store.signing_key_page(caller.workspace, page).await?;
    let views = found.keys.iter().map(KeyView::from).collect();
    Ok(Data::page(views, Pagination::of(query, found.total)))
}
