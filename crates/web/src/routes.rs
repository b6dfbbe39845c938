//! Routes that know their paths.

use axum::Router;
use axum::routing::MethodRouter;

/// A router that knows its paths. A test holds them against the document of the API, so that nothing is served and not described.
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
