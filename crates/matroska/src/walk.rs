//! The walk over the elements: which are kept and read, which pass by, and how the file ends.
//!
//! Nothing is believed of what lies elsewhere: neither `SeekHead` nor `Cues` is read. Masters of unknown
//! size, as live recordings have them, end where an element comes that cannot lie in them. RFC 9559, 5.1; RFC
//! 8794, 6.2.

use kinora_index::checkpoint::byte_string;
use kinora_isobmff::ReadError;
use serde::{Deserialize, Serialize};

use crate::{
    block::{BlockHead, FRAMES_MAX, HEAD_LEN_MAX, Lacing},
    chosen::{Chosen, Unreadable},
    collect::{Collector, FRAME_HEAD_LEN, Frame, Said, TIME_MAX},
    ebml::{self, Element, Front, ID_LEN_MAX, SIZE_LEN_MAX, id},
};

/// Largest list of tracks that is kept. Configurations take a few KiB a track.
pub const TRACKS_LEN_MAX: u64 = 8 << 20;
/// Largest `Info`: a few hundred bytes, and whatever title its author gave.
const INFO_LEN_MAX: u64 = 1 << 20;
/// Largest block of several frames: these are packets of sound, 256 at most.
pub const LACED_BLOCK_LEN_MAX: u64 = 1 << 20;
/// What is reserved at once for an element that is kept: its size is a claim until the bytes are there.
const RESERVE_MAX: u64 = 64 << 10;
/// What is kept of a block with one frame.
const BLOCK_FRONT_LEN: u64 = (HEAD_LEN_MAX + FRAME_HEAD_LEN) as u64;
/// Nanoseconds in a unit of time, where `Info` says nothing, and at most: a second. RFC 9559, 5.1.2.9.
const TIMESTAMP_SCALE_USUAL: u64 = 1_000_000;
const TIMESTAMP_SCALE_MAX: u64 = 1_000_000_000;

/// Masters that are walked through lie in one another: segment, cluster, group.
const OPEN_MAX: usize = 3;

/// Reads a file from its passing bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Walk {
    place: Place,
    /// Where the next byte lies in the file.
    at: u64,
    /// The masters around the next element.
    open: Vec<Open>,
    /// Nanoseconds in a unit of time.
    scale_ns: u64,
    chosen: Option<Chosen>,
    collector: Collector,
    /// Of the current cluster.
    cluster_time: Option<i64>,
    /// Of the current block or group.
    pending: Pending,
    /// The segment is over: what follows is not looked at.
    is_over: bool,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Open {
    id: u32,
    /// First byte behind it; `None` while nobody knows.
    end: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Place {
    /// In a header: what of it has come.
    Header([u8; ID_LEN_MAX + SIZE_LEN_MAX], usize),
    /// In an element that passes by, with so many bytes to come.
    Passing(u64),
    /// In an element of which the front is kept: that many bytes in all, then so many that pass by.
    Keeping {
        id: u32,
        start: u64,
        #[serde(with = "byte_string")]
        body: Vec<u8>,
        wanted: u64,
        behind: u64,
    },
    /// Behind a header that makes no sense.
    Lost,
    /// Behind the segment.
    Over,
}

/// A block, or a group around one, before all of it has come.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Pending {
    head: Option<BlockHead>,
    frames: Vec<Frame>,
    /// Units that it lasts.
    duration: Option<u64>,
    /// Nanoseconds at its end that are not heard.
    discarded_ns: u64,
    /// It refers to another block.
    has_reference: bool,
}

/// What a walk has come to.
pub(crate) struct Walked {
    pub(crate) chosen: Option<Chosen>,
    pub(crate) collector: Collector,
    pub(crate) scale_ns: u64,
    /// The file ends inside an element.
    pub(crate) is_cut_off: bool,
    /// Elements make no sense somewhere: a reader that repairs may find more.
    pub(crate) is_lost: bool,
}

impl Walk {
    pub(crate) fn new() -> Self {
        Walk {
            place: Place::header(),
            at: 0,
            open: Vec::new(),
            scale_ns: TIMESTAMP_SCALE_USUAL,
            chosen: None,
            collector: Collector::default(),
            cluster_time: None,
            pending: Pending::default(),
            is_over: false,
        }
    }

