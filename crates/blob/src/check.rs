//! Tries whether a store keeps its promises, for the person who has just set it up.

use std::error::Error as _;
use std::time::Duration;

use bytes::Bytes;
use kinora_domain::{Random, sentence_with_causes};
use tokio::time::Instant;

use crate::{Blob, CheckId, Error, ObjectKey, Prefix, PutOutcome};

/// Longer than one part of an upload, so that two are sent.
const LONG_LEN: usize = (8 << 20) + 1000;

/// What is tried, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckStep {
    /// An object is written.
    Write,
    /// It is read back.
    Read,
    /// A part of it is read.
    RangeRead,
    /// A second write of the same key must leave it as it is.
    ConditionalWrite,
    /// A long object is written in parts and read back.
    Multipart,
    /// Both are found in a listing.
    List,
    /// Both are removed, and gone afterwards.
    Delete,
}

impl CheckStep {
    /// Every step, in order.
    pub const ALL: [Self; 7] = [
        Self::Write,
        Self::Read,
        Self::RangeRead,
        Self::ConditionalWrite,
        Self::Multipart,
        Self::List,
        Self::Delete,
    ];

    /// What is tried, in words: `range read`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::RangeRead => "range read",
            Self::ConditionalWrite => "conditional write",
            Self::Multipart => "multipart",
            Self::List => "list",
            Self::Delete => "delete",
        }
    }
}

/// What a step came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutcome {
    /// The store does it.
    Passed,
    /// It does not.
    Failed {
        /// What happened, with its causes. Names no secret.
        problem: String,
        /// What a person can do about it.
        remedy: String,
    },
    /// A step that this one builds on has failed.
    NotTried,
}

/// A step that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedStep {
    /// Which one.
    pub step: CheckStep,
    /// What it came to.
    pub outcome: CheckOutcome,
    /// How long it took.
    pub took: Duration,
}

/// Tries a store step by step, and tells `each` as soon as a step is over. Answers all steps.
///
/// Works under keys of its own, beside whoever uses the store, and removes them at the end; what a check that
/// was killed leaves is swept ([`Blob::sweep_temporary`]).
pub async fn check(blob: &Blob, random: &dyn Random, mut each: impl FnMut(&CheckedStep)) -> Vec<CheckedStep> {
    let run = Run { blob, id: CheckId::new(random) };
    let mut done: Vec<CheckedStep> = Vec::new();
    for step in CheckStep::ALL {
        let begun = Instant::now();
        let has_passed = |of: CheckStep| {
            done.iter().any(|checked| checked.step == of && checked.outcome == CheckOutcome::Passed)
        };
        // Without an object there is nothing to look at. What can be removed is removed in any case.
        let builds_on_write = matches!(
            step,
            CheckStep::Read | CheckStep::RangeRead | CheckStep::ConditionalWrite | CheckStep::List
        );
        let outcome = if builds_on_write && !has_passed(CheckStep::Write) {
            CheckOutcome::NotTried
        } else {
            match run.step(step).await {
                Ok(()) => CheckOutcome::Passed,
                Err(problem) => problem.into(),
            }
        };
        let checked = CheckedStep { step, outcome, took: begun.elapsed() };
        each(&checked);
        done.push(checked);
    }
    done
}

struct Run<'a> {
    blob: &'a Blob,
    id: CheckId,
}

/// Why a step failed.
enum Problem {
    Store(Error),
    /// The store answered, but not as it must.
    Broken {
        what: String,
        remedy: &'static str,
    },
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<Problem> for CheckOutcome {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Broken { what, remedy } => Self::Failed { problem: what, remedy: remedy.to_owned() },
            Problem::Store(error) => {
                // A refusal names its remedy by itself, too; once is enough.
                let problem = match &error {
                    Error::Refused { action, .. } => format!("the object store refused to {action}"),
                    other => other.to_string(),
                };
                let problem = sentence_with_causes(problem, error.source());
                Self::Failed { problem, remedy: remedy(&error).to_owned() }
            }
        }
    }
}

