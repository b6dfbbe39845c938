//! Routes that know their paths, and where a table of them is mounted.

use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::routing::MethodRouter;

/// A router that knows its paths. A test holds them against the document of the API, so that nothing is
/// served and not described.
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
    /// Without a route.
    pub fn new() -> Self {
        Self { router: Router::new(), paths: Vec::new() }
    }

    /// With the operations of this path, each of which a `doc.rs` describes.
    pub fn route(mut self, path: &str, methods: MethodRouter<S>) -> Self {
        self.paths.push(path.to_owned());
        self.router = self.router.route(path, methods);
        self
    }

    /// With all of these.
    pub fn merge(mut self, other: Self) -> Self {
        self.paths.extend(other.paths);
        self.router = self.router.merge(other.router);
        self
    }

    /// The paths, as they were given.
    pub fn into_paths(self) -> Vec<String> {
        self.paths
    }

    /// What answers requests.
    pub fn into_router(self) -> Router<S> {
        self.router
    }
}

/// A place where a table of routes is mounted.
///
/// `/v1/on-demand/{mediaId}` and `/x/{workspaceId}/on-demand/{mediaId}` are one operation at two mounts. What
/// tells operations apart (idempotency, metrics) uses the path behind the prefix.
#[derive(Debug, Clone)]
pub struct Mount {
    prefix: Arc<str>,
    counted_below: Arc<str>,
}

/// The route that metrics count a response for, in place of the one that matched. An extension of the
/// response.
#[derive(Debug, Clone)]
pub struct CountedAs(pub String);

impl Mount {
    /// At this prefix, which may have parameters of its own: `/x/{workspaceId}`.
    pub fn at(prefix: &str) -> Self {
        Self { prefix: prefix.into(), counted_below: prefix.into() }
    }

    /// At this prefix; metrics count its requests for the same operations at `main`.
    pub fn beside(main: &Self, prefix: &str) -> Self {
        Self { prefix: prefix.into(), counted_below: Arc::clone(&main.counted_below) }
    }

    /// What stands in front of each path.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The path of the operation in its table, such as `/on-demand/{mediaId}`.
    pub fn operation<'a>(&self, request: &'a Request) -> &'a str {
        let matched = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
        matched.strip_prefix(&*self.prefix).unwrap_or(matched)
    }

    /// The same for a path with its ids, as a client sent it.
    pub fn path<'a>(&self, sent: &'a str) -> &'a str {
        // A parameter is one segment, whatever its value.
        let segments = self.prefix.matches('/').count();
        let ends = sent.match_indices('/').map(|(at, _)| at);
        let end = ends.chain([sent.len()]).nth(segments).unwrap_or(0);
        &sent[end..]
    }

    /// What metrics count a request for; `None`: the route that matched.
    pub fn counted_as(&self, request: &Request) -> Option<CountedAs> {
        let is_own = self.counted_below == self.prefix;
        (!is_own).then(|| CountedAs(format!("{}{}", self.counted_below, self.operation(request))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_behind_the_prefix_is_the_same_at_every_mount() {
        let check = |prefix, sent, expected| assert_eq!(Mount::at(prefix).path(sent), expected, "{sent}");
        check("", "/on-demand/7", "/on-demand/7");
        check("/v1", "/v1/on-demand/7", "/on-demand/7");
        check("/x/{workspaceId}", "/x/5/on-demand/7", "/on-demand/7");
        // A value that looks like the rest of the path.
        check("/x/{workspaceId}", "/x/on-demand/on-demand/7", "/on-demand/7");
        check("/x/{workspaceId}", "/x/5", "");
    }
}
