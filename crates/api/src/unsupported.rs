//! Operations of the contract that this server does not have (C-37). Clients get an error that says so,
//! instead of that of a mistyped path.

use axum::routing::{get, patch, post};
use kinora_web::auth::{ReadCaller, WriteCaller};
use kinora_web::error::ApiError;
use kinora_web::openapi::Operation;
use kinora_web::routes::Routes;

use crate::ApiState;
use crate::error;

/// The path of the `POST` operation, and the feature that it requests.
const SUBTITLES: (&str, &str) =
    ("/on-demand/{mediaId}/tracks/{trackId}/generate-subtitles", "generated subtitles");

/// The `PATCH` operations: path, operation id in the OpenAPI document, requested feature.
const CHANGES: [(&str, &str, &str); 4] = [
    ("/on-demand/{mediaId}/summary", "updateSummary", "summaries"),
    ("/on-demand/{mediaId}/chapters", "updateChapters", "generated chapters"),
    ("/on-demand/{mediaId}/named-entities", "updateNamedEntities", "named entities"),
    ("/on-demand/{mediaId}/moderation", "updateModeration", "moderation scores"),
];

/// The operations that only read: analytics (C-211), with their operation ids in the OpenAPI document.
const ANALYTICS: [(&str, &str); 12] = [
    ("/data/viewlist", "listViews"),
    ("/data/viewlist/{viewId}", "getView"),
    ("/data/viewlist/top-content", "listTopContent"),
    ("/data/viewlist/current-views/getTimeseriesViews", "getCurrentViews"),
    ("/data/viewlist/current-views/filter", "filterCurrentViews"),
    ("/data/dimensions", "listDimensions"),
    ("/data/dimensions/{dimensionsId}", "getDimension"),
    ("/data/metrics/{metricId}/breakdown", "getBreakdown"),
    ("/data/metrics/{metricId}/overall", "getOverall"),
    ("/data/metrics/{metricId}/timeseries", "getTimeseries"),
    ("/data/metrics/comparison", "getComparison"),
    ("/data/errors", "listErrors"),
];

/// The routes of all of them, below a prefix. They authenticate the caller first, as all operations do, and
/// check nothing else: no path, query, header or body changes the response.
pub(super) fn routes(prefix: &str) -> Routes<ApiState> {
    let (subtitles, feature) = SUBTITLES;
    let router = Routes::new()
        .route(
            &format!("{prefix}/on-demand/{{mediaId}}/summary"),
            get(async |_: ReadCaller| not_supported("summaries")),
        )
        .route(&format!("{prefix}{subtitles}"), post(async move |_: WriteCaller| not_supported(feature)));
    let router = CHANGES.into_iter().fold(router, |router, (path, _, what)| {
        router.route(&format!("{prefix}{path}"), patch(async move |_: WriteCaller| not_supported(what)))
    });
    ANALYTICS.into_iter().fold(router, |router, (path, _)| {
        router.route(&format!("{prefix}{path}"), get(async |_: ReadCaller| not_supported("analytics")))
    })
}

/// Whether a `POST` is one of them. It changes nothing that a retry could repeat, so its idempotency key is
/// ignored.
pub(super) fn is_unsupported_post(operation: &str) -> bool {
    operation == SUBTITLES.0
}

/// The OpenAPI descriptions of them.
pub(super) fn operations() -> Vec<Operation> {
    let summary = Operation::get("/on-demand/{mediaId}/summary", "getSummary", "Read a summary");
    let (subtitles, feature) = SUBTITLES;
    let subtitles = Operation::post(subtitles, "generateSubtitles", "Generate subtitles from speech");
    let mut all = vec![(summary, "summaries"), (subtitles, feature)];
    all.extend(
        CHANGES.map(|(path, id, what)| (Operation::patch(path, id, "Change generated metadata"), what)),
    );
    all.extend(ANALYTICS.map(|(path, id)| (Operation::get(path, id, "Read analytics"), "analytics")));
    let described = all
        .into_iter()
        .map(|(operation, what)| operation.tagged("Not supported").error(error::not_supported(what)));
    described.map(Operation::with_path_parameters).collect()
}

fn not_supported(feature: &str) -> ApiError {
    error::not_supported(feature)
}
