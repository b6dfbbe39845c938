//! `kinora serve`

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use kinora_engine::{Confinement, Engine};
use kinora_fetch::Limits;
use kinora_intake::StallLimit;
use kinora_store::{Opener, Store};
use tokio::net::TcpSocket;
use tokio::signal::unix::{SignalKind, signal};

use super::takeover::take_over;
use super::{CommandContext, CommandError};
use crate::backends;
use crate::confinement;
use crate::logging;
use crate::served_urls::ServedUrls;
use crate::settings::Settings;
use crate::system::{SystemClock, SystemKeys, SystemRandom};
use crate::wiring::{Server, ServerOptions};

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// Signals within this time of the first belong to the same request to stop.
const SIGNAL_DEBOUNCE: Duration = Duration::from_secs(1);
/// Open files to request from the system, for connections, sources and pipes; its hard limit bounds them.
const OPEN_FILES_LIMIT: u64 = 65_536;

/// Runs the server until a signal stops it; a second signal ends it at once.
pub(super) async fn run(context: CommandContext) -> Result<ExitCode, CommandError> {
    let create_command = format!("{}{}", kinora_dashboard::CREATE_COMMAND, context.data_option());
    let settings = context.settings;
    let _log = logging::start(&settings)
        .map_err(|error| CommandError::with_cause("the log cannot be set up", error))?;
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    raise_file_limit();
    // Before anything is changed: another server on this folder continues undisturbed.
    let lock = take_over(is_served, async || backends::lock(&settings).await).await?;
    // Before the database is opened and migrated: if this fails, an older version can still use it.
    let (engine, confinement) = confined_engine(&settings).await?;
    let store = backends::open_store(&settings, Opener::Server).await?;
    compare_decoders(&store, &engine).await;
    let blob = backends::open_blob(&settings).await?;
    let listener = listen(&settings).await?;
    if settings.uses_data_dir() {
        ServedUrls::of(&settings).write(&settings.data_dir).map_err(|error| {
            CommandError::with_cause(format!("cannot write into {}", settings.data_dir.display()), error)
        })?;
    }
    let (roles, accounts) = (settings.roles, store.clone());
    let log_values = (settings.public_url.clone(), settings.locations(), settings.roles.names().join(","));
    let options = ServerOptions {
        settings,
        lock,
        store,
        blob,
        engine,
        confinement,
        fetch_limits: Limits::default(),
        stall_limit: StallLimit::default(),
        downloads_max: kinora_jobs::DOWNLOADS_MAX,
        paused_downloads_max: kinora_jobs::PAUSED_DOWNLOADS_MAX,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        key_maker: Arc::new(SystemKeys),
    };
    let mut interrupt = signal_stream(SignalKind::interrupt())?;
    let mut terminate = signal_stream(SignalKind::terminate())?;
    let server = Server::start(options, listener)
        .await
        .map_err(|error| CommandError::with_cause("the server does not start", error))?;
    tracing::info!(address = log_values.0, data = log_values.1, roles = log_values.2, "kinora is ready");
    if roles.api {
        announce_first_account(&accounts, &create_command).await;
    }

    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = server.lock_lost() => {
            server.stop().await;
            return Err(CommandError::new("the database did not respond for some time, and another kinora serve uses it now"));
        }
    }
    tracing::info!("stopping; send another signal after one second to stop at once");
    let insisted = async {
        // Ctrl-C reaches the whole process group, and the parent process may pass it on: both are one
        // request to stop. New listeners do not receive earlier signals.
        tokio::time::sleep(SIGNAL_DEBOUNCE).await;
        let (mut interrupt, mut terminate) =
            (signal_stream(SignalKind::interrupt())?, signal_stream(SignalKind::terminate())?);
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        Ok::<_, CommandError>(())
    };
    tokio::select! {
        () = server.stop() => {}
        insisted = insisted => return insisted.map(|()| ExitCode::FAILURE),
    }
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// The media engine with its confinement. Fails for a server that others can reach and whose ffmpeg is not
/// confined.
async fn confined_engine(settings: &Settings) -> Result<(Engine, Confinement), CommandError> {
    let engine = find_engine(settings).await?;
    let confinement = confinement::measure(&engine).await;
    let exposure = confinement::exposure(settings);
    confinement::check(&confinement, exposure.as_deref(), settings.allow_unconfined)?;
    confinement::warn(&confinement);
    Ok((engine, confinement))
}

