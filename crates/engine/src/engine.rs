//! The engine: one ffmpeg that was found, probed for its capabilities, and runs jobs.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::admission::{Admission, Load};
use crate::capabilities::Capabilities;
use crate::confine::Sandbox;
use crate::error::EngineError;
use crate::input;
use crate::job::{Files, Job, Limits, push, quiet_arguments};
use crate::priority::Priority;
use crate::run::Runner;
use crate::version::{self, Version};

/// The program name in `PATH`.
const PROGRAM: &str = "ffmpeg";

/// Limits of a query for version or encoders. It takes a tenth of a second.
const QUERY_LIMITS: Limits = Limits {
    deadline: Duration::from_secs(20),
    cpu: Duration::from_secs(10),
    memory_bytes: 256 << 20,
    output_max: 1 << 20,
    file_max: 0,
};

/// Settings of the operator.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Path of ffmpeg. `None`: the first `ffmpeg` in `PATH`.
    pub program: Option<PathBuf>,
    /// Files and directories ffmpeg may read and run in addition to the system's own libraries, for an
    /// ffmpeg that was installed elsewhere. Its children can read nothing else but the bytes of their job.
    pub readable: Vec<PathBuf>,
    /// Processes at the same time. `None`: one for each core, within the limits of control groups.
    pub jobs_max: Option<NonZeroUsize>,
    /// Cache file for version, encoders, filters and decoders of ffmpeg, valid until the program file
    /// changes. `None`: [`Engine::find`] queries ffmpeg each time. Tests set it, because each test is a
    /// process.
    pub capabilities_cache: Option<PathBuf>,
}

/// An ffmpeg that works. Cheap to clone; clones share the permits for processes.
#[derive(Debug, Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    runner: Runner,
    /// A separate permit in addition to those of `runner`, for short jobs that must not wait for an encode.
    quick_runner: Runner,
    version: Version,
    encoders: BTreeSet<String>,
    filters: BTreeSet<String>,
}

impl Engine {
    /// Finds ffmpeg, starts it four times inside its confinement, and reads its capabilities. A hit in
    /// [`Settings::capabilities_cache`] starts nothing.
    ///
    /// Errors: [`NotFound`](EngineError::NotFound), [`NotUsable`](EngineError::NotUsable) for a program that
    /// does not start there or is no ffmpeg, [`TooOld`](EngineError::TooOld) below 5.1, and those of every
    /// run.
    pub async fn find(settings: Settings) -> Result<Self, EngineError> {
        let program = locate(settings.program)?;
        let sandbox = Sandbox::new(program.clone(), settings.readable);
        let mut runner = Runner::new(sandbox, Admission::new(settings.jobs_max));
        let capabilities = capabilities(&runner, settings.capabilities_cache.as_deref()).await?;
        let version = Version::parse(&capabilities.version).ok_or(EngineError::NotUsable(program))?;
        if !version.is_supported() {
            return Err(EngineError::TooOld(version.to_string()));
        }
        let encoders = version::parse_encoders(&capabilities.encoders).map(str::to_owned).collect();
        let filters = version::parse_filters(&capabilities.filters).map(str::to_owned).collect();
        runner.decoders = input::allowed_decoders(version::parse_decoders(&capabilities.decoders)).into();
        if runner.decoders.is_empty() {
            return Err(EngineError::NotUsable(runner.sandbox.program.clone()));
        }
        let quick_runner = Runner { admission: Admission::new(Some(NonZeroUsize::MIN)), ..runner.clone() };
        Ok(Self { inner: Arc::new(Inner { runner, quick_runner, version, encoders, filters }) })
    }

    /// The version of this ffmpeg.
    pub fn version(&self) -> &Version {
        &self.inner.version
    }

    /// Its absolute path, with symbolic links resolved.
    pub fn program(&self) -> &Path {
        &self.inner.runner.sandbox.program
    }