    /// Bytes in memory.
    pub(crate) fn memory_len(&self) -> usize {
        let kept = if let Place::Keeping { body, .. } = &self.place { body.len() } else { 0 };
        let chosen = self.chosen.as_ref().map_or(0, Chosen::memory_len);
        kept + size_of_val(&self.pending.frames[..]) + chosen + self.collector.memory_len()
    }

    /// Whether what came back from a checkpoint behind `len` bytes can go on.
    pub(crate) fn is_sound(&self, len: u64) -> bool {
        let is_in_place = match &self.place {
            Place::Header(header, len) => *len < header.len(),
            Place::Keeping { start, body, wanted, behind, .. } => {
                *start <= self.at
                    && body.len() as u64 <= *wanted
                    && *wanted <= TRACKS_LEN_MAX
                    && wanted.checked_add(*behind).is_some()
            }
            Place::Passing(_) | Place::Lost | Place::Over => true,
        };
        self.at == len
            && is_in_place
            && self.open.len() <= OPEN_MAX
            && (1..=TIMESTAMP_SCALE_MAX).contains(&self.scale_ns)
            && self.chosen.as_ref().is_none_or(Chosen::is_sound)
            && self.collector.is_sound()
            && self.cluster_time.is_none_or(|time| (0..=TIME_MAX).contains(&time))
            && self.pending.frames.len() <= FRAMES_MAX
            && self.pending.frames.iter().all(Frame::is_sound)
    }