/// Warns if the process that started last has other decoders. A failure here does not prevent the start.
async fn compare_decoders(store: &Store, engine: &Engine) {
    let current = engine.decoders().to_owned();
    let written = current.clone();
    let previous = match store.write(async move |tx| tx.exchange_decoders(&written).await).await {
        Ok(before) => before.unwrap_or_else(|| current.clone()),
        Err(error) => return tracing::warn!(error = %error, "cannot read the decoders of other processes"),
    };
    if previous != current {
        let (lost, gained) = (missing(&previous, &current), missing(&current, &previous));
        tracing::warn!(
            lost,
            gained,
            "this ffmpeg has other decoders than that of the process that started before; use the same ffmpeg \
                for all processes that share the data"
        );
    }
}

/// Names the command that lets the first person into the dashboard. A failure here does not prevent the
/// start.
async fn announce_first_account(store: &Store, command: &str) {
    match store.can_a_person_sign_in().await {
        Ok(true) => {}
        Ok(false) => {
            tracing::info!(command, "nobody can sign in to the dashboard yet; run this command");
        }
        Err(error) => tracing::warn!(error = %error, "cannot read whether a person can sign in"),
    }
}

/// The names that only the first of two lists has, separated by commas.
fn missing(list: &str, other: &str) -> String {
    let other: Vec<_> = other.split(',').collect();
    list.split(',').filter(|name| !other.contains(name)).collect::<Vec<_>>().join(",")
}

/// The media engine, or an error that names the package to install.
pub(super) async fn find_engine(settings: &Settings) -> Result<Engine, CommandError> {
    let engine_settings = kinora_engine::Settings { program: settings.ffmpeg.clone(), ..Default::default() };
    Engine::find(engine_settings).await.map_err(|error| {
        CommandError::with_cause(
            "ffmpeg 5.1 or newer is needed (on Debian and Ubuntu: apt-get install ffmpeg)",
            error,
        )
    })
}

fn signal_stream(kind: SignalKind) -> Result<tokio::signal::unix::Signal, CommandError> {
    signal(kind).map_err(|error| CommandError::with_cause("signals cannot be handled", error))
}

/// Whether another server has the lock.
fn is_served(error: &kinora_store::Error) -> bool {
    matches!(error, kinora_store::Error::FolderLocked { .. } | kinora_store::Error::DatabaseLocked)
}

/// A listener that can take over the port of a process that was just killed.
async fn listen(settings: &Settings) -> Result<tokio::net::TcpListener, CommandError> {
    let address = settings.listen;
    let open = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    let is_taken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::AddrInUse;
    take_over(is_taken, async || open()).await.map_err(|error| {
        CommandError::with_cause(
            format!("cannot listen on {address}; choose another address with --listen"),
            error,
        )
    })
}

fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let target = limit.maximum.map_or(OPEN_FILES_LIMIT, |most| most.min(OPEN_FILES_LIMIT));
    if limit.current.is_some_and(|current| current < target)
        && let Err(error) =
            setrlimit(Resource::Nofile, Rlimit { current: Some(target), maximum: limit.maximum })
    {
        tracing::warn!(error = %error, "the limit of open files could not be raised");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoders_that_only_one_list_has_are_named() {
        assert_eq!(missing("aac,gsm,h264", "aac,h264"), "gsm");
        assert_eq!(missing("aac,h264", "aac,gsm,h264"), "");
    }
}
