//! The sample tables of one track, read sample by sample without a copy. ISO/IEC 14496-12, 8.6 and 8.7.
//!
//! The parser allocates nothing: a table is a slice of the `moov`, and the bytes of the box limit its entry
//! count.

use serde::{Deserialize, Serialize};

use super::{
    super::{
        boxes::{BoxRef, FieldReader},
        error::ReadError,
    },
    audio::BlockAlign,
};

/// Maximum number of samples in a track: 12 h of video at 120 frames per second. Audio needs fewer: 12 h at
/// 96 kHz are 4.05 million AAC packets.
pub const TRACK_SAMPLES_MAX: u32 = 12 * 3600 * 120;

/// One row of all tables together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawSample {
    /// Decode time: the sum of the previous deltas.
    pub dts: i64,
    /// `stts`: ticks until the next sample. May be 0.
    pub delta: u32,
    /// `ctts`: ticks from decode to presentation.
    pub composition_offset: i32,
    /// First byte in the source.
    pub offset: u64,
    /// May be 0.
    pub size: u32,
    /// Decoding can start here.
    pub is_sync: bool,
}

/// The sample tables of one track.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables<'a> {
    count: u32,
    sizes: Sizes<'a>,
    deltas: &'a [[u8; 8]],
    composition_offsets: &'a [[u8; 8]],
    /// Sample numbers from 1; `None` when every sample is a sync sample.
    syncs: Option<&'a [[u8; 4]]>,
    chunk_runs: &'a [[u8; 12]],
    chunks: Chunks<'a>,
    /// Set if the rows are single samples of audio: their blocks are grouped into packets.
    block: Option<BlockAlign>,
}

#[derive(Debug, Clone, Copy)]
enum Sizes<'a> {
    Same(u32),
    /// `stsz`
    Each(&'a [[u8; 4]]),
    /// `stz2`: bits per entry.
    Compact(u8, &'a [u8]),
}

#[derive(Debug, Clone, Copy)]
enum Chunks<'a> {
    /// `stco`
    Narrow(&'a [[u8; 4]]),
    /// `co64`
    Wide(&'a [[u8; 8]]),
}

impl<'a> Tables<'a> {
    /// Finds the tables in an `stbl` box. Checks each count against the bytes of the box and against
    /// [`TRACK_SAMPLES_MAX`].
    ///
    /// `block` is that of audio samples of constant size, if the track is audio. If each lasts one tick,
    /// each is a row of the tables, 172 million in an hour: then several rows are grouped into one packet.
    pub(crate) fn parse(stbl: &BoxRef<'a>, block: Option<BlockAlign>) -> Result<Self, ReadError> {
        let (count, sizes) = sizes(stbl)?;
        let chunks = match stbl.child(b"co64") {
            Some(co64) => Chunks::Wide(entries(&co64)?),
            None => Chunks::Narrow(table(stbl, b"stco")?.unwrap_or(&[])),
        };
        let mut tables = Tables {
            count,
            sizes,
            deltas: table(stbl, b"stts")?.unwrap_or(&[]),
            composition_offsets: table(stbl, b"ctts")?.unwrap_or(&[]),
            syncs: table(stbl, b"stss")?,
            chunk_runs: table(stbl, b"stsc")?.unwrap_or(&[]),
            chunks,
            block: None,
        };
        let lasts_one_tick = matches!(tables.deltas, [row] if u32_at(row, 4) == 1);
        tables.block = match sizes {
            Sizes::Same(size) if lasts_one_tick => {
                block.map(|unit| if unit.bytes == 0 { BlockAlign { samples: 1, bytes: size } } else { unit })
            }
            _ => None,
        };
        let count = tables.count();
        if count > TRACK_SAMPLES_MAX {
            return Err(ReadError::unsupported(format!(
                "a track has {count} samples; at most {TRACK_SAMPLES_MAX} are supported"
            )));
        }
        tables.count = tables.samples_in_chunks();
        Ok(tables)
    }

    /// Number of samples in chunks, at most the number of sizes.
    ///
    /// Some writers omit the last chunk or run (ffmpeg plays the listed samples). If no chunk contains a
    /// sample, all are counted, and reading the first one returns the error.
    fn samples_in_chunks(&self) -> u32 {
        let chunks = self.chunks.len() as u64;
        let mut from = 0;
        let mut begins = self.chunk_runs.iter().map(|run| {
            // A run that begins before the previous one replaces it, as in [`RawSamples::begin_chunk`].
            from = u64::from(u32_at(run, 0)).saturating_sub(1).min(chunks).max(from);
            from
        });
        let mut begin = begins.next().unwrap_or(chunks);
        let ends = begins.chain([chunks]);
        let mut samples = 0u64;
        for (run, end) in self.chunk_runs.iter().zip(ends) {
            samples = samples.saturating_add((end - begin).saturating_mul(u32_at(run, 4).into()));
            begin = end;
        }
        match u32::try_from(samples) {
            Ok(0) | Err(_) => self.count,
            Ok(covered) => covered.min(self.count),
        }
    }

    /// Number of samples, or of packets if samples are grouped: then it may be slightly too high.
    pub(crate) fn count(&self) -> u32 {
        let Some(block) = self.block else { return self.count };
        let chunks = self.chunks.len() as u64;
        let first = |run: &[u8; 12]| u64::from(u32_at(run, 0)).saturating_sub(1).min(chunks);
        let ends = self.chunk_runs.iter().skip(1).map(first).chain([chunks]);
        let packets = self.chunk_runs.iter().zip(ends).map(|(run, end)| {
            let each = u64::from(u32_at(run, 4).min(self.count).div_ceil(block.packet_samples()));
            end.saturating_sub(first(run)).saturating_mul(each)
        });
        let packets = packets.fold(0u64, u64::saturating_add);
        u32::try_from(packets).unwrap_or(u32::MAX).min(self.count)
    }

    /// The `sample_description_index` (from 1) of each run of chunks, in order; some come more than
    /// once.
    pub(crate) fn description_indexes(&self) -> impl Iterator<Item = u32> + 'a {
        let chunks = self.chunks.len();
        // The last run may begin after the last chunk; then no chunk uses it.
        self.chunk_runs.iter().filter(move |run| u32_at(run, 0) as usize <= chunks).map(|run| u32_at(run, 8))
    }

    /// The samples in decode order.
    ///
    /// An error ends the iterator: a sample that no chunk contains, or an offset or time beyond 64 bits. If
    /// `stts` is too short, the last delta applies to the remaining samples.
    pub(crate) fn samples(&self) -> RawSamples<'a> {
        RawSamples {
            tables: *self,
            next: 0,
            dts: 0,
            delta: TableRun::default(),
            deltas: self.deltas,
            composition_offset: TableRun::default(),
            composition_offsets: self.composition_offsets,
            syncs: self.syncs.unwrap_or(&[]),
            chunks_begun: 0,
            left_in_chunk: 0,
            offset: 0,
            chunk_runs: self.chunk_runs,
            per_chunk: 0,
        }
    }
}