    /// Takes the next bytes.
    ///
    /// Errors: `Foreign` where another reader can do better, and what is final.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<(), Unreadable> {
        while !bytes.is_empty() {
            let taken = match &mut self.place {
                Place::Header(header, len) => {
                    header[*len] = bytes[0];
                    *len += 1;
                    self.at += 1;
                    let header = &header[..*len];
                    match ebml::Header::parse(header) {
                        Front::Whole(header) => self.enter(header)?,
                        Front::Short => {}
                        Front::Nonsense => self.place = Place::Lost,
                    }
                    1
                }
                Place::Passing(left) => {
                    let taken = take(left, bytes.len());
                    self.at += taken as u64;
                    if *left == 0 {
                        self.leave()?;
                    }
                    taken
                }
                Place::Keeping { body, wanted, .. } => {
                    let missing = *wanted - body.len() as u64;
                    let taken =
                        usize::try_from(missing).map_or(bytes.len(), |missing| missing.min(bytes.len()));
                    body.extend_from_slice(&bytes[..taken]);
                    self.at += taken as u64;
                    if body.len() as u64 == *wanted {
                        self.read_kept()?;
                    }
                    taken
                }
                Place::Lost | Place::Over => {
                    self.at += bytes.len() as u64;
                    bytes.len()
                }
            };
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// Begins the element whose header has just come.
    fn enter(&mut self, header: ebml::Header) -> Result<(), Unreadable> {
        self.close_unknown(header.id);
        if self.is_over {
            self.place = Place::Over;
            return Ok(());
        }
        let end = header.size.and_then(|size| self.at.checked_add(size));
        let limit = self.open.iter().rev().find_map(|open| open.end);
        let parent = self.open.last().map(|open| open.id);
        let is_master = match (parent, header.id) {
            (None, id::SEGMENT) | (Some(id::SEGMENT), id::CLUSTER) => true,
            (Some(id::CLUSTER), id::BLOCK_GROUP) => end.is_some(),
            _ => false,
        };
        let is_misplaced = parent.is_some_and(|parent| parent != id::SEGMENT && is_of_segment(header.id));
        let is_too_long = end.zip(limit).is_some_and(|(end, limit)| end > limit);
        if is_misplaced || (is_too_long && !is_master) || (end.is_none() && !is_master) {
            self.place = Place::Lost;
            return Ok(());
        }
        if is_master {
            // A cluster that says to be longer than its segment is believed: the segment was not ended in
            // time.
            return self.open(header.id, end);
        }
        let size = header.size.unwrap_or(0);
        let kept = match (parent, header.id) {
            (Some(id::SEGMENT), id::INFO) => Some(checked_len(size, INFO_LEN_MAX, "description")?),
            (Some(id::SEGMENT), id::TRACKS) if self.chosen.is_none() => {
                Some(checked_len(size, TRACKS_LEN_MAX, "list of tracks")?)
            }
            (Some(id::CLUSTER), id::TIMESTAMP)
            | (Some(id::BLOCK_GROUP), id::BLOCK_DURATION | id::DISCARD_PADDING)
                if size <= 8 =>
            {
                Some(size)
            }
            (Some(id::CLUSTER), id::SIMPLE_BLOCK) | (Some(id::BLOCK_GROUP), id::BLOCK) => {
                self.pending.frames.clear();
                self.pending.head = None;
                Some(size.min(BLOCK_FRONT_LEN))
            }
            (Some(id::BLOCK_GROUP), id::REFERENCE_BLOCK) => {
                self.pending.has_reference = true;
                None
            }
            _ => None,
        };
        self.place = match kept {
            Some(wanted) => Place::Keeping {
                id: header.id,
                start: self.at,
                body: Vec::with_capacity(wanted.min(RESERVE_MAX) as usize),
                wanted,
                behind: size - wanted,
            },
            None => Place::Passing(size),
        };
        match &self.place {
            Place::Keeping { wanted: 0, .. } => self.read_kept(),
            Place::Passing(0) => self.leave(),
            _ => Ok(()),
        }
    }

    /// Begins a master that is walked through.
    fn open(&mut self, id: u32, end: Option<u64>) -> Result<(), Unreadable> {
        match id {
            id::CLUSTER if self.chosen.is_none() => return Err(Unreadable::Foreign),
            id::CLUSTER => self.cluster_time = None,
            id::BLOCK_GROUP => self.pending = Pending::default(),
            _ => {}
        }
        self.open.push(Open { id, end });
        self.place = Place::header();
        self.close_ended()
    }

    /// Reads the element whose front is there.
    fn read_kept(&mut self) -> Result<(), Unreadable> {
        let Place::Keeping { id, start, body, wanted, behind } =
            std::mem::replace(&mut self.place, Place::header())
        else {
            return Ok(());
        };
        let element = Element { id, body: &body, whole: &body };
        match id {
            id::INFO => {
                let scale = element.uint(id::TIMESTAMP_SCALE).unwrap_or(TIMESTAMP_SCALE_USUAL);
                if !(1..=TIMESTAMP_SCALE_MAX).contains(&scale) {
                    return Err(ReadError::Damaged(format!("units of time of {scale} ns")).into());
                }
                self.scale_ns = scale;
            }
            id::TRACKS => {
                let chosen = Chosen::of(&element)?;
                self.collector = Collector::new(&chosen);
                self.chosen = Some(chosen);
            }
            id::TIMESTAMP => {
                let time = element.as_uint().and_then(|time| i64::try_from(time).ok());
                self.cluster_time = time.filter(|&time| time <= TIME_MAX);
            }
            id::DISCARD_PADDING => self.pending.discarded_ns = discarded_ns(&element),
            id::BLOCK_DURATION => self.pending.duration = element.as_uint(),
            _ => match self.block(start, &body, wanted + behind) {
                // A block of several frames is needed as a whole.
                Front::Short if behind > 0 && wanted + behind <= LACED_BLOCK_LEN_MAX => {
                    self.place = Place::Keeping { id, start, body, wanted: wanted + behind, behind: 0 };
                    return Ok(());
                }
                Front::Whole(_) => {}
                _ => {
                    self.place = Place::Lost;
                    return Ok(());
                }
            },
        }
        if behind > 0 {
            self.place = Place::Passing(behind);
            return Ok(());
        }
        self.leave()
    }

    /// Finds the frames of a block of `size` bytes, of which the front is there. `Short` when more of it is
    /// needed.
    fn block(&mut self, start: u64, front: &[u8], size: u64) -> Front {
        const DONE: Front = Front::Whole(ebml::Header { id: id::BLOCK, size: None, len: 0 });
        let Some(head) = BlockHead::parse(front) else { return Front::Nonsense };
        if !self.collector.wants(head.track) {
            return DONE;
        }
        let mut frame = |at: usize, len: u64| {
            let Ok(size) = u32::try_from(len) else { return false };
            self.pending.frames.push(Frame::new(
                start + at as u64,
                size,
                front.get(at..).unwrap_or_default(),
            ));
            true
        };
        if head.lacing() == Lacing::None {
            if !frame(head.len, size.saturating_sub(head.len as u64)) {
                return Front::Nonsense;
            }
        } else if size > front.len() as u64 {
            return Front::Short;
        } else {
            let Some(frames) = head.frames(front) else { return Front::Nonsense };
            for (at, len) in frames {
                frame(at, len as u64);
            }
        }
        self.pending.head = Some(head);
        DONE
    }

    /// Ends the element whose last byte has come, and the masters that end with it.
    fn leave(&mut self) -> Result<(), Unreadable> {
        self.place = Place::header();
        if self.open.last().is_some_and(|open| open.id == id::CLUSTER) && self.pending.head.is_some() {
            let is_key = self.pending.head.is_some_and(|head| head.is_key());
            self.commit(is_key)?;
        }
        self.close_ended()
    }

    /// Closes the masters that end here, with those of unknown size inside them.
    fn close_ended(&mut self) -> Result<(), Unreadable> {
        while self.open.iter().any(|open| open.end.is_some_and(|end| end <= self.at)) {
            match self.open.pop().map(|open| open.id) {
                Some(id::BLOCK_GROUP) => self.commit(!self.pending.has_reference)?,
                Some(id::SEGMENT) => {
                    self.is_over = true;
                    self.place = Place::Over;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Closes masters of unknown size in which the next element cannot lie.
    fn close_unknown(&mut self, next: u32) {
        while let Some(Open { id, end: None }) = self.open.last() {
            match *id {
                id::CLUSTER if is_of_segment(next) || is_of_file(next) => {}
                id::SEGMENT if is_of_file(next) => self.is_over = true,
                _ => return,
            }
            self.open.pop();
        }
    }

    /// Hands the frames of a block that is whole to its track.
    fn commit(&mut self, is_key: bool) -> Result<(), Unreadable> {
        let pending = std::mem::take(&mut self.pending);
        let Some(head) = pending.head else { return Ok(()) };
        let time = self.cluster_time.and_then(|time| time.checked_add(head.time.into()));
        // A cluster says its time first. RFC 9559, 5.1.3.1.
        let Some(time) = time else { return Err(Unreadable::Foreign) };
        let said = Said { is_key, duration: pending.duration, discarded_ns: pending.discarded_ns };
        self.collector.push(&head, time, said, &pending.frames)?;
        self.pending.frames = pending.frames; // its memory is used again
        self.pending.frames.clear();
        Ok(())
    }

    /// What has come, once the last byte has.
    pub(crate) fn finish(self) -> Walked {
        let ends_inside = match &self.place {
            Place::Header(_, len) => *len > 0,
            Place::Passing(_) | Place::Keeping { .. } => true,
            Place::Lost | Place::Over => false,
        };
        let is_open = self.open.iter().any(|open| open.end.is_some_and(|end| end > self.at));
        Walked {
            chosen: self.chosen,
            collector: self.collector,
            scale_ns: self.scale_ns,
            is_cut_off: (ends_inside || is_open) && !self.is_over,
            is_lost: matches!(self.place, Place::Lost),
        }
    }
}

impl Place {
    fn header() -> Self {
        Place::Header([0; ID_LEN_MAX + SIZE_LEN_MAX], 0)
    }
}

/// A `DiscardPadding`, which is signed: below nothing it is at the front, where no writer puts it. RFC 9559,
/// 5.1.3.5.7.
fn discarded_ns(element: &Element<'_>) -> u64 {
    let is_negative = element.body.first().is_some_and(|byte| byte & 0x80 != 0);
    element.as_uint().filter(|_| !is_negative).unwrap_or(0)
}

/// Whether an element lies in a segment, and nowhere deeper.
fn is_of_segment(id: u32) -> bool {
    matches!(
        id,
        id::SEEK_HEAD
            | id::INFO
            | id::TRACKS
            | id::CLUSTER
            | id::CUES
            | id::ATTACHMENTS
            | id::CHAPTERS
            | id::TAGS
    )
}

/// Whether an element lies in no other.
fn is_of_file(id: u32) -> bool {
    matches!(id, id::EBML | id::SEGMENT)
}

fn checked_len(size: u64, max: u64, name: &str) -> Result<u64, Unreadable> {
    match size <= max {
        true => Ok(size),
        false => Err(ReadError::Unsupported(format!("its {name} is longer than {} MiB", max >> 20)).into()),
    }
}

/// Takes up to `available` of the bytes that are left, and says how many.
fn take(left: &mut u64, available: usize) -> usize {
    let taken = usize::try_from(*left).map_or(available, |left| left.min(available));
    *left -= taken as u64;
    taken
}
