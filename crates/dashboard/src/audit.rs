//! The audit log: pages of it, and all of it as JSON lines.

use std::collections::{BTreeMap, HashMap};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use kinora_domain::{AuditEntry, WorkspaceId};
use kinora_store::{AuditFilter, AuditPosition};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::pagination::ListQuery;
use serde::Serialize;

use crate::DashboardState;
use crate::audit_query::{AuditQuery, cursor_of};
use crate::view::NamedView;

/// Entries that an export reads at once.
const EXPORT_PAGE: u32 = 200;

/// A page of the audit log.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditPageView {
    entries: Vec<EntryView>,
    /// The cursor of the next page; `None` on the last one.
    next_cursor: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryView {
    id: String,
    at: String,
    actor: ActorView,
    action: &'static str,
    object: ObjectView,
    workspace: Option<NamedView>,
    details: BTreeMap<String, String>,
    address: Option<String>,
    request_id: Option<String>,
}

#[derive(Serialize)]
struct ActorView {
    kind: &'static str,
    id: Option<String>,
    name: Option<String>,
}

#[derive(Serialize)]
struct ObjectView {
    kind: String,
    id: String,
    name: String,
}

/// `GET /audit`: one page, newest first.
pub(crate) async fn page(
    State(app): State<DashboardState>,
    query: ListQuery,
) -> Result<Data<AuditPageView>, ApiError> {
    let AuditQuery { filter, after, limit } = AuditQuery::of_page(&query)?;
    // One more entry tells whether there is another page.
    let mut rows = app.store.audit_entries(&filter, after, limit + 1).await?;
    let has_more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let last = rows.last().map(|(position, _)| *position).filter(|_| has_more);
    let names = WorkspaceNames::read(&app).await?;
    Ok(Data::ok(AuditPageView {
        entries: rows.into_iter().map(|(_, entry)| names.view(entry)).collect(),
        next_cursor: last.map(cursor_of),
    }))
}

/// `GET /audit.jsonl`: all entries, newest first, one on each line.
///
/// Only some entries are in memory at once: a page is read when the client has taken the earlier one. The
/// first page is read before the response begins, so an unavailable database is an error response.
pub(crate) async fn export(
    State(app): State<DashboardState>,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let filter = AuditQuery::filter_of_export(&query)?;
    let export = Export { names: WorkspaceNames::read(&app).await?, app, filter };
    let first = export.read(None).await?;
    let pages = stream::try_unfold((export, Rest::Page(first)), |(export, rest)| async move {
        let page = match rest {
            Rest::Page(page) => page,
            Rest::After(position) => export.read(Some(position)).await.inspect_err(|error| {
                tracing::warn!(error = %error, "an export of the audit log was cut off");
            })?,
            Rest::Nothing => return Ok(None),
        };
        let rest = page.last.map_or(Rest::Nothing, Rest::After);
        Ok::<_, kinora_store::Error>(Some((page.lines, (export, rest))))
    });
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"kinora-audit.jsonl\""),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, Body::from_stream(pages)).into_response())
}

/// An export under way.
struct Export {
    app: DashboardState,
    filter: AuditFilter,
    names: WorkspaceNames,
}

/// What an export has not sent yet.
enum Rest {
    Page(ExportPage),
    After(AuditPosition),
    Nothing,
}

struct ExportPage {
    lines: Bytes,
    /// The position of the last entry, if there can be more.
    last: Option<AuditPosition>,
}

impl Export {
    async fn read(&self, after: Option<AuditPosition>) -> Result<ExportPage, kinora_store::Error> {
        let rows = self.app.store.audit_entries(&self.filter, after, EXPORT_PAGE).await?;
        let is_full = rows.len() >= EXPORT_PAGE as usize;
        let last = rows.last().map(|(position, _)| *position).filter(|_| is_full);
        let mut lines = Vec::new();
        for (_, entry) in rows {
            serde_json::to_writer(&mut lines, &self.names.view(entry)).expect("texts are always JSON");
            lines.push(b'\n');
        }
        Ok(ExportPage { lines: lines.into(), last })
    }
}

/// The present names of workspaces. Entries have only the ID.
struct WorkspaceNames(HashMap<WorkspaceId, String>);

impl WorkspaceNames {
    async fn read(app: &DashboardState) -> Result<Self, kinora_store::Error> {
        let workspaces = app.store.workspaces().await?.into_iter();
        Ok(Self(workspaces.map(|workspace| (workspace.id, workspace.name)).collect()))
    }

    fn view(&self, entry: AuditEntry) -> EntryView {
        let AuditEntry { id, workspace, at, actor, action, object, details, .. } = entry;
        EntryView {
            id: id.to_string(),
            at: at.to_string(),
            actor: ActorView {
                kind: actor.who.kind(),
                id: actor.who.id(),
                name: actor.who.name().map(str::to_owned),
            },
            action: action.as_str(),
            object: ObjectView { kind: object.kind.into_owned(), id: object.id, name: object.name },
            workspace: workspace.map(|id| NamedView { id: id.to_string(), name: self.0.get(&id).cloned() }),
            details,
            address: actor.origin.address,
            request_id: actor.origin.request_id,
        }
    }
}
