//! The samples of one track, packed by column in blocks of 128.
//!
//! A block stores only the difference of a sample from its prediction: in most files a sample begins where
//! the last one ended, in time and mostly in bytes. The directory contains the time and byte offset at which
//! each block starts. So a sample look-up is a division, or a binary search, and the decoding of one block.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use serde::{Deserialize, Serialize, Serializer};

use super::{
    Sample,
    column::{self, BLOCK_LEN, Column},
};
use crate::{
    bytes::{Reader, Writer},
    checkpoint::byte_string,
};

/// Columns of a block, in stored order: duration, gap in decode time, composition offset, size, sync,
/// whether there is a gap in bytes. One more column follows, with only the gaps in bytes that exist.
const COLUMNS: usize = 6;
/// Readers limit a track to far fewer.
const SAMPLES_MAX: u32 = 1 << 30;

/// All samples of one track in decode order, packed. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Packed")]
pub struct SampleTable {
    packed: Arc<Packed>,
    runs: ObjectRuns,
}

/// The objects of the samples: all in object 0, except from these numbers on.
#[derive(Debug, Clone, Default, PartialEq)]
struct ObjectRuns(Arc<[ObjectRun]>);

/// All samples from this one on are in this object.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ObjectRun {
    sample: u32,
    object: u8,
}

impl ObjectRuns {
    /// The object of the sample with this number.
    fn at(&self, number: u32) -> u8 {
        let runs_before = self.0.partition_point(|run| run.sample <= number);
        runs_before.checked_sub(1).and_then(|index| self.0.get(index)).map_or(0, |run| run.object)
    }
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Packed {
    len: u32,
    blocks: Vec<Block>,
    #[serde(with = "byte_string")]
    data: Vec<u8>,
}

/// The directory entry of one block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Block {
    /// End of its bytes in the data; they begin where the block before ends.
    data_end: usize,
    /// Decode time of its first sample.
    dts: i64,
    /// Byte offset of its first sample.
    offset: u64,
    /// Largest presentation time of all samples up to its end.
    pts_max: i64,
}

impl Packed {
    fn memory_len(&self) -> usize {
        self.blocks.capacity() * size_of::<Block>() + self.data.capacity()
    }
}

/// Collects samples in decode order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SampleTableBuilder {
    pending: Vec<Sample>,
    packed: Packed,
    /// A source is read as one object, so a checkpoint stores none.
    #[serde(skip)]
    runs: Vec<ObjectRun>,
}

/// The samples of a range, in decode order. Decodes one block at a time.
#[derive(Debug, Clone)]
pub struct Samples<'a> {
    table: &'a SampleTable,
    rest: Range<u32>,
    /// The samples of the block that contains `rest.start - 1`; empty at first.
    block: Vec<Sample>,
}

impl SampleTable {
    /// Number of samples.
    pub fn len(&self) -> u32 {
        self.packed.len
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sample with this number, or `None` past the end. Decodes one block.
    pub fn get(&self, number: u32) -> Option<Sample> {
        self.range(number..number.saturating_add(1)).next()
    }

    /// The samples of a range, in decode order, clipped to the end of the table.
    pub fn range(&self, range: Range<u32>) -> Samples<'_> {
        let end = range.end.min(self.len());
        Samples { table: self, rest: range.start.min(end)..end, block: Vec::new() }
    }