    /// The names of the decoders that its runs may open, sorted, separated by commas.
    pub fn decoders(&self) -> &str {
        &self.inner.runner.decoders
    }

    /// The current load. It changes at any time: use it to decide what to offer, not whether a job gets a
    /// permit.
    pub fn load(&self) -> Load {
        self.inner.runner.admission.load()
    }

    /// Runs `job`; see [`Runner::run`].
    pub(crate) async fn run(&self, job: Job) -> Result<Bytes, EngineError> {
        self.inner.runner.run(job).await
    }

    /// As `run`, with the separate permit: waits only for other jobs of this kind.
    pub(crate) async fn run_quick(&self, job: Job) -> Result<Bytes, EngineError> {
        self.inner.quick_runner.run(job).await
    }

    pub(crate) fn runner(&self) -> &Runner {
        &self.inner.runner
    }

    /// Errors with [`EngineError::MissingEncoder`] unless this build has `name`.
    pub(crate) fn require_encoder(&self, name: &'static str) -> Result<(), EngineError> {
        if self.inner.encoders.contains(name) { Ok(()) } else { Err(EngineError::MissingEncoder(name)) }
    }

    /// Errors with [`EngineError::MissingFilter`] unless this build has `name`.
    pub(crate) fn require_filter(&self, name: &'static str) -> Result<(), EngineError> {
        if self.inner.filters.contains(name) { Ok(()) } else { Err(EngineError::MissingFilter(name)) }
    }
}

/// Reads the capabilities from the cache file, or queries the program and writes that file.
async fn capabilities(runner: &Runner, cache: Option<&Path>) -> Result<Capabilities, EngineError> {
    let program = &runner.sandbox.program;
    if let Some(cached) = cache.and_then(|file| Capabilities::load(file, program)) {
        return Ok(cached);
    }
    let version = query(runner, "-version").await?;
    if !Version::parse(&version).is_some_and(|version| version.is_supported()) {
        // The caller rejects it by its version.
        let (encoders, filters, decoders) = (String::new(), String::new(), String::new());
        return Ok(Capabilities { version, encoders, filters, decoders });
    }
    let (encoders, filters) = (query(runner, "-encoders").await?, query(runner, "-filters").await?);
    let decoders = query(runner, "-decoders").await?;
    let capabilities = Capabilities { version, encoders, filters, decoders };
    if let Some(file) = cache
        && let Err(error) = capabilities.store(file, program)
    {
        tracing::warn!(%error, "the capabilities of ffmpeg cannot be cached; the next start probes it again");
    }
    Ok(capabilities)
}

/// Queries the program for one kind of capability.
async fn query(runner: &Runner, question: &'static str) -> Result<String, EngineError> {
    let mut arguments = quiet_arguments();
    push(&mut arguments, [question]);
    let job = Job {
        kind: "ask",
        arguments,
        input: Bytes::new(),
        files: Files::default(),
        limits: QUERY_LIMITS,
        priority: Priority::Viewer,
        is_probe: false,
    };
    match runner.run(job).await {
        Ok(answer) => Ok(String::from_utf8_lossy(&answer).into_owned()),
        Err(EngineError::Failed { .. }) => Err(EngineError::NotUsable(runner.sandbox.program.clone())),
        Err(error) => Err(error),
    }
}

/// The absolute path of the program.
fn locate(setting: Option<PathBuf>) -> Result<PathBuf, EngineError> {
    let path = setting.or_else(|| find_in_path(&env::var_os("PATH")?));
    let path = path.ok_or_else(|| EngineError::NotFound(PathBuf::from(PROGRAM)))?;
    let is_program = |path: &PathBuf| is_executable(path);
    path.canonicalize().ok().filter(is_program).ok_or(EngineError::NotFound(path))
}

fn find_in_path(folders: &OsStr) -> Option<PathBuf> {
    env::split_paths(folders).map(|folder| folder.join(PROGRAM)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
