//! The renditions of a media: those that players are offered, those that failed, and files for downloads.

use std::collections::HashMap;

use axum::Extension;
use axum::extract::State;
use kinora_domain::{MediaId, OfferedRendition, PlaybackReport, PresentationId, Resolution};
use kinora_store::RenditionRow;
use kinora_web::auth::Access;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;
use kinora_web::playback_report::PlaybackReportView;
use serde::Serialize;

use crate::DashboardState;
use crate::media::find_media;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RenditionsView {
    /// `None` unless the media is ready.
    playback_report: Option<PlaybackReportView>,
    renditions: Vec<RenditionView>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RenditionView {
    name: String,
    /// `video`, `audio`, or `download` for one that players are not offered.
    r#type: &'static str,
    method: &'static str,
    resolution: Option<&'static str>,
    segments_made: Option<u64>,
    segments: Option<u32>,
    bytes: Option<u64>,
    last_watched_at: Option<String>,
    is_broken: bool,
}

/// `GET /media/{mediaId}/renditions`.
pub(crate) async fn list(
    State(app): State<DashboardState>,
    Extension(access): Extension<Access>,
    PathId(id): PathId<MediaId>,
) -> Result<Data<RenditionsView>, ApiError> {
    let media = Box::pin(find_media(&app, access, id)).await?;
    let renditions = match (media.playback_report(), media.presentation()) {
        (Some(report), Some(presentation)) => renditions(&app, &report, presentation).await?,
        _ => Vec::new(),
    };
    Ok(Data::ok(RenditionsView { playback_report: PlaybackReportView::of(&media), renditions }))
}

/// Offered renditions in the order of the report, then the failed ones, then files.
async fn renditions(
    app: &DashboardState,
    report: &PlaybackReport,
    presentation: PresentationId,
) -> Result<Vec<RenditionView>, ApiError> {
    let rows = app.store.renditions_of(presentation).await?;
    let encoded = report.renditions.iter().filter(|rendition| rendition.is_encoded);
    let names: Vec<String> = encoded.map(|rendition| rendition.name.clone()).collect();
    let counts = app.media_details.segment_counts(presentation, names.clone()).await;
    let counts: HashMap<String, Option<u32>> = names.into_iter().zip(counts).collect();

    let offered = report.renditions.iter().map(|rendition| {
        let row = rows.iter().find(|row| row.name == rendition.name);
        let segments = counts.get(&rendition.name).copied().flatten();
        if rendition.is_encoded {
            RenditionView::encoded(rendition, row, segments)
        } else {
            RenditionView::copied(rendition)
        }
    });
    // A name with more words is of a part of a rendition that is offered.
    let broken = report.broken_renditions.iter().filter(|name| !name.contains(' '));
    let files = rows.iter().filter_map(|row| Some(RenditionView::file(row.joined_name()?, row)));
    Ok(offered.chain(broken.map(|name| RenditionView::broken(name))).chain(files).collect())
}

impl RenditionView {
    fn copied(rendition: &OfferedRendition) -> Self {
        Self {
            name: rendition.name.clone(),
            r#type: kind(rendition.resolution),
            method: "copied",
            resolution: rendition.resolution.map(Resolution::as_str),
            segments_made: None,
            segments: None,
            bytes: None,
            last_watched_at: None,
            is_broken: false,
        }
    }

    /// `row`: of its segments, if one was made.
    fn encoded(rendition: &OfferedRendition, row: Option<&RenditionRow>, segments: Option<u32>) -> Self {
        let made = row.map_or(0, |row| row.segments);
        Self {
            method: "encoded",
            // Two processes may have made and counted the same segment.
            segments_made: Some(segments.map_or(made, |all| made.min(all.into()))),
            segments,
            bytes: Some(row.map_or(0, |row| row.bytes)),
            last_watched_at: row.and_then(|row| row.watched_at).map(|at| at.to_string()),
            ..Self::copied(rendition)
        }
    }

    /// One that is not offered, because it could not be encoded.
    fn broken(name: &str) -> Self {
        let resolution = Resolution::from_text(name);
        Self {
            name: name.to_owned(),
            r#type: kind(resolution),
            method: "encoded",
            resolution: resolution.map(Resolution::as_str),
            segments_made: None,
            segments: None,
            bytes: None,
            last_watched_at: None,
            is_broken: true,
        }
    }

    /// One that is joined to one object, for files.
    fn file(name: &str, row: &RenditionRow) -> Self {
        Self {
            r#type: "download",
            bytes: Some(row.bytes),
            last_watched_at: row.watched_at.map(|at| at.to_string()),
            is_broken: row.broken_at.is_some(),
            ..Self::broken(name)
        }
    }
}

fn kind(resolution: Option<Resolution>) -> &'static str {
    if resolution.is_some() { "video" } else { "audio" }
}
