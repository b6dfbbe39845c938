//! Roles of a process.

/// The roles of a process: its part of the work of all processes on one database (docs/scale-out.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roles {
    /// Serves the JSON API.
    pub api: bool,
    /// Serves players: manifests, segments, images, pages.
    pub delivery: bool,
    /// Runs jobs: downloads, deliveries of events, sweeps.
    pub worker: bool,
}

impl Roles {
    /// One process does everything.
    pub const ALL: Self = Self { api: true, delivery: true, worker: true };

    /// The names of the roles that are set, as they are written in settings.
    pub fn names(self) -> Vec<&'static str> {
        let all = [(self.api, "api"), (self.delivery, "delivery"), (self.worker, "worker")];
        all.into_iter().filter_map(|(is_set, name)| is_set.then_some(name)).collect()
    }
}
