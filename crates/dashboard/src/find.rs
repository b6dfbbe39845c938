//! Finds objects of a workspace: by any id, or media by the beginning of their title.

use axum::Extension;
use axum::extract::State;
use kinora_domain::{Media, MediaId, MediaSettings};
use kinora_store::{FoundKind, FoundObject, MediaFilter, Page};
use kinora_web::auth::Access;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::fields::Problems;
use kinora_web::pagination::ListQuery;
use serde::Serialize;

use crate::DashboardState;
use crate::parameters::reject_unknown;

/// The most media that are found by title.
const TITLES_MAX: u32 = 8;
/// The longest title, in characters.
const TEXT_MAX: usize = MediaSettings::TEXT_MAX;

#[derive(Serialize)]
pub(crate) struct FoundView {
    results: Vec<ObjectView>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectView {
    kind: &'static str,
    id: String,
    media_id: Option<String>,
    title: Option<String>,
    state: Option<String>,
}

/// `GET /find`: the objects with the id `q`, else media whose title begins with `q`, newest first.
pub(crate) async fn find(
    State(app): State<DashboardState>,
    Extension(access): Extension<Access>,
    query: ListQuery,
) -> Result<Data<FoundView>, ApiError> {
    let (text, workspace) = (parse(&query)?, access.caller.workspace);
    // All ids have the same form. Rows have them in lower case.
    if let Ok(id) = text.trim().parse::<MediaId>() {
        let found = app.store.objects_with_id(workspace, &id.to_string()).await?;
        if !found.is_empty() {
            return Ok(Data::ok(FoundView { results: found.into_iter().map(ObjectView::from).collect() }));
        }
    }
    let filter = MediaFilter { title_prefix: Some(text), ..MediaFilter::default() };
    let page = Page { limit: TITLES_MAX, number: 1, newest_first: true };
    let found = Box::pin(app.store.media_list(workspace, &filter, page.into())).await?;
    Ok(Data::ok(FoundView { results: found.items.iter().map(ObjectView::from).collect() }))
}

/// 422 unless `q` has 1 to 255 characters.
fn parse(query: &ListQuery) -> Result<String, ApiError> {
    let problems = Problems::default();
    reject_unknown(query, &["q"], &problems);
    let text = query.single_value("q", &problems).unwrap_or_default();
    if !(1..=TEXT_MAX).contains(&text.chars().count()) {
        problems.add("q", format!("must have 1 to {TEXT_MAX} characters"));
    }
    problems.into_result(Some(text.to_owned()))
}

impl From<FoundObject> for ObjectView {
    fn from(FoundObject { kind, id, media, title, state }: FoundObject) -> Self {
        Self { kind: kind.as_str(), id, media_id: media.map(|id| id.to_string()), title, state }
    }
}

impl From<&Media> for ObjectView {
    fn from(media: &Media) -> Self {
        Self {
            kind: FoundKind::Media.as_str(),
            id: media.id.to_string(),
            media_id: Some(media.id.to_string()),
            title: media.settings.title.clone(),
            state: Some(media.state.name().to_owned()),
        }
    }
}
