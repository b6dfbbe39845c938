//! Checks whether a store meets its guarantees, for the person who has just set it up.

use std::error::Error as _;
use std::time::Duration;

use bytes::Bytes;
use kinora_domain::{Random, sentence_with_causes};
use tokio::time::Instant;

use crate::{Blob, CheckId, Error, ObjectKey, Prefix, PutOutcome};

/// Longer than one part of an upload, so that two are sent.
const LONG_LEN: usize = (8 << 20) + 1000;

/// The steps of a check, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckStep {
    /// An object is written.
    Write,
    /// It is read back.
    Read,
    /// A range of it is read.
    RangeRead,
    /// A second write of the same key must not change it.
    ConditionalWrite,
    /// A long object is written in parts and read back.
    Multipart,
    /// Both are listed.
    List,
    /// Both are deleted, and absent afterwards.
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

    /// The name of the step in words: `range read`.
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

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutcome {
    /// The store passed.
    Passed,
    /// The store failed.
    Failed {
        /// The problem, with its causes. Names no secret.
        problem: String,
        /// The remedy for a person.
        remedy: String,
    },
    /// An earlier step that this one needs has failed.
    NotTried,
}

/// A finished step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedStep {
    /// The step.
    pub step: CheckStep,
    /// Its result.
    pub outcome: CheckOutcome,
    /// Its duration.
    pub took: Duration,
}

/// Checks a store step by step, and calls `report` with each finished step. Returns all steps.
///
/// Uses its own keys, concurrently with other users of the store, and deletes them at the end. A sweep
/// ([`Blob::sweep_temporary`]) removes the objects of a killed check.
pub async fn check(
    blob: &Blob,
    random: &dyn Random,
    mut report: impl FnMut(&CheckedStep),
) -> Vec<CheckedStep> {
    let run = CheckRun { blob, id: CheckId::new(random) };
    let mut done: Vec<CheckedStep> = Vec::new();
    for step in CheckStep::ALL {
        let begun = Instant::now();
        let has_passed = |required: CheckStep| {
            done.iter().any(|checked| checked.step == required && checked.outcome == CheckOutcome::Passed)
        };
        // Without an object the other steps cannot run. Delete runs in any case.
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
        report(&checked);
        done.push(checked);
    }
    done
}

struct CheckRun<'a> {
    blob: &'a Blob,
    id: CheckId,
}

/// Why a step failed.
enum Problem {
    Store(Error),
    /// The store responded, but wrongly.
    WrongResponse {
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
            Problem::WrongResponse { what, remedy } => {
                Self::Failed { problem: what, remedy: remedy.to_owned() }
            }
            Problem::Store(error) => {
                // The text of a rejection contains its remedy too; the remedy is shown once.
                let problem = match &error {
                    Error::Rejected { action, .. } => format!("the object store refused to {action}"),
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
        Error::Rejected { remedy, .. } => remedy,
        Error::Full => "free disk space in the store, or raise its quota",
        Error::Unavailable { .. } => {
            "check that the store runs, that its URL is correct and that this machine can reach it, then try again"
        }
        _ => "check the log of the store for this time",
    }
}

const USE_ANOTHER: &str = "use a store that supports this call, or a newer version of this one";

impl CheckRun<'_> {
    fn short_key(&self) -> ObjectKey {
        ObjectKey::Check(self.id, 0)
    }

    fn long_key(&self) -> ObjectKey {
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
        match self.blob.put_once(self.short_key(), FIRST_TEXT.into()).await? {
            PutOutcome::Written => Ok(()),
            PutOutcome::AlreadyThere => {
                Err(wrong_response("the store reported a new key as taken", USE_ANOTHER))
            }
        }
    }

    async fn read(&self) -> Result<(), Problem> {
        expect_same(self.blob.get(self.short_key()).await?, FIRST_TEXT.as_bytes())
    }

    async fn range_read(&self) -> Result<(), Problem> {
        let Some(reader) = self.blob.reader(self.short_key()).await? else { return Err(absent()) };
        if reader.len() != FIRST_TEXT.len() as u64 {
            let what = format!("an object of {} bytes was said to have {}", FIRST_TEXT.len(), reader.len());
            return Err(wrong_response(what, USE_ANOTHER));
        }
        expect_same(Some(reader.read_at(4..10).await?), &FIRST_TEXT.as_bytes()[4..10])
    }

    async fn conditional_write(&self) -> Result<(), Problem> {
        const ONE_WINS: &str = "use a store that rejects a PUT with If-None-Match: * for an existing key; \
            otherwise two servers could overwrite each other's objects";
        if self.blob.put_once(self.short_key(), SECOND_TEXT.into()).await? == PutOutcome::Written {
            return Err(wrong_response("a second write of one key was not rejected", ONE_WINS));
        }
        expect_same(self.blob.get(self.short_key()).await?, FIRST_TEXT.as_bytes())
    }

    async fn multipart(&self) -> Result<(), Problem> {
        let bytes: Bytes = (0..LONG_LEN).map(|at| u8::try_from(at % 251).unwrap_or(0)).collect();
        let mut writer = self.blob.writer(self.long_key()).await?;
        writer.write(bytes.clone()).await?;
        writer.finish().await?;
        expect_same(self.blob.get(self.long_key()).await?, &bytes)
    }

    async fn list(&self) -> Result<(), Problem> {
        let listed = self.blob.list(Prefix::CheckOf(self.id), None, 10).await?;
        if listed.iter().any(|entry| entry.key == self.short_key() && entry.len == FIRST_TEXT.len() as u64) {
            return Ok(());
        }
        Err(wrong_response(
            "an object that was written is missing in a listing",
            "use a store whose listings show an object at once",
        ))
    }

    async fn delete(&self) -> Result<(), Problem> {
        for key in [self.short_key(), self.long_key()] {
            self.blob.delete(key).await?;
            if self.blob.get(key).await?.is_some() {
                return Err(wrong_response(
                    "an object that was removed can still be read",
                    "use a store that removes an object at once",
                ));
            }
        }
        Ok(())
    }
}

/// Of equal length, so that only their bytes differ.
const FIRST_TEXT: &str = "written first by kinora storage check";
const SECOND_TEXT: &str = "written again by kinora storage check";

fn wrong_response(what: impl Into<String>, remedy: &'static str) -> Problem {
    Problem::WrongResponse { what: what.into(), remedy }
}

fn absent() -> Problem {
    wrong_response(
        "an object that was written is missing",
        "use a store that shows an object as soon as it has acknowledged it",
    )
}

fn expect_same(found: Option<Bytes>, expected: &[u8]) -> Result<(), Problem> {
    match found {
        None => Err(absent()),
        Some(found) if found == expected => Ok(()),
        Some(_) => Err(wrong_response("the store returned other bytes than were written", USE_ANOTHER)),
    }
}
