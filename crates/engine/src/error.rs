//! Errors of the engine that callers can act on.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// An error of the engine.
///
/// No variant contains a command line or output of ffmpeg: those go to the log only.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// There is no such program. The operator must install it or correct the setting.
    #[error("no ffmpeg at {}", .0.display())]
    NotFound(PathBuf),
    /// The program is there, but is no ffmpeg that starts inside its confinement.
    #[error("the program {} does not work as ffmpeg", .0.display())]
    NotUsable(PathBuf),
    /// The program is older than ffmpeg 5.1. Contains the version it reports.
    #[error("ffmpeg {0} is too old, 5.1 or newer is needed")]
    TooOld(String),
    /// This build of ffmpeg lacks the named encoder.
    #[error("this ffmpeg has no encoder {0}")]
    MissingEncoder(&'static str),
    /// This build of ffmpeg lacks the named filter.
    #[error("this ffmpeg has no filter {0}")]
    MissingFilter(&'static str),
    /// The request makes no sense; nothing was started. States the wrong part: a bug of the caller.
    #[error("no such run is possible: {0}")]
    InvalidSpec(&'static str),
    /// Too many jobs wait already. Retry later.
    #[error("the media engine is busy")]
    Busy,
    /// The input is larger than the named limit; nothing was started.
    #[error("input of {size_bytes} bytes, at most {max_bytes} are allowed")]
    InputTooLarge {
        /// Size of the input.
        size_bytes: u64,
        /// The limit.
        max_bytes: u64,
    },
    /// The output exceeded the limit of its kind; the process was killed.
    #[error("output of more than {max_bytes} bytes")]
    OutputTooLarge {
        /// The limit.
        max_bytes: u64,
    },
    /// The process did not end within its deadline, or moved no byte for this time, and was killed.
    #[error("no result within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The process used all of its processor time and was ended.
    #[error("no result within {} s of processor time", .0.as_secs_f64())]
    CpuExhausted(Duration),
    /// The process got no memory beyond its limit, and ended with that message. One that crashed instead has
    /// [`Failed`](Self::Failed).
    #[error("no result within {max_bytes} bytes of memory")]
    MemoryExhausted {
        /// The limit.
        max_bytes: u64,
    },
    /// The disk is full, so the process could not write its file. The file is removed.
    #[error("no disk space for the output file")]
    DiskFull,
    /// The source of the input failed; the process was killed.
    #[error("the input of the media engine ended early")]
    Input(#[source] io::Error),
    /// The process ended by itself with an error, or crashed (`exit` is `None`, a signal). The input is the
    /// likely cause: a retry gives the same.
    #[error("the media engine could not read the input")]
    Failed {
        /// Exit code of the process; `None` when a signal ended it.
        exit: Option<i32>,
    },
    /// The kernel killed the process although it was within its limits: the machine had no memory left.
    #[error("the media engine was killed")]
    Killed,
    /// The process ended well without a frame: nothing in the input could be shown.
    #[error("no frame in the input")]
    NoFrame,
    /// The process could not be started, or its pipes failed: the machine is the cause, not the input.
    #[error("the media engine could not be started")]
    Spawn(#[source] io::Error),
}

impl EngineError {
    /// Whether the machine or its setup is the cause: the program is missing or another one, or no process
    /// can live here. It says nothing about the input, and the same run may succeed after a repair.
    pub fn is_machine_fault(&self) -> bool {
        matches!(
            self,
            Self::NotFound(_)
                | Self::NotUsable(_)
                | Self::TooOld(_)
                | Self::MissingEncoder(_)
                | Self::MissingFilter(_)
                | Self::Killed
                | Self::Spawn(_)
        )
    }

    /// Whether the input is the cause: the same bytes give the same error on any machine.
    pub fn is_input_fault(&self) -> bool {
        matches!(
            self,
            Self::Failed { .. }
                | Self::NoFrame
                | Self::CpuExhausted(_)
                | Self::MemoryExhausted { .. }
                | Self::InputTooLarge { .. }
                | Self::OutputTooLarge { .. }
        )
    }
}
