//! Operations of the contract that this server does not have (decision 37 of the contract). Clients are told so, and not that they mistyped a path.

use axum::Router;
use axum::routing::{get, patch, post};

use crate::app::App;
use crate::auth::{Reader, Writer};
use crate::error::ApiError;

/// What asks for a `PATCH`, and what is asked for.
const CHANGES: [(&str, &str); 4] = [
    ("/on-demand/{mediaId}/summary", "summaries"),
    ("/on-demand/{mediaId}/chapters", "generated chapters"),
    ("/on-demand/{mediaId}/named-entities", "named entities"),
    ("/on-demand/{mediaId}/moderation", "moderation scores"),
];

/// What is only read: analytics (contract 2.12).
const ANALYTICS: [&str; 12] = [
    "/data/viewlist",
    "/data/viewlist/{viewId}",
    "/data/viewlist/top-content",
    "/data/viewlist/current-views/getTimeseriesViews",
    "/data/viewlist/current-views/filter",
    "/data/dimensions",
    "/data/dimensions/{dimensionsId}",
    "/data/metrics/{metricId}/breakdown",
    "/data/metrics/{metricId}/overall",
    "/data/metrics/{metricId}/timeseries",
    "/data/metrics/comparison",
    "/data/errors",
];

/// All of them, below a prefix. Who calls is looked at first, as everywhere; nothing else is: there is no path, query or body that
/// would be answered otherwise.
pub(super) fn routes(prefix: &str) -> Router<App> {
    let router = Router::new()
        .route(&format!("{prefix}/on-demand/{{mediaId}}/summary"), get(async |_: Reader| refuse("summaries")))
        .route(
            &format!("{prefix}/on-demand/{{mediaId}}/tracks/{{trackId}}/generate-subtitles"),
            post(async |_: Writer| refuse("generated subtitles")),
        );
    let router = CHANGES.into_iter().fold(router, |router, (path, what)| {
        router.route(&format!("{prefix}{path}"), patch(async move |_: Writer| refuse(what)))
    });
    ANALYTICS.into_iter().fold(router, |router, path| {
        router.route(&format!("{prefix}{path}"), get(async |_: Reader| refuse("analytics")))
    })
}

fn refuse(what: &str) -> ApiError {
    ApiError::not_supported(what)
}
