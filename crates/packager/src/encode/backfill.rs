//! Backfill: encodes the missing segments of some rungs while the engine is idle, with one decode for all of
//! them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use kinora_engine::{ENCODE_RUNGS_MAX, Priority};
use kinora_index::Rung;

use super::ActiveRendition;
use super::encode_spec::EncodeSpec;
use super::run::{EncodeRun, EncodedSegment};
use crate::{Error, Packaged, Packager};

/// Segments of one run. A crash loses at most this work, which is worth about one start of a process.
const RUN_SEGMENTS_MAX: usize = 16;

/// Progress of a backfill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackfillProgress {
    /// Segments of all rungs that are stored or were given up.
    pub done: u64,
    /// Segments of all rungs.
    pub total: u64,
}

/// A rung of the backfill.
struct BackfillRung {
    rung: Rung,
    rendition: Arc<ActiveRendition>,
    missing: BTreeSet<u32>,
}

impl Packager {
    /// Encodes the missing segments of these rungs one by one, and reports progress after each.
    ///
    /// Skips stored segments, so a second call continues where an earlier one ended. Dropping the future
    /// ends it. Its processes have the lowest priority. Skips a segment that cannot be encoded. Errors:
    /// those of the stores, and [`Error::Busy`].
    pub async fn backfill(
        &self,
        packaged: &Arc<Packaged>,
        rungs: &[Rung],
        mut progress: impl FnMut(BackfillProgress),
    ) -> Result<(), Error> {
        let count = packaged.rung_segment_count();
        let mut backfills = Vec::new();
        for rung in rungs.iter().take(ENCODE_RUNGS_MAX) {
            let rendition = self.active_rendition(packaged, rung).await?;
            if rendition.is_broken() {
                continue;
            }
            rendition.ensure_row(&self.store, self.clock.now()).await?;
            let stored = self.stored_segments(rendition.id).await?;
            backfills.push(BackfillRung {
                rung: rung.clone(),
                rendition,
                missing: (0..count).filter(|n| !stored.contains(n)).collect(),
            });
        }
        let total = u64::from(count) * backfills.len() as u64;
        let mut report = |filled: &[BackfillRung]| {
            let missing: usize = filled.iter().map(|rung| rung.missing.len()).sum();
            progress(BackfillProgress { done: total.saturating_sub(missing as u64), total });
        };
        report(&backfills);
        while let Some((missing, rung_indexes)) = next_missing(&backfills) {
            // Segments after a jump of an edit list come in the next round.
            let numbers =
                packaged.index().encoded_runs(missing.clone()).into_iter().next().unwrap_or(missing);
            let spec = EncodeSpec {
                numbers: numbers.clone(),
                rungs: rung_indexes.iter().map(|rung_index| backfills[*rung_index].rung.clone()).collect(),
                priority: Priority::Background,
                tolerates_damage: false,
                on_start: Box::new(|| {}),
            };
            let mut run = EncodeRun::begin(self, packaged, spec).await?;
            loop {
                match run.next().await {
                    Ok(Some(segment)) => self.store_backfilled(packaged, &mut backfills, segment).await?,
                    Ok(None) => break,
                    Err(error) if error.is_run_failure() => {
                        tracing::warn!(presentation.id = %packaged.presentation, error = %error, "a backfill skipped segments");
                        break;
                    }
                    Err(error) => return Err(error),
                }
                report(&backfills);
            }
            // A segment that did not come out will not come out later.
            for place in rung_indexes {
                backfills[place].missing.retain(|n| !numbers.contains(n));
            }
            report(&backfills);
        }
        Ok(())
    }

    async fn store_backfilled(
        &self,
        packaged: &Packaged,
        backfills: &mut [BackfillRung],
        segment: EncodedSegment,
    ) -> Result<(), Error> {
        let Some(rung) = backfills.iter_mut().find(|backfill| backfill.rung.name == segment.rung) else {
            return Ok(());
        };
        if let (true, Ok(bytes)) = (rung.missing.remove(&segment.number), segment.outcome) {
            self.store_segment(packaged, &rung.rendition, segment.number, bytes).await?;
            rung.rendition.state().note_stored(segment.number);
        }
        Ok(())
    }
}

/// The next segments that are missing in the same rungs, and the indexes of these rungs.
fn next_missing(backfills: &[BackfillRung]) -> Option<(Range<u32>, Vec<usize>)> {
    let first = backfills.iter().filter_map(|rung| rung.missing.first()).min().copied()?;
    let missing_in = |n: u32| -> Vec<usize> {
        let rungs = backfills.iter().enumerate().filter(|(_, rung)| rung.missing.contains(&n));
        rungs.map(|(rung_index, _)| rung_index).collect()
    };
    let rungs = missing_in(first);
    let more = (first + 1..).take(RUN_SEGMENTS_MAX - 1).take_while(|n| missing_in(*n) == rungs).count();
    Some((first..first + 1 + u32::try_from(more).unwrap_or(0), rungs))
}
