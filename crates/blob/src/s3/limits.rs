//! Every limit of the way to an S3 store, with its default and where that comes from.

use std::time::Duration;

/// The unit in which memory for parts is counted.
pub(super) const MIB: u64 = 1 << 20;

/// The most parts of one object. Amazon S3, "Amazon S3 multipart upload limits".
pub(super) const PARTS_MAX: u64 = 10_000;

/// The smallest part but the last. Amazon S3, "Amazon S3 multipart upload limits".
pub(super) const PART_LEN_MIN: u64 = 5 * MIB;

/// The longest part. Amazon S3, "Amazon S3 multipart upload limits".
const PART_LEN_MAX: u64 = 5 << 30;

/// Parts of a growing object after which their length doubles while its length is unknown, and how often that
/// can happen.
const DOUBLED_AFTER: u64 = 1000;
const DOUBLED_MAX: u64 = PARTS_MAX / DOUBLED_AFTER - 1;

/// Limits of a store. The default is for a store in the same data centre, and bearable for one far away.
#[derive(Debug, Clone)]
pub struct S3Limits {
    /// To a connection, TLS included. Twice what object_store and the AWS guides allow, for stores far away.
    pub connect: Duration,
    /// From the start of one try to its answer, besides the time for the bytes it carries.
    ///
    /// Stores answer within a second; only a store in trouble takes longer, and then another try helps more
    /// than patience.
    pub answer: Duration,
    /// To the first byte of a read of an object, over all its tries: a viewer waits for it. Each try has half
    /// of it, so that another connection helps where one hangs. Jobs that meet it come again.
    pub read: Duration,
    /// A try that carries bytes more slowly than this is given up: with 256 KiB/s a part has half a minute.
    pub bytes_per_second_min: u64,
    /// Tries of one request. Stores ask for a few when they are busy (503 SlowDown) or move their data about.
    pub tries: usize,
    /// What is waited before the second try, at least; twice as much before each further one, and up to as
    /// much again by chance.
    pub retry_delay_min: Duration,
    /// What is waited between two tries at most, besides chance.
    pub retry_delay_max: Duration,
    /// Bytes of a part, in whole MiB; parts of objects that are announced to be too long for 10,000 of these
    /// are longer.
    ///
    /// The AWS command line's own default: some 100 requests a GB, and two of them are little memory.
    pub part_len: u64,
    /// Memory for the parts of all writers of this store, in whole MiB.
    ///
    /// 64 parts of usual length: enough for 64 writers. Others wait for their first part, and their sources
    /// with them. While less than an eighth is held, a writer fills its second part while the first one is
    /// sent.
    pub parts_memory: u64,
    /// How long half a MiB of a growing object may lie in memory before it is kept as a piece.
    ///
    /// A line of more than 130 MiB/s fills a part of usual length meanwhile and needs no pieces; one of 10
    /// MB/s has some 16 puts a second, and a killed process costs it half a MiB, 1 % of what came in five
    /// seconds.
    pub piece_within: Duration,
}

impl Default for S3Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(15),
            read: Duration::from_secs(8),
            bytes_per_second_min: 256 << 10,
            tries: 4,
            retry_delay_min: Duration::from_millis(100),
            retry_delay_max: Duration::from_secs(2),
            part_len: 8 * MIB,
            parts_memory: 512 * MIB,
            piece_within: Duration::from_millis(60),
        }
    }
}

impl S3Limits {
    /// Of the memory for parts, what one workspace cannot hold: one part, so that another workspace can
    /// always begin. Nothing of a memory for less than four.
    pub(super) fn reserved_for_others(&self) -> u64 {
        if self.parts_memory < 4 * self.part_len { 0 } else { self.part_len }
    }

    /// Limit of the held memory below which a writer may fill a second part while its first one is sent: an
    /// eighth of the memory for parts. Above it a writer first waits until its part is sent.
    ///
    /// A few transfers then keep the connection to the store busy, and many transfers hold one part each.
    pub(super) fn ahead_memory(&self) -> u64 {
        self.parts_memory / 8
    }

