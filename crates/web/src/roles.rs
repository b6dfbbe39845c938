//! Which routes a process serves.

/// Which work a process does, of what the processes of one database share (docs/scale-out.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roles {
    /// Answers the JSON API.
    pub api: bool,
    /// Answers players: manifests, segments, pictures, pages.
    pub delivery: bool,
    /// Runs jobs: downloads, deliveries of events, sweeps.
    pub worker: bool,
}

impl Roles {
    /// One process does everything.
    pub const ALL: Self = Self { api: true, delivery: true, worker: true };

    /// The names of those that are taken, as they are written in settings.
    pub fn names(self) -> Vec<&'static str> {
        let all = [(self.api, "api"), (self.delivery, "delivery"), (self.worker, "worker")];
        all.into_iter().filter_map(|(is_taken, name)| is_taken.then_some(name)).collect()
    }
}