    /// All samples, in decode order.
    pub fn iter(&self) -> Samples<'_> {
        self.range(0..self.len())
    }

    /// The number of the first sample in decode order that is presented at `pts` or later, in ticks of the
    /// source.
    pub fn first_at_or_after_pts(&self, pts: i64) -> Option<u32> {
        let block = self.packed.blocks.partition_point(|block| block.pts_max < pts);
        let first = u32::try_from(block * BLOCK_LEN).ok()?;
        let position = self.range(first..self.len()).position(|sample| sample.pts >= pts)?;
        Some(first + u32::try_from(position).ok()?)
    }

    /// The number of the last sync sample at or before this one in decode order.
    pub fn sync_at_or_before(&self, number: u32) -> Option<u32> {
        let mut end = number.saturating_add(1).min(self.len());
        while end > 0 {
            let start = (end - 1) / BLOCK_LEN as u32 * BLOCK_LEN as u32;
            let last_sync =
                (start..end).zip(self.range(start..end)).filter(|(_, sample)| sample.is_sync).last();
            if let Some((number, _)) = last_sync {
                return Some(number);
            }
            end = start;
        }
        None
    }

    /// The numbers of the objects that contain the samples, increasing.
    pub fn objects(&self) -> BTreeSet<u8> {
        let first = self.runs.0.first().is_none_or(|run| 0 < run.sample);
        first.then_some(0).into_iter().chain(self.runs.0.iter().map(|run| run.object)).collect()
    }

    /// The same samples, all in the object with this number.
    pub(crate) fn in_object(self, object: u8) -> Self {
        let run = (object != 0).then_some(ObjectRun { sample: 0, object });
        Self { runs: ObjectRuns(run.into_iter().collect()), ..self }
    }

    /// Whether all samples are in the object with this number.
    pub(crate) fn is_in_object(&self, object: u8) -> bool {
        self.clone().in_object(object).runs == self.runs
    }

    /// The same samples in objects with other numbers: the object `numbers[n]` becomes `n`. It has all
    /// objects of the samples, each once.
    pub(crate) fn with_objects_renumbered(self, numbers: &[u8]) -> Self {
        let new_number = |object: u8| {
            let place = numbers.iter().position(|number| *number == object);
            place.and_then(|place| u8::try_from(place).ok()).unwrap_or(object)
        };
        let starts_at_0 = self.runs.0.first().is_some_and(|run| run.sample == 0);
        let first = (!starts_at_0).then_some(ObjectRun { sample: 0, object: 0 });
        let runs = first.into_iter().chain(self.runs.0.iter().copied());
        let runs = runs.map(|run| ObjectRun { object: new_number(run.object), ..run });
        // All are in object 0 except from the runs on.
        let runs = runs.filter(|run| 0 < run.sample || run.object != 0).collect();
        Self { runs: ObjectRuns(runs), ..self }
    }

    /// Bytes in memory.
    pub fn memory_len(&self) -> usize {
        self.packed.memory_len()
    }

    /// Writes the samples without their objects.
    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.varint(u64::from(self.packed.len));
        let mut before = Block::default();
        for &block in &self.packed.blocks {
            writer.varint((block.data_end - before.data_end) as u64);
            writer.signed(block.dts.wrapping_sub(before.dts));
            writer.signed(block.offset.wrapping_sub(before.offset) as i64);
            writer.signed(block.pts_max.wrapping_sub(before.pts_max));
            before = block;
        }
        writer.string(&self.packed.data);
    }

    /// Reads the bytes of [`SampleTable::write`]. Decodes every block once, so that later look-ups cannot
    /// fail.
    ///
    /// `None` when the bytes are invalid, or when a sample is not inside the first `source_len` bytes.
    pub(crate) fn read(reader: &mut Reader<'_>, source_len: u64) -> Option<Self> {
        let len = reader.u32()?;
        let mut blocks = Vec::new();
        let mut before = Block::default();
        for _ in 0..(len as usize).div_ceil(BLOCK_LEN) {
            let block = Block {
                data_end: before.data_end.checked_add(reader.varint()?.try_into().ok()?)?,
                dts: before.dts.wrapping_add(reader.signed()?),
                offset: before.offset.wrapping_add_signed(reader.signed()?),
                pts_max: before.pts_max.wrapping_add(reader.signed()?),
            };
            blocks.push(block);
            before = block;
        }
        let data = reader.string()?.to_vec();
        let packed = Packed { len, blocks, data };
        packed.check(source_len, |_| true)?;
        Some(SampleTable { packed: Arc::new(packed), runs: ObjectRuns::default() })
    }

    /// Writes the objects of the samples, each change as the distance from the one before.
    pub(crate) fn write_objects(&self, writer: &mut Writer) {
        writer.varint(self.runs.0.len() as u64);
        let mut before = 0;
        for run in self.runs.0.iter() {
            writer.varint(u64::from(run.sample - before));
            writer.u8(run.object);
            before = run.sample;
        }
    }

    /// Reads the bytes of [`SampleTable::write_objects`]. `lens` are the lengths of the objects. `None` when
    /// the bytes are invalid, an object number is unknown, or a sample is outside its object.
    pub(crate) fn read_objects(self, reader: &mut Reader<'_>, lens: &[u64]) -> Option<Self> {
        let count = reader.varint().filter(|&count| count <= u64::from(self.len()))?;
        let mut runs: Vec<ObjectRun> = Vec::new();
        for _ in 0..count {
            let distance = reader.u32()?;
            let (sample, before) = match runs.last() {
                None => (distance, 0),
                Some(last) => (last.sample.checked_add(distance).filter(|_| 0 < distance)?, last.object),
            };
            let object = reader.u8().filter(|&object| object != before)?;
            if sample >= self.len() {
                return None;
            }
            runs.push(ObjectRun { sample, object });
        }
        let table = Self { runs: ObjectRuns(runs.into()), ..self };
        let is_inside = |sample: Sample| {
            let len = lens.get(usize::from(sample.object));
            len.zip(sample.end_offset()).is_some_and(|(len, end)| end <= *len)
        };
        table.iter().all(is_inside).then_some(table)
    }
}

