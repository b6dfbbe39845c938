//! The store, seen from outside. The tests in `suite!` are written once for every engine; `start` and `strange` are about
//! the files of SQLite alone.

#![allow(clippy::unwrap_used, reason = "tests; the lint sees only functions marked as one")]

/// Runs the tests of a file on each engine.
macro_rules! suite {
    ($($test:ident),* $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test(crate::support::World::sqlite()).await;
                }
            )*
        }
    };
}

mod crash;
mod deliveries;
mod jobs;
mod media;
mod prune;
mod start;
mod strange;
mod support;
mod tenants;
mod watch;
mod webhooks;
mod write;
