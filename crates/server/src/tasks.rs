//! The tasks of a started server, until it stops.

use std::time::Duration;

use kinora_jobs::Context;
use kinora_packager::Packager;
use kinora_store::{ServeLock, Store};
use kinora_web::serve::{ServeOptions, serve};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::router::router;
use crate::scratch::Scratch;

/// How often usage is stored: of workspaces, of access tokens and of renditions.
const USAGE_WRITE_INTERVAL: Duration = Duration::from_secs(10);

/// The parts of a started server.
pub(crate) struct ServerTasks {
    pub(crate) app: App,
    pub(crate) serve_options: ServeOptions,
    /// The context of jobs, in a process that runs any.
    pub(crate) jobs: Option<Context>,
    pub(crate) packager: Packager,
    pub(crate) store: Store,
    pub(crate) lock: ServeLock,
    /// Exists as long as jobs run.
    pub(crate) scratch: Scratch,
    pub(crate) stop: CancellationToken,
    pub(crate) lock_loss: CancellationToken,
}

impl ServerTasks {
    pub(crate) async fn run(self, listener: TcpListener) {
        let Self { app, serve_options, jobs, packager, store, lock, scratch, stop, lock_loss } = self;
        let router = router(&app);
        let run_jobs = async {
            if let Some(context) = jobs {
                Box::pin(kinora_jobs::run(context, stop.clone())).await;
            }
        };
        let watch_lock = async {
            if stop.run_until_cancelled(lock.wait_lost()).await.is_some() {
                lock_loss.cancel();
            }
        };
        tokio::join!(
            serve(listener, router, serve_options, stop.clone()),
            run_jobs,
            store.poll_changes(stop.clone()),
            write_usage_periodically(&app, stop.clone()),
            watch_lock,
        );
        // No request waits for an encode any more.
        packager.stop().await;
        if let Err(error) = app.write_everything().await {
            tracing::warn!(error = %error, "the usage could not be stored");
        }
        store.close().await;
        drop(scratch);
        drop(lock); // last: another process may have the folder only now
    }
}

async fn write_usage_periodically(app: &App, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(USAGE_WRITE_INTERVAL);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Err(error) = app.write_usage_all().await {
            tracing::warn!(error = %error, "the usage could not be stored");
        }
    }
}
