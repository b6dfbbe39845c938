//! People, their links and sessions, access tokens, workspaces and the audit log, on each engine.

#![allow(clippy::unwrap_used, reason = "tests; the lint sees only functions marked as one")]

/// Runs the tests of a file on each engine.
macro_rules! suite {
    ($($test:ident),* $(,)?) => {
        on_engine!(sqlite: $($test),*);
        on_engine!(postgres: $($test),*);
    };
}

macro_rules! on_engine {
    ($engine:ident: $($test:ident),*) => {
        mod $engine {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test(crate::support::World::$engine().await).await;
                }
            )*
        }
    };
}

mod administrators;
mod audit;
mod invitations;
mod links;
mod sessions;
mod support;
mod tokens;
mod workspace_audit;
mod workspace_deletion;
mod workspaces;
