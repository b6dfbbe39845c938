//! `kinora serve`

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use kinora_engine::{Confinement, Engine};
use kinora_fetch::Limits;
use kinora_intake::PaceMin;
use kinora_store::{Opener, Store};
use tokio::net::TcpSocket;
use tokio::signal::unix::{SignalKind, signal};

use super::takeover::take_over;
use super::{Problem, Session};
use crate::addresses::ServedAddresses;
use crate::confinement;
use crate::logging;
use crate::place;
use crate::settings::Settings;
use crate::system::{SystemClock, SystemKeys, SystemRandom};
use crate::wiring::{Server, ServerOptions};

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// Signals within that time of the first are the same wish to stop.
const SAME_WISH: Duration = Duration::from_secs(1);
/// Open files that are asked for: connections, sources and pipes; the system's hard limit bounds it.
const FILES_WANTED: u64 = 65_536;

/// Runs the server until it is told to stop; a second signal ends it at once.
pub(super) async fn run(session: Session) -> Result<ExitCode, Problem> {
    let settings = session.settings;
    let _log =
        logging::start(&settings).map_err(|error| Problem::with_cause("nothing can be logged", error))?;
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    raise_file_limit();
    // Before anything is touched: another server on this folder goes on undisturbed.
    let lock = take_over(is_served, async || place::lock(&settings).await).await?;
    // First: a server that does not start leaves the database as an older one knows it.
    let (engine, confinement) = confined_engine(&settings).await?;
    let store = place::open_store(&settings, Opener::Server).await?;
    compare_decoders(&store, &engine).await;
    let blob = place::open_blob(&settings).await?;
    let listener = listen(&settings).await?;
    if settings.has_folder() {
        ServedAddresses::of(&settings).write(&settings.data_dir).map_err(|error| {
            Problem::with_cause(format!("cannot write into {}", settings.data_dir.display()), error)
        })?;
    }
    let shown = (settings.public_url.clone(), settings.place(), settings.roles.names().join(","));
    let options = ServerOptions {
        settings,
        lock,
        store,
        blob,
        engine,
        confinement,
        fetch_limits: Limits::default(),
        pace_min: PaceMin::default(),
        downloads_max: kinora_jobs::DOWNLOADS_MAX,
        parked_max: kinora_jobs::PARKED_MAX,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        key_maker: Arc::new(SystemKeys),
    };
    let mut interrupt = handler(SignalKind::interrupt())?;
    let mut terminate = handler(SignalKind::terminate())?;
    let server = Server::start(options, listener)
        .await
        .map_err(|error| Problem::with_cause("the server does not start", error))?;
    tracing::info!(address = shown.0, data = shown.1, roles = shown.2, "kinora is ready");

    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = server.lock_lost() => {
            server.stop().await;
            return Err(Problem::new("the database was away, and another kinora serve has taken it meanwhile"));
        }
    }
    tracing::info!("stopping; another signal after a second stops at once");
    let insisted = async {
        // Ctrl-C reaches the whole group, and whoever started us may pass it on: these are one wish. New
        // listeners do not hear of the signals before them.
        tokio::time::sleep(SAME_WISH).await;
        let (mut interrupt, mut terminate) =
            (handler(SignalKind::interrupt())?, handler(SignalKind::terminate())?);
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        Ok::<_, Problem>(())
    };
    tokio::select! {
        () = server.stop() => {}
        insisted = insisted => return insisted.map(|()| ExitCode::FAILURE),
    }
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// The media engine with its confinement. Refuses a server that others can reach and whose ffmpeg is not
/// confined.
async fn confined_engine(settings: &Settings) -> Result<(Engine, Confinement), Problem> {
    let engine = find_engine(settings).await?;
    let confinement = confinement::measure(&engine).await;
    let exposure = confinement::exposure(settings);
    confinement::check(&confinement, exposure.as_deref(), settings.allow_unconfined)?;
    confinement::warn(&confinement);
    Ok((engine, confinement))
}

/// Warns where the process that started last could decode other codecs. What fails here keeps no server from
/// starting.
async fn compare_decoders(store: &Store, engine: &Engine) {
    let own = engine.decoders().to_owned();
    let noted = own.clone();
    let before = match store.write(async move |tx| tx.exchange_decoders(&noted).await).await {
        Ok(before) => before.unwrap_or_else(|| own.clone()),
        Err(error) => return tracing::warn!(error = %error, "cannot tell what other processes decode"),
    };
    if before != own {
        let (lost, gained) = (missing(&before, &own), missing(&own, &before));
        tracing::warn!(
            lost,
            gained,
            "this ffmpeg has other decoders than that of the process that started before it; \
             where several processes share the data, give all of them the same ffmpeg"
        );
    }
}

/// The names that only the first of two lists has, with a comma between.
fn missing(list: &str, other: &str) -> String {
    let other: Vec<_> = other.split(',').collect();
    list.split(',').filter(|name| !other.contains(name)).collect::<Vec<_>>().join(",")
}

/// The media engine, or what to install.
pub(super) async fn find_engine(settings: &Settings) -> Result<Engine, Problem> {
    let wanted = kinora_engine::Settings { program: settings.ffmpeg.clone(), ..Default::default() };
    Engine::find(wanted).await.map_err(|error| {
        Problem::with_cause(
            "ffmpeg 5.1 or newer is needed (on Debian and Ubuntu: apt-get install ffmpeg)",
            error,
        )
    })
}

fn handler(kind: SignalKind) -> Result<tokio::signal::unix::Signal, Problem> {
    signal(kind).map_err(|error| Problem::with_cause("signals cannot be handled", error))
}

/// Whether another server holds the lock.
fn is_served(error: &kinora_store::Error) -> bool {
    matches!(error, kinora_store::Error::AlreadyServed { .. } | kinora_store::Error::DatabaseServed)
}

/// A listener that can take over the port of a process that was just killed.
async fn listen(settings: &Settings) -> Result<tokio::net::TcpListener, Problem> {
    let address = settings.listen;
    let open = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    let is_taken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::AddrInUse;
    take_over(is_taken, async || open()).await.map_err(|error| {
        Problem::with_cause(
            format!("cannot listen on {address}; choose another address with --listen"),
            error,
        )
    })
}

fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let held = getrlimit(Resource::Nofile);
    let wanted = held.maximum.map_or(FILES_WANTED, |most| most.min(FILES_WANTED));
    if held.current.is_some_and(|current| current < wanted)
        && let Err(error) =
            setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: held.maximum })
    {
        tracing::warn!(error = %error, "the limit of open files stays as it was");
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