    /// Of the memory for parts, what writers without bytes to come may hold: a quarter, and one part at
    /// least.
    pub(super) fn parked_memory(&self) -> u64 {
        (self.parts_memory / 4).max(self.part_len)
    }

    /// Of that, what one workspace cannot hold.
    pub(super) fn parked_for_others(&self) -> u64 {
        if self.parked_memory() < 4 * self.part_len { 0 } else { self.part_len }
    }

    /// How long one try may take that carries so many bytes.
    pub(super) fn time_for(&self, bytes: u64) -> Duration {
        self.answer + Duration::from_secs(bytes / self.bytes_per_second_min.max(1))
    }

    /// The length of the parts of an object. All but the last are of this length: Cloudflare R2 takes no
    /// others.
    pub(super) fn part_len(&self, announced: Option<u64>) -> u64 {
        let needed = announced.unwrap_or(0).div_ceil(PARTS_MAX);
        self.part_len.max(needed).max(PART_LEN_MIN).next_multiple_of(MIB)
    }
}

/// The longest part that an announced length alone gives: with 10,000 of these 312 GiB.
const BELIEVED_LEN: u64 = 32 * MIB;
/// A longer one is this part of what has come at most.
const BELIEVED_SHARE: u64 = 64;

impl S3Limits {
    /// The length of the part `number` (from 0) of a growing object, which begins at `start`, behind a part
    /// of length `before`.
    ///
    /// Parts of one length as long as that is enough: Cloudflare R2 takes no others. Where nobody knows how
    /// long the object becomes the length doubles after each thousand parts: the usual 8 MiB reach past 5
    /// TiB, the longest object of Amazon S3. Bounded by [`S3Limits::grown_part_len_max`], and by what has
    /// come already: a length beyond 312 GiB is believed as its bytes come.
    pub(super) fn grown_part_len(&self, number: u64, start: u64, before: u64, announced: Option<u64>) -> u64 {
        let needed = match announced {
            Some(len) => {
                let parts_left = PARTS_MAX.saturating_sub(number).max(1);
                let needed = len.saturating_sub(start).div_ceil(parts_left);
                // Whoever only says that much will come gets no more memory for it.
                self.part_len.max(needed.min((start / BELIEVED_SHARE).max(BELIEVED_LEN)))
            }
            None => self.part_len.saturating_mul(1 << (number / DOUBLED_AFTER).min(DOUBLED_MAX)),
        };
        needed.max(before).max(PART_LEN_MIN).next_multiple_of(MIB).min(self.grown_part_len_max())
    }