impl Chunks<'_> {
    fn len(&self) -> usize {
        match self {
            Chunks::Narrow(offsets) => offsets.len(),
            Chunks::Wide(offsets) => offsets.len(),
        }
    }

    fn get(&self, index: usize) -> Option<u64> {
        match self {
            Chunks::Narrow(offsets) => offsets.get(index).map(|bytes| u32::from_be_bytes(*bytes).into()),
            Chunks::Wide(offsets) => offsets.get(index).map(|bytes| u64::from_be_bytes(*bytes)),
        }
    }
}

impl Sizes<'_> {
    fn get(&self, index: u32) -> u32 {
        let index = index as usize;
        match self {
            Sizes::Same(size) => *size,
            Sizes::Each(sizes) => u32::from_be_bytes(sizes[index]),
            Sizes::Compact(4, sizes) => (sizes[index / 2] >> (4 - index % 2 * 4) & 0xf).into(),
            Sizes::Compact(8, sizes) => sizes[index].into(),
            Sizes::Compact(_, sizes) => u16::from_be_bytes([sizes[index * 2], sizes[index * 2 + 1]]).into(),
        }
    }
}

/// Number of samples and their sizes, from `stsz` or `stz2`.
fn sizes<'a>(stbl: &BoxRef<'a>) -> Result<(u32, Sizes<'a>), ReadError> {
    let short = || ReadError::damaged("its table of sample sizes is shorter than it says");
    if let Some(stsz) = stbl.child(b"stsz") {
        let mut fields = FieldReader::new(stsz.body);
        let (Some(_), Some(size), Some(count)) = (fields.version_and_flags(), fields.u32(), fields.u32())
        else {
            return Err(short());
        };
        if size != 0 {
            return Ok((count, Sizes::Same(size)));
        }
        let sizes = fields.rest.as_chunks().0.get(..count as usize).ok_or_else(short)?;
        return Ok((count, Sizes::Each(sizes)));
    }
    if let Some(stz2) = stbl.child(b"stz2") {
        let mut fields = FieldReader::new(stz2.body);
        let (Some(_), Some(width), Some(count)) = (fields.version_and_flags(), fields.u32(), fields.u32())
        else {
            return Err(short());
        };
        // The upper 24 bits are reserved.
        let width = width as u8;
        if !matches!(width, 4 | 8 | 16) {
            return Err(ReadError::damaged(format!("sample sizes of {width} bits")));
        }
        let len = (u64::from(count) * u64::from(width)).div_ceil(8);
        let sizes = usize::try_from(len).ok().and_then(|len| fields.rest.get(..len)).ok_or_else(short)?;
        return Ok((count, Sizes::Compact(width, sizes)));
    }
    Ok((0, Sizes::Same(0)))
}