impl Serialize for SampleTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.packed.serialize(serializer)
    }
}

impl TryFrom<Packed> for SampleTable {
    type Error = &'static str;

    fn try_from(packed: Packed) -> Result<Self, Self::Error> {
        packed.check(u64::MAX, |_| true).ok_or("packed samples make no sense")?;
        Ok(SampleTable { packed: Arc::new(packed), runs: ObjectRuns::default() })
    }
}

impl Packed {
    /// Decodes block `index` into `samples`. `None` when there is no such block or its bytes are invalid.
    fn read_block(&self, index: usize, samples: &mut Vec<Sample>) -> Option<()> {
        samples.clear();
        let block = self.blocks.get(index)?;
        let data_start = index.checked_sub(1).map_or(0, |before| self.blocks[before].data_end);
        let count = BLOCK_LEN.min(self.len as usize - index * BLOCK_LEN);

        let mut reader = Reader::new(self.data.get(data_start..block.data_end)?);
        let constant = reader.u8()?;
        let mut columns: [Column; COLUMNS] = [[0; BLOCK_LEN]; COLUMNS];
        for (number, column) in columns.iter_mut().enumerate() {
            read_column(&mut reader, constant & (1 << number) != 0, count, column)?;
        }
        let [duration, dts_gap, composition_offset, size, sync, has_gap] = &columns;
        let gap_count = has_gap[..count].iter().filter(|&&has_gap| has_gap != 0).count();
        let mut gaps: Column = [0; BLOCK_LEN];
        read_column(&mut reader, constant & (1 << COLUMNS) != 0, gap_count, &mut gaps)?;
        if !reader.is_empty() {
            return None;
        }

        let mut gaps = gaps.into_iter();
        let (mut dts, mut offset) = (block.dts, block.offset);
        for n in 0..count {
            dts = dts.wrapping_add(dts_gap[n]);
            if has_gap[n] != 0 {
                offset = offset.wrapping_add_signed(gaps.next()?);
            }
            let sample = Sample {
                dts,
                pts: dts.wrapping_add(composition_offset[n]),
                duration: u32::try_from(duration[n]).ok()?,
                object: 0,
                offset,
                size: u32::try_from(size[n]).ok()?,
                is_sync: sync[n] != 0,
            };
            dts = dts.wrapping_add(i64::from(sample.duration));
            offset = offset.wrapping_add(u64::from(sample.size));
            samples.push(sample);
        }
        Some(())
    }

    /// Decodes every block once, so that later look-ups cannot fail.
    ///
    /// `None` when the bytes are invalid, when a sample is not inside the first `source_len` bytes, or fails
    /// `is_accepted`.
    fn check(&self, source_len: u64, mut is_accepted: impl FnMut(&Sample) -> bool) -> Option<()> {
        let data_end = self.blocks.last().map_or(0, |last| last.data_end);
        if self.blocks.len() != (self.len as usize).div_ceil(BLOCK_LEN) || self.data.len() != data_end {
            return None;
        }
        let mut samples = Vec::with_capacity(BLOCK_LEN);
        let mut pts_max = i64::MIN;
        for (index, block) in self.blocks.iter().enumerate() {
            self.read_block(index, &mut samples)?;
            for sample in &samples {
                let end = sample.end_offset()?;
                if end > source_len || !is_accepted(sample) {
                    return None;
                }
                pts_max = pts_max.max(sample.pts);
            }
            if pts_max != block.pts_max {
                return None;
            }
        }
        Some(())
    }
}

impl SampleTableBuilder {
    /// Adds the next sample in decode order.
    pub fn push(&mut self, sample: Sample) {
        if self.runs.last().map_or(0, |run| run.object) != sample.object {
            self.runs.push(ObjectRun { sample: self.len(), object: sample.object });
        }
        self.pending.push(sample);
        if self.pending.len() == BLOCK_LEN {
            self.close_block();
        }
    }