    /// The longest part of a growing object: two fit into [`S3Limits::parts_memory`].
    ///
    /// With the default of 512 MiB that is 256 MiB: an announced object has 2.3 TiB at most, any other 1.4
    /// TiB.
    fn grown_part_len_max(&self) -> u64 {
        (self.parts_memory / 2 / MIB * MIB).clamp(PART_LEN_MIN, PART_LEN_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest source that is fetched (`kinora_fetch::Limits::bytes_max`).
    const SOURCE_MAX: u64 = 1 << 40;

    #[test]
    fn parts_are_long_enough_for_the_announced_length_and_two_fit_into_memory() {
        let limits = S3Limits::default();
        let check = |announced: Option<u64>, expected_mib: u64| {
            let part_len = limits.part_len(announced);
            assert_eq!(part_len, expected_mib * MIB, "{announced:?}");
            assert!(announced.unwrap_or(0).div_ceil(part_len) <= PARTS_MAX, "{announced:?}");
            assert!(2 * part_len <= limits.parts_memory, "{announced:?}");
        };
        check(None, 8);
        check(Some(0), 8);
        check(Some(80_000 * MIB), 8);
        check(Some(80_000 * MIB + 1), 9);
        check(Some(SOURCE_MAX), 105);
    }

    #[test]
    fn no_part_is_shorter_than_stores_take() {
        let limits = S3Limits { part_len: 1, ..S3Limits::default() };
        assert_eq!(limits.part_len(None), PART_LEN_MIN);
    }

    #[test]
    fn a_try_has_time_for_the_bytes_it_carries() {
        let limits = S3Limits::default();
        assert_eq!(limits.time_for(0), Duration::from_secs(15));
        assert_eq!(limits.time_for(8 * MIB), Duration::from_secs(47));
    }

    /// Fills parts up to `len` bytes, of which the length is known from the byte `known_from` on; answers
    /// their lengths.
    fn grown_parts(limits: &S3Limits, len: u64, known_from: u64) -> Vec<u64> {
        let mut parts = Vec::new();
        let (mut start, mut before) = (0, 0);
        while start < len {
            let announced = (known_from <= start).then_some(len);
            let part = limits.grown_part_len(parts.len() as u64, start, before, announced);
            parts.push(part.min(len - start));
            (start, before) = (start + part, part);
        }
        parts
    }

    #[test]
    fn the_longest_object_fits_into_parts_whenever_its_length_is_known() {
        const LONGEST: u64 = 5 << 40; // Amazon S3, "Amazon S3 multipart upload limits"
        let limits = S3Limits { parts_memory: 16 << 30, ..S3Limits::default() };
        let check = |len: u64, known_from: u64| {
            let parts = grown_parts(&limits, len, known_from);
            assert!(parts.len() as u64 <= PARTS_MAX, "{len} known from {known_from}: {} parts", parts.len());
            assert_eq!(parts.iter().sum::<u64>(), len);
            let (last, others) = parts.split_last().unwrap();
            assert!(others.iter().all(|part| (PART_LEN_MIN..=PART_LEN_MAX).contains(part)));
            assert!(others.is_sorted() && *last <= PART_LEN_MAX, "{len} known from {known_from}");
            parts
        };
        // Known from the start: all of one length, as far as a mere word is believed.
        for len in [1, 8 * MIB, 80_000 * MIB, 80_001 * MIB, 123_456_789_012, PARTS_MAX * BELIEVED_LEN] {
            let parts = check(len, 0);
            assert!(parts[1..].iter().rev().skip(1).all(|part| *part == parts[0]), "{len}");
        }
        for len in [1 << 40, LONGEST - 1, LONGEST] {
            assert_eq!(check(len, 0)[0], BELIEVED_LEN);
        }
        // Never known, or late: a thousand of the usual length, then longer ones.
        for known_from in [1, 8000 * MIB, 8001 * MIB, 1 << 40, LONGEST - MIB, LONGEST] {
            let parts = check(LONGEST, known_from);
            assert_eq!(parts[0], 8 * MIB);
        }
        let parts = check(LONGEST, LONGEST);
        assert_eq!(
            (parts[999], parts[1000], parts[2000], parts[9000]),
            (8 * MIB, 16 * MIB, 32 * MIB, 4 << 30)
        );
        // Known late, it need not become longer where it is long enough.
        assert_eq!(check(8001 * MIB, 1).iter().max(), Some(&(8 * MIB)));
    }

    #[test]
    fn two_parts_of_a_growing_object_fit_into_memory() {
        let limits = S3Limits::default();
        let longest = limits.grown_part_len(9999, 0, 0, None);
        assert_eq!(longest, 256 * MIB);
        assert!(2 * longest <= limits.parts_memory);
        assert!(grown_parts(&limits, SOURCE_MAX, SOURCE_MAX).len() as u64 <= PARTS_MAX);
        assert!(grown_parts(&limits, SOURCE_MAX, 0).len() as u64 <= PARTS_MAX);
        let tight = S3Limits { parts_memory: MIB, ..S3Limits::default() };
        assert_eq!(tight.grown_part_len(0, 0, 0, None), PART_LEN_MIN);
    }
}