/// The entries of the first child of this kind; `None` if there is none.
fn table<'a, const N: usize>(stbl: &BoxRef<'a>, kind: &[u8; 4]) -> Result<Option<&'a [[u8; N]]>, ReadError> {
    stbl.child(kind).map(|table| entries(&table)).transpose()
}

/// The entries of a box that consists of a count and `count` rows of `N` bytes.
fn entries<'a, const N: usize>(table: &BoxRef<'a>) -> Result<&'a [[u8; N]], ReadError> {
    let mut fields = FieldReader::new(table.body);
    let count = fields.version_and_flags().and_then(|_| fields.u32());
    count
        .and_then(|count| fields.rest.as_chunks().0.get(..count as usize))
        .ok_or_else(|| ReadError::damaged(format!("its {} table has fewer entries than it says", table.kind)))
}

fn u32_at<const N: usize>(row: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]])
}

/// A value and the number of further samples it applies to.
#[derive(Debug, Clone, Copy, Default)]
struct TableRun {
    left: u32,
    value: u32,
}

impl TableRun {
    /// The value of the next sample, from rows of (count, value). `None` after the last row.
    fn next(&mut self, rows: &mut &[[u8; 8]]) -> Option<u32> {
        while self.left == 0 {
            let (row, rest) = rows.split_first()?;
            *rows = rest;
            *self = TableRun { left: u32_at(row, 0), value: u32_at(row, 4) };
        }
        self.left -= 1;
        Some(self.value)
    }
}

/// See [`Tables::samples`].
#[derive(Debug, Clone)]
pub(crate) struct RawSamples<'a> {
    tables: Tables<'a>,
    next: u32,
    dts: i64,
    delta: TableRun,
    deltas: &'a [[u8; 8]],
    composition_offset: TableRun,
    composition_offsets: &'a [[u8; 8]],
    syncs: &'a [[u8; 4]],
    /// Chunks begun so far.
    chunks_begun: u32,
    /// Samples left in the current chunk.
    left_in_chunk: u32,
    /// Offset of the next sample, while in a chunk.
    offset: u64,
    chunk_runs: &'a [[u8; 12]],
    per_chunk: u32,
}

impl RawSamples<'_> {
    /// Moves to the next chunk that contains samples. `None` after the last one.
    fn begin_chunk(&mut self) -> Option<()> {
        while self.left_in_chunk == 0 {
            self.offset = self.tables.chunks.get(self.chunks_begun as usize)?;
            self.chunks_begun += 1;
            while let Some((run, rest)) = self.chunk_runs.split_first()
                && u32_at(run, 0) <= self.chunks_begun
            {
                self.per_chunk = u32_at(run, 4);
                self.chunk_runs = rest;
            }
            self.left_in_chunk = self.per_chunk;
        }
        Some(())
    }

    /// Whether sample `number` (from 1) is listed. Skips rows that are out of order.
    fn is_sync(&mut self, number: u32) -> bool {
        if self.tables.syncs.is_none() {
            return true;
        }
        while let Some((row, rest)) = self.syncs.split_first() {
            let listed = u32::from_be_bytes(*row);
            if listed > number {
                return false;
            }
            self.syncs = rest;
            if listed == number {
                return true;
            }
        }
        false
    }
}

impl Iterator for RawSamples<'_> {
    type Item = Result<RawSample, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.tables.count {
            return None;
        }
        let index = self.next;
        self.next += 1;
        if self.begin_chunk().is_none() {
            let count = self.tables.count;
            self.next = count;
            return Some(Err(ReadError::damaged(format!("its chunks hold {index} of {count} samples"))));
        }
        let (size, delta) = match self.tables.block {
            None => {
                self.left_in_chunk -= 1;
                let delta = self.delta.next(&mut self.deltas).unwrap_or(self.delta.value);
                (self.tables.sizes.get(index), delta)
            }
            Some(block) => {
                let samples = block.packet_samples().min(self.left_in_chunk).min(self.tables.count - index);
                self.left_in_chunk -= samples;
                self.next = index + samples;
                ((samples / block.samples.max(1)).saturating_mul(block.bytes), samples)
            }
        };
        let sample = RawSample {
            dts: self.dts,
            delta,
            // The standard says unsigned for version 0, but writers also store negative offsets there, and
            // none is above 2^31.
            composition_offset: self.composition_offset.next(&mut self.composition_offsets).unwrap_or(0)
                as i32,
            offset: self.offset,
            size,
            is_sync: self.is_sync(index + 1),
        };
        let Some(end) = self.offset.checked_add(size.into()) else {
            self.next = self.tables.count;
            return Some(Err(ReadError::damaged("a sample lies beyond 2^64 bytes")));
        };
        self.offset = end;
        // At most TRACK_SAMPLES_MAX deltas below 2^32 each: far below 2^63.
        self.dts += i64::from(delta);
        Some(Ok(sample))
    }
}

#[cfg(test)]
mod tests;