    /// Whether a builder from a checkpoint is valid: its bytes decode, and every sample so far passes
    /// `is_accepted`.
    pub fn is_valid(&self, mut is_accepted: impl FnMut(&Sample) -> bool) -> bool {
        let has_whole_blocks = self.packed.len as usize == self.packed.blocks.len() * BLOCK_LEN;
        let is_within_limits = self.pending.len() < BLOCK_LEN && self.packed.len < SAMPLES_MAX;
        has_whole_blocks
            && is_within_limits
            && self.packed.check(u64::MAX, &mut is_accepted).is_some()
            && self.pending.iter().all(|sample| sample.end_offset().is_some() && is_accepted(sample))
    }

    /// Number of samples so far.
    pub fn len(&self) -> u32 {
        self.packed.len + self.pending.len() as u32
    }

    /// Whether the builder is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes in memory.
    pub fn memory_len(&self) -> usize {
        self.packed.memory_len() + self.pending.capacity() * size_of::<Sample>()
    }

    /// The finished table.
    pub fn finish(mut self) -> SampleTable {
        if !self.pending.is_empty() {
            self.close_block();
        }
        SampleTable { packed: Arc::new(self.packed), runs: ObjectRuns(self.runs.into()) }
    }

    fn close_block(&mut self) {
        let count = self.pending.len();
        let first = self.pending[0];
        let pts_max = self.packed.blocks.last().map_or(i64::MIN, |block| block.pts_max);

        let mut columns: [Column; COLUMNS] = [[0; BLOCK_LEN]; COLUMNS];
        let mut gaps = Vec::with_capacity(BLOCK_LEN);
        let mut block = Block { data_end: 0, dts: first.dts, offset: first.offset, pts_max };
        let (mut dts, mut offset) = (first.dts, first.offset);
        for (n, sample) in self.pending.iter().enumerate() {
            columns[0][n] = i64::from(sample.duration);
            columns[1][n] = sample.dts.wrapping_sub(dts);
            columns[2][n] = sample.pts.wrapping_sub(sample.dts);
            columns[3][n] = i64::from(sample.size);
            columns[4][n] = i64::from(sample.is_sync);
            if sample.offset != offset {
                columns[5][n] = 1;
                gaps.push(sample.offset.wrapping_sub(offset) as i64);
            }
            dts = sample.dts.wrapping_add(i64::from(sample.duration));
            offset = sample.offset.wrapping_add(u64::from(sample.size));
            block.pts_max = block.pts_max.max(sample.pts);
        }

        let mut writer = Writer { bytes: std::mem::take(&mut self.packed.data) };
        let constant_at = writer.bytes.len();
        writer.u8(0);
        let columns = columns.iter().map(|column| &column[..count]).chain([&gaps[..]]);
        for (number, column) in columns.enumerate() {
            if !column::write_unless_constant(column, &mut writer) {
                writer.signed(column.first().copied().unwrap_or(0));
                writer.bytes[constant_at] |= 1 << number;
            }
        }
        block.data_end = writer.bytes.len();
        self.packed.data = writer.bytes;
        self.packed.blocks.push(block);
        self.packed.len =
            self.packed.len.checked_add(count as u32).expect("readers cap a track far below 2^32 samples");
        self.pending.clear();
    }
}

fn read_column(reader: &mut Reader<'_>, is_constant: bool, count: usize, column: &mut Column) -> Option<()> {
    if is_constant {
        *column = [reader.signed()?; BLOCK_LEN];
        Some(())
    } else {
        column::read(reader, count, column)
    }
}

impl FromIterator<Sample> for SampleTable {
    fn from_iter<I: IntoIterator<Item = Sample>>(samples: I) -> Self {
        let mut builder = SampleTableBuilder::default();
        for sample in samples {
            builder.push(sample);
        }
        builder.finish()
    }
}

impl Iterator for Samples<'_> {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        if self.rest.is_empty() {
            return None;
        }
        let (block, position) = (self.rest.start as usize / BLOCK_LEN, self.rest.start as usize % BLOCK_LEN);
        if position == 0 || self.block.is_empty() {
            self.table.packed.read_block(block, &mut self.block)?;
            if !self.table.runs.0.is_empty() {
                for (number, sample) in ((block * BLOCK_LEN) as u32..).zip(&mut self.block) {
                    sample.object = self.table.runs.at(number);
                }
            }
        }
        self.rest.start += 1;
        self.block.get(position).copied()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest.len(), Some(self.rest.len()))
    }
}

#[cfg(test)]
mod tests;
