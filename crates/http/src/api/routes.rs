//! The routes of the API, and which there are.

use axum::Router;
use axum::routing::MethodRouter;

use crate::app::App;

/// A router that knows its paths. A test holds them against the document of the API, so that nothing is served and not described.
#[derive(Default)]
pub(crate) struct Routes {
    router: Router<App>,
    paths: Vec<String>,
}

impl Routes {
    /// Without a route.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// With the operations of this path, each of which a `doc.rs` describes.
    pub(crate) fn route(mut self, path: &str, methods: MethodRouter<App>) -> Self {
        self.paths.push(path.to_owned());
        self.router = self.router.route(path, methods);
        self
    }

    /// With all of these.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.paths.extend(other.paths);
        self.router = self.router.merge(other.router);
        self
    }

    /// The paths, as they were given.
    pub(crate) fn into_paths(self) -> Vec<String> {
        self.paths
    }

    /// What answers requests.
    pub(crate) fn into_router(self) -> Router<App> {
        self.router
    }
}