fn remedy(error: &Error) -> &'static str {
    match error {
        Error::Refused { remedy, .. } => remedy,
        Error::Full => "make room in the store, or raise its quota",
        Error::Unavailable { .. } => {
            "see that the store runs, that its address is right and that this machine can reach it, then check again"
        }
        _ => "see what the store's own log says about this moment",
    }
}

const USE_ANOTHER: &str = "use a store that knows this call, or a newer version of this one";

impl Run<'_> {
    fn short(&self) -> ObjectKey {
        ObjectKey::Check(self.id, 0)
    }

    fn long(&self) -> ObjectKey {
        ObjectKey::Check(self.id, 1)
    }

    async fn step(&self, step: CheckStep) -> Result<(), Problem> {
        match step {
            CheckStep::Write => self.write().await,
            CheckStep::Read => self.read().await,
            CheckStep::RangeRead => self.range_read().await,
            CheckStep::ConditionalWrite => self.conditional_write().await,
            CheckStep::Multipart => self.multipart().await,
            CheckStep::List => self.list().await,
            CheckStep::Delete => self.delete().await,
        }
    }

    async fn write(&self) -> Result<(), Problem> {
        match self.blob.put_once(self.short(), FIRST.into()).await? {
            PutOutcome::Written => Ok(()),
            PutOutcome::AlreadyThere => Err(broken("a new key was said to be taken", USE_ANOTHER)),
        }
    }

    async fn read(&self) -> Result<(), Problem> {
        same(self.blob.get(self.short()).await?, FIRST.as_bytes())
    }

    async fn range_read(&self) -> Result<(), Problem> {
        let Some(reader) = self.blob.reader(self.short()).await? else { return Err(absent()) };
        if reader.len() != FIRST.len() as u64 {
            let what = format!("an object of {} bytes was said to have {}", FIRST.len(), reader.len());
            return Err(broken(what, USE_ANOTHER));
        }
        same(Some(reader.read_at(4..10).await?), &FIRST.as_bytes()[4..10])
    }

    async fn conditional_write(&self) -> Result<(), Problem> {
        const ONE_WINS: &str = "use a store that refuses a PUT with If-None-Match: * for a key that is taken; two servers could \
                                otherwise overwrite each other's objects";
        if self.blob.put_once(self.short(), SECOND.into()).await? == PutOutcome::Written {
            return Err(broken("a second write of one key was not refused", ONE_WINS));
        }
        same(self.blob.get(self.short()).await?, FIRST.as_bytes())
    }

    async fn multipart(&self) -> Result<(), Problem> {
        let bytes: Bytes = (0..LONG_LEN).map(|at| u8::try_from(at % 251).unwrap_or(0)).collect();
        let mut writer = self.blob.writer(self.long()).await?;
        writer.write(bytes.clone()).await?;
        writer.finish().await?;
        same(self.blob.get(self.long()).await?, &bytes)
    }

    async fn list(&self) -> Result<(), Problem> {
        let listed = self.blob.list(Prefix::CheckOf(self.id), None, 10).await?;
        if listed.iter().any(|entry| entry.key == self.short() && entry.len == FIRST.len() as u64) {
            return Ok(());
        }
        Err(broken(
            "an object that was written is missing in a listing",
            "use a store whose listings show an object at once",
        ))
    }

    async fn delete(&self) -> Result<(), Problem> {
        for key in [self.short(), self.long()] {
            self.blob.delete(key).await?;
            if self.blob.get(key).await?.is_some() {
                return Err(broken(
                    "an object that was removed can still be read",
                    "use a store that removes an object at once",
                ));
            }
        }
        Ok(())
    }
}

/// Of equal length, so that only their bytes tell which one is there.
const FIRST: &str = "written first by kinora storage check";
const SECOND: &str = "written again by kinora storage check";

fn broken(what: impl Into<String>, remedy: &'static str) -> Problem {
    Problem::Broken { what: what.into(), remedy }
}

fn absent() -> Problem {
    broken(
        "an object that was written is not there",
        "use a store that shows an object as soon as it has acknowledged it",
    )
}

fn same(found: Option<Bytes>, expected: &[u8]) -> Result<(), Problem> {
    match found {
        None => Err(absent()),
        Some(found) if found == expected => Ok(()),
        Some(_) => Err(broken("other bytes came back than were written", USE_ANOTHER)),
    }
}
