//! The engine: one ffmpeg that was found, asked what it is, and can be put to work.

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
use crate::confine::Cage;
use crate::error::EngineError;
use crate::input;
use crate::job::{Files, Job, Limits, push, quiet};
use crate::priority::Priority;
use crate::run::Runner;
use crate::version::{self, Version};

/// The name looked for in `PATH`.
const PROGRAM: &str = "ffmpeg";

/// What asking an ffmpeg for its version or its encoders may use. It takes a tenth of a second.
const ASKING: Limits = Limits {
    deadline: Duration::from_secs(20),
    cpu: Duration::from_secs(10),
    memory_bytes: 256 << 20,
    output_max: 1 << 20,
    file_max: 0,
};

/// What an operator may set.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Path of ffmpeg. `None`: the first `ffmpeg` in `PATH`.
    pub program: Option<PathBuf>,
    /// Files and directories ffmpeg may read and run beside the system's own libraries: where an ffmpeg that
    /// was installed elsewhere keeps its own. Its children see nothing else but the bytes of their job.
    pub readable: Vec<PathBuf>,
    /// Processes at the same time. `None`: one a core, within what control groups allow.
    pub jobs_max: Option<NonZeroUsize>,
    /// Caches version, encoders, filters and decoders of ffmpeg in this file, until the program file changes.
    /// `None`: [`Engine::find`] asks ffmpeg each time. Tests set it, because each test is a process.
    pub capabilities_cache: Option<PathBuf>,
}

/// An ffmpeg that works. Cheap to clone; clones share the places for processes.
#[derive(Debug, Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    runner: Runner,
    /// One place beside those of `runner`, for what takes a moment and must not wait for an encode.
    aside: Runner,
    version: Version,
    encoders: BTreeSet<String>,
    filters: BTreeSet<String>,
}

impl Engine {
    /// Finds ffmpeg, starts it four times inside its confinement, and learns what it can do. A hit in
    /// [`Settings::capabilities_cache`] starts nothing.
    ///
    /// Errors: [`NotFound`](EngineError::NotFound), [`NotUsable`](EngineError::NotUsable) for a program that
    /// does not start there or is no ffmpeg, [`TooOld`](EngineError::TooOld) below 5.1, and those of every
    /// run.
    pub async fn find(settings: Settings) -> Result<Self, EngineError> {
        let program = locate(settings.program)?;
        let cage = Cage::new(program.clone(), settings.readable);
        let mut runner = Runner::new(cage, Admission::new(settings.jobs_max));
        let capabilities = capabilities(&runner, settings.capabilities_cache.as_deref()).await?;
        let version = Version::parse(&capabilities.version).ok_or(EngineError::NotUsable(program))?;
        if !version.is_enough() {
            return Err(EngineError::TooOld(version.to_string()));
        }
        let encoders = version::encoders(&capabilities.encoders).map(str::to_owned).collect();
        let filters = version::filters(&capabilities.filters).map(str::to_owned).collect();
        runner.decoders = input::decoders(version::decoders(&capabilities.decoders)).into();
        if runner.decoders.is_empty() {
            return Err(EngineError::NotUsable(runner.cage.program.clone()));
        }
        let aside = Runner { admission: Admission::new(Some(NonZeroUsize::MIN)), ..runner.clone() };
        Ok(Self { inner: Arc::new(Inner { runner, aside, version, encoders, filters }) })
    }

    /// Which ffmpeg this is.
    pub fn version(&self) -> &Version {
        &self.inner.version
    }

    /// Where it lies: an absolute path, symbolic links resolved.
    pub fn program(&self) -> &Path {
        &self.inner.runner.cage.program
    }

    /// The names of the decoders that its runs may open, sorted, with a comma between.
    pub fn decoders(&self) -> &str {
        &self.inner.runner.decoders
    }

    /// How busy it is. Changes at any time; meant for deciding what to offer, not whether a job gets a place.
    pub fn load(&self) -> Load {
        self.inner.runner.admission.load()
    }

    /// Runs `job`; see [`Runner::run`].
    pub(crate) async fn run(&self, job: Job) -> Result<Bytes, EngineError> {
        self.inner.runner.run(job).await
    }

    /// The same beside all other jobs: waits only for others that are run in this way.
    pub(crate) async fn run_aside(&self, job: Job) -> Result<Bytes, EngineError> {
        self.inner.aside.run(job).await
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

/// Reads the capabilities from the cache file, or asks the program and writes that file.
async fn capabilities(runner: &Runner, cache: Option<&Path>) -> Result<Capabilities, EngineError> {
    let program = &runner.cage.program;
    if let Some(cached) = cache.and_then(|file| Capabilities::load(file, program)) {
        return Ok(cached);
    }
    let version = ask(runner, "-version").await?;
    if !Version::parse(&version).is_some_and(|version| version.is_enough()) {
        // The caller rejects it by its version.
        let (encoders, filters, decoders) = (String::new(), String::new(), String::new());
        return Ok(Capabilities { version, encoders, filters, decoders });
    }
    let (encoders, filters) = (ask(runner, "-encoders").await?, ask(runner, "-filters").await?);
    let decoders = ask(runner, "-decoders").await?;
    let capabilities = Capabilities { version, encoders, filters, decoders };
    if let Some(file) = cache
        && let Err(error) = capabilities.store(file, program)
    {
        tracing::warn!(%error, "the capabilities of ffmpeg cannot be cached; the next start asks it again");
    }
    Ok(capabilities)
}

/// Asks the program one question about itself.
async fn ask(runner: &Runner, question: &'static str) -> Result<String, EngineError> {
    let mut arguments = quiet();
    push(&mut arguments, [question]);
    let job = Job {
        kind: "ask",
        arguments,
        input: Bytes::new(),
        files: Files::default(),
        limits: ASKING,
        priority: Priority::Viewer,
        is_try: false,
    };
    match runner.run(job).await {
        Ok(answer) => Ok(String::from_utf8_lossy(&answer).into_owned()),
        Err(EngineError::Failed { .. }) => Err(EngineError::NotUsable(runner.cage.program.clone())),
        Err(error) => Err(error),
    }
}

/// The absolute path of the program.
fn locate(setting: Option<PathBuf>) -> Result<PathBuf, EngineError> {
    let path = setting.or_else(|| in_path(&env::var_os("PATH")?));
    let path = path.ok_or_else(|| EngineError::NotFound(PathBuf::from(PROGRAM)))?;
    let is_program = |path: &PathBuf| is_executable(path);
    path.canonicalize().ok().filter(is_program).ok_or(EngineError::NotFound(path))
}

fn in_path(folders: &OsStr) -> Option<PathBuf> {
    env::split_paths(folders).map(|folder| folder.join(PROGRAM)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
