//! Routes with their paths, and the prefixes where they are mounted.

use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::routing::MethodRouter;

/// A router that records its paths. A test compares them with the API document, so that every route is
/// documented.
pub struct Routes<S> {
    router: Router<S>,
    paths: Vec<String>,
}

impl<S: Clone + Send + Sync + 'static> Default for Routes<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// No routes.
    pub fn new() -> Self {
        Self { router: Router::new(), paths: Vec::new() }
    }

    /// Adds the operations of this path; a `doc.rs` describes each.
    pub fn route(mut self, path: &str, methods: MethodRouter<S>) -> Self {
        self.paths.push(path.to_owned());
        self.router = self.router.route(path, methods);
        self
    }

    /// Adds all of these.
    pub fn merge(mut self, other: Self) -> Self {
        self.paths.extend(other.paths);
        self.router = self.router.merge(other.router);
        self
    }

    /// The paths, as they were added.
    pub fn into_paths(self) -> Vec<String> {
        self.paths
    }

    /// The router that serves them.
    pub fn into_router(self) -> Router<S> {
        self.router
    }
}

/// A prefix where a table of routes is mounted.
///
/// `/v1/on-demand/{mediaId}` and `/x/{workspaceId}/on-demand/{mediaId}` are one operation at two mounts.
/// Code that distinguishes operations (idempotency, metrics) uses the path after the prefix.
#[derive(Debug, Clone)]
pub struct Mount {
    prefix: Arc<str>,
    metrics_prefix: Arc<str>,
}

/// The route that metrics count a response for, instead of the matched one. An extension of the response.
#[derive(Debug, Clone)]
pub struct MetricsRoute(pub String);

impl Mount {
    /// At this prefix, which may have parameters of its own: `/x/{workspaceId}`.
    pub fn at(prefix: &str) -> Self {
        Self { prefix: prefix.into(), metrics_prefix: prefix.into() }
    }

    /// At this prefix; metrics count its requests for the same operations at `main`.
    pub fn alias_of(main: &Self, prefix: &str) -> Self {
        Self { prefix: prefix.into(), metrics_prefix: Arc::clone(&main.metrics_prefix) }
    }

    /// The prefix of each path.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The path of the operation in its table, such as `/on-demand/{mediaId}`.
    pub fn operation_path<'a>(&self, request: &'a Request) -> &'a str {
        let matched = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
        matched.strip_prefix(&*self.prefix).unwrap_or(matched)
    }

    /// The part after the prefix of a path that a client sent, with its ids.
    pub fn path_below_prefix<'a>(&self, sent: &'a str) -> &'a str {
        // A parameter is one segment, with any value.
        let segments = self.prefix.matches('/').count();
        let ends = sent.match_indices('/').map(|(at, _)| at);
        let end = ends.chain([sent.len()]).nth(segments).unwrap_or(0);
        &sent[end..]
    }

    /// The route that metrics count a request for; `None`: the matched route.
    pub fn metrics_route(&self, request: &Request) -> Option<MetricsRoute> {
        let is_own = self.metrics_prefix == self.prefix;
        (!is_own).then(|| MetricsRoute(format!("{}{}", self.metrics_prefix, self.operation_path(request))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_path_is_equal_at_every_mount() {
        let check = |prefix, sent, expected| {
            assert_eq!(Mount::at(prefix).path_below_prefix(sent), expected, "{sent}")
        };
        check("", "/on-demand/7", "/on-demand/7");
        check("/v1", "/v1/on-demand/7", "/on-demand/7");
        check("/x/{workspaceId}", "/x/5/on-demand/7", "/on-demand/7");
        // A value that looks like the rest of the path.
        check("/x/{workspaceId}", "/x/on-demand/on-demand/7", "/on-demand/7");
        check("/x/{workspaceId}", "/x/5", "");
    }
}
