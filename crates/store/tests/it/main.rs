//! The store from outside. The tests in `suite!` are written once for every engine. Those in `sqlite_only!`
//! and `postgres_only!`, `start` and `postgres` cover the differences of one engine.

#![allow(clippy::unwrap_used, reason = "tests; the lint sees only functions marked as one")]

/// Runs the tests of a file on each engine.
macro_rules! suite {
    ($($test:ident),* $(,)?) => {
        on_engine!(sqlite: $($test),*);
        on_engine!(postgres: $($test),*);
    };
}

/// Runs the tests of a file on one engine.
macro_rules! on_engine {
    ($engine:ident: $($test:ident),* $(,)?) => {
        mod $engine {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test(crate::support::TestStore::$engine()).await;
                }
            )*
        }
    };
}

/// Runs further tests of a file on SQLite alone.
macro_rules! sqlite_only {
    ($($test:ident),* $(,)?) => {
        mod sqlite_only {
            on_engine!(sqlite: $($test),*);
            $(use super::$test;)*
        }
    };
}

/// Runs further tests of a file on PostgreSQL alone.
macro_rules! postgres_only {
    ($($test:ident),* $(,)?) => {
        mod postgres_only {
            on_engine!(postgres: $($test),*);
            $(use super::$test;)*
        }
    };
}

mod audit;
mod change_poll;
mod content_keys;
mod crash;
mod deliveries;
mod event_history;
mod find;
mod idempotency;
mod jobs;
mod key_rotation;
mod late_commit;
mod lists;
mod loudness;
mod media;
mod outage;
mod playlists;
mod postgres;
mod proxy;
mod prune;
mod renditions;
mod signing_keys;
mod start;
mod support;
mod unknown_rows;
mod upload;
mod usage;
mod webhooks;
mod workspaces;
mod write;
