//! Making what is missing of some rungs while nobody needs the engine: one decode for all of them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use kinora_engine::{ENCODE_RUNGS_MAX, Priority};
use kinora_index::Rung;

use super::RungLine;
use super::order::Order;
use super::run::{Made, Run};
use crate::{Error, Packaged, Packager};

/// Segments of one run: as many as the work that a crash may lose is worth the start of a process.
const RUN_SEGMENTS_MAX: usize = 16;

/// How far a fill is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillProgress {
    /// Segments of all rungs that are kept, or were given up.
    pub done: u64,
    /// Segments of all rungs.
    pub of: u64,
}

/// A rung that is filled.
struct Filled {
    rung: Rung,
    line: Arc<RungLine>,
    missing: BTreeSet<u32>,
}

impl Packager {
    /// Makes what is missing of these rungs, segment by segment, and tells how far it is after each.
    ///
    /// Skips what is kept, so it goes on where an earlier call ended; dropping it ends it. Its processes give
    /// way to all others. A segment that cannot be made is left out. Errors: those of the stores, and
    /// [`Error::Busy`].
    pub async fn fill(
        &self,
        packaged: &Arc<Packaged>,
        rungs: &[Rung],
        mut progress: impl FnMut(FillProgress),
    ) -> Result<(), Error> {
        let count = packaged.encoded_count();
        let mut filled = Vec::new();
        for rung in rungs.iter().take(ENCODE_RUNGS_MAX) {
            let line = self.line(packaged, rung).await?;
            if line.is_broken() {
                continue;
            }
            line.begin(&self.store, self.clock.now()).await?;
            let kept = self.kept(line.id).await?;
            filled.push(Filled {
                rung: rung.clone(),
                line,
                missing: (0..count).filter(|n| !kept.contains(n)).collect(),
            });
        }
        let of = u64::from(count) * filled.len() as u64;
        let mut tell = |filled: &[Filled]| {
            let missing: usize = filled.iter().map(|rung| rung.missing.len()).sum();
            progress(FillProgress { done: of.saturating_sub(missing as u64), of });
        };
        tell(&filled);
        while let Some((missing, of_run)) = next(&filled) {
            // What lies behind an edit that jumps comes in the next round.
            let numbers =
                packaged.index().encoded_runs(missing.clone()).into_iter().next().unwrap_or(missing);
            let order = Order {
                numbers: numbers.clone(),
                rungs: of_run.iter().map(|place| filled[*place].rung.clone()).collect(),
                priority: Priority::Background,
                is_tolerant: false,
                begun: Box::new(|| {}),
            };
            let mut run = Run::begin(self, packaged, order).await?;
            loop {
                match run.next().await {
                    Ok(Some(made)) => self.keep_filled(packaged, &mut filled, made).await?,
                    Ok(None) => break,
                    Err(error) if error.is_of_run() => {
                        tracing::warn!(presentation.id = %packaged.presentation, error = %error, "a fill left segments out");
                        break;
                    }
                    Err(error) => return Err(error),
                }
                tell(&filled);
            }
            // What did not come will not come now.
            for place in of_run {
                filled[place].missing.retain(|n| !numbers.contains(n));
            }
            tell(&filled);
        }
        Ok(())
    }

    async fn keep_filled(&self, packaged: &Packaged, filled: &mut [Filled], made: Made) -> Result<(), Error> {
        let Some(rung) = filled.iter_mut().find(|filled| filled.rung.name == made.rung) else {
            return Ok(());
        };
        if let (true, Ok(bytes)) = (rung.missing.remove(&made.number), made.outcome) {
            self.keep(packaged, &rung.line, made.number, bytes).await?;
            rung.line.state().kept(made.number);
        }
        Ok(())
    }
}

/// The next segments that are missing in the same rungs, and the places of these.
fn next(filled: &[Filled]) -> Option<(Range<u32>, Vec<usize>)> {
    let first = filled.iter().filter_map(|rung| rung.missing.first()).min().copied()?;
    let missing_in = |n: u32| -> Vec<usize> {
        let rungs = filled.iter().enumerate().filter(|(_, rung)| rung.missing.contains(&n));
        rungs.map(|(place, _)| place).collect()
    };
    let rungs = missing_in(first);
    let more = (first + 1..).take(RUN_SEGMENTS_MAX - 1).take_while(|n| missing_in(*n) == rungs).count();
    Some((first..first + 1 + u32::try_from(more).unwrap_or(0), rungs))
}
