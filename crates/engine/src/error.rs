//! What can go wrong with the engine, as its callers can act on it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why the engine gave no result.
///
/// No variant carries a command line or a word of ffmpeg's output: those go to the log only.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// There is no such program. The operator must install it or correct the setting.
    #[error("no media engine at {}", .0.display())]
    NotFound(PathBuf),
    /// The program is there, but is no ffmpeg that starts inside its confinement.
    #[error("the program {} does not work as media engine", .0.display())]
    NotUsable(PathBuf),
    /// The program is older than ffmpeg 5.1. Holds the version it says it has.
    #[error("ffmpeg {0} is too old, 5.1 or newer is needed")]
    TooOld(String),
    /// This build of ffmpeg lacks the named encoder.
    #[error("this ffmpeg has no encoder {0}")]
    MissingEncoder(&'static str),
    /// This build of ffmpeg lacks the named filter.
    #[error("this ffmpeg has no filter {0}")]
    MissingFilter(&'static str),
    /// What was asked for makes no sense; nothing was started. Says which part: a fault of the caller.
    #[error("no such run is possible: {0}")]
    Impossible(&'static str),
    /// Too many jobs wait already. Try again later.
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
    /// The output passed the limit of its kind; the process was killed.
    #[error("output of more than {max_bytes} bytes")]
    OutputTooLarge {
        /// The limit.
        max_bytes: u64,
    },
    /// The process did not end within its deadline, or moved no byte for so long, and was killed.
    #[error("no result within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The process used all of its processor time and was ended.
    #[error("no result within {} s of processor time", .0.as_secs_f64())]
    CpuExhausted(Duration),
    /// The process was refused memory beyond its limit, and gave up saying so. One that crashed instead has
    /// [`Failed`](Self::Failed).
    #[error("no result within {max_bytes} bytes of memory")]
    MemoryExhausted {
        /// The limit.
        max_bytes: u64,
    },
    /// There is no room left for the file that the process wrote. Nothing of it stays.
    #[error("no room for the file that is made")]
    NoRoom,
    /// What feeds the run failed; the process was killed.
    #[error("the input of the media engine ended early")]
    Input(#[source] io::Error),
    /// The process ended by itself with an error, or crashed (`exit` is `None`, a signal).
    /// The input is the likely cause: trying again gives the same.
    #[error("the media engine could not read the input")]
    Failed {
        /// Exit code of the process; `None` when a signal ended it.
        exit: Option<i32>,
    },
    /// The process was killed, and not for what it used: the machine had no memory left.
    #[error("the media engine was killed")]
    Killed,
    /// The process ended well without a picture: nothing in the input could be shown.
    #[error("no picture in the input")]
    NoPicture,
    /// The process could not be started, or its pipes failed: the machine is the cause, not the input.
    #[error("the media engine could not be started")]
    Spawn(#[source] io::Error),
}

impl EngineError {
    /// Whether the machine is to blame, or whoever set it up: the program is missing or another one, or no
    /// process can live here. It says nothing about the input, and once that is mended the same run may end
    /// well.
    pub fn is_of_machine(&self) -> bool {
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
    pub fn is_of_input(&self) -> bool {
        matches!(
            self,
            Self::Failed { .. }
                | Self::NoPicture
                | Self::CpuExhausted(_)
                | Self::MemoryExhausted { .. }
                | Self::InputTooLarge { .. }
                | Self::OutputTooLarge { .. }
        )
    }
}
