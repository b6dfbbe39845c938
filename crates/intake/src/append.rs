//! What a request brings, and where an upload stands after it.

use kinora_domain::{LengthProblem, Timestamp, Upload};

use crate::{CHECKED_BYTES_MAX, Checksum, IntakeError};

/// Bytes to be put behind those that are kept, as a request announced them.
///
/// `B` is a stream of `Result<Bytes, E>`; it is read to its end, or to the first thing that forbids to go on.
#[derive(Debug)]
pub struct Append<B> {
    /// Where the first byte of the body belongs in the file.
    pub start: u64,
    /// Whether bytes that are kept already may come again: they are passed over. Otherwise `start` must be
    /// where the upload stands.
    pub may_overlap: bool,
    /// Bytes of the whole file, if the request says so.
    pub length: Option<u64>,
    /// Whether the file ends where the body ends.
    pub is_last: bool,
    /// Bytes of the body, if the request says so. A body of another length is refused or broken off.
    pub body_len: Option<u64>,
    /// What the bytes of the body must add up to; nothing of it is kept otherwise.
    pub checksum: Option<Checksum>,
    /// The bytes.
    pub body: B,
}

/// How a request fits what is kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fits {
    /// Bytes of the body that are kept already.
    pub(crate) skip: u64,
    /// Bytes of the whole file, if the request says so.
    pub(crate) length: Option<u64>,
}

impl<B> Append<B> {
    /// Whether the request can be received by an upload of which `offset` bytes are kept.
    pub(crate) fn fits(&self, upload: &Upload, offset: u64) -> Result<Fits, IntakeError> {
        let end = self.body_len.map(|len| self.start.saturating_add(len));
        let length = self.length.or(end.filter(|_| self.is_last));
        if let Some(length) = length {
            upload.check_length(length, offset)?;
        }
        let known = length.or(upload.length);
        if let Some(length) = known.filter(|length| end.is_some_and(|end| end > *length)) {
            return Err(IntakeError::TooManyBytes { offset, length });
        }
        if let Some(max) = upload.size_max.filter(|max| end.is_some_and(|end| end > *max)) {
            return Err(LengthProblem::TooLarge { max }.into());
        }
        if self.start > offset || (self.start < offset && !self.may_overlap) {
            return Err(IntakeError::WrongOffset { offset, length: known });
        }
        if self.checksum.is_some() && self.body_len.is_some_and(|len| len > CHECKED_BYTES_MAX) {
            return Err(IntakeError::ChecksumTooLong { max: CHECKED_BYTES_MAX });
        }
        Ok(Fits { skip: offset - self.start, length })
    }
}

/// Where an upload stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The upload, as its row was just read or written.
    pub upload: Upload,
    /// Bytes from the start that are kept; the next one belongs there.
    pub offset: u64,
}

impl Standing {
    /// Whether the whole file is kept.
    pub fn is_complete(&self) -> bool {
        matches!(self.upload.state, kinora_domain::UploadState::Completed { .. })
    }

    /// Until when the next byte must be kept; `None` when nothing more can come.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.upload.deadline()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{uploading, waiting};

    /// 10 bytes behind 100.
    fn append() -> Append<()> {
        Append {
            start: 100,
            may_overlap: false,
            length: None,
            is_last: false,
            body_len: Some(10),
            checksum: None,
            body: (),
        }
    }

    fn upload(length: Option<u64>, size_max: Option<u64>) -> Upload {
        Upload { length, size_max, ..uploading(100, 1) }
    }

    #[track_caller]
    fn check_at(append: &Append<()>, upload: &Upload, offset: u64, expected: Result<Fits, IntakeError>) {
        // Errors have no equality; their text holds every value.
        let found = append.fits(upload, offset);
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{append:?} {:?}", upload.length);
    }

    #[track_caller]
    fn check(append: &Append<()>, upload: &Upload, expected: Result<Fits, IntakeError>) {
        check_at(append, upload, 100, expected);
    }

    fn fits(skip: u64, length: Option<u64>) -> Result<Fits, IntakeError> {
        Ok(Fits { skip, length })
    }

    fn too_many(length: u64) -> Result<Fits, IntakeError> {
        Err(IntakeError::TooManyBytes { offset: 100, length })
    }

    #[test]
    fn append_is_accepted_at_the_offset_alone() {
        let wrong = |length| Err(IntakeError::WrongOffset { offset: 100, length });
        let any = upload(None, None);
        check(&append(), &any, fits(0, None));
        check(&Append { start: 99, ..append() }, &any, wrong(None));
        check(&Append { start: 101, ..append() }, &any, wrong(None));
        check(&Append { start: 0, ..append() }, &any, wrong(None));
        // The client learns the length, whoever announced it.
        check(&Append { start: 99, ..append() }, &upload(Some(500), None), wrong(Some(500)));
        check(&Append { start: 99, length: Some(600), ..append() }, &any, wrong(Some(600)));
        check_at(&Append { start: 0, ..append() }, &waiting(), 0, fits(0, None));
        let first = Err(IntakeError::WrongOffset { offset: 0, length: None });
        check_at(&append(), &waiting(), 0, first);
    }

    #[test]
    fn overlapping_append_skips_the_bytes_that_are_kept() {
        let overlapping = |start| Append { start, may_overlap: true, ..append() };
        let any = upload(None, None);
        check(&overlapping(100), &any, fits(0, None));
        check(&overlapping(95), &any, fits(5, None));
        check(&overlapping(0), &any, fits(100, None)); // all of the body and more
        check(&overlapping(101), &any, Err(IntakeError::WrongOffset { offset: 100, length: None }));
        check(&Append { body_len: None, ..overlapping(0) }, &any, fits(100, None));
    }

    #[test]
    fn body_beyond_the_announced_length_is_rejected() {
        check(&append(), &upload(Some(110), None), fits(0, None));
        check(&append(), &upload(Some(109), None), too_many(109));
        check(&Append { length: Some(110), ..append() }, &upload(None, None), fits(0, Some(110)));
        check(&Append { length: Some(109), ..append() }, &upload(None, None), too_many(109));
        check(&Append { body_len: None, ..append() }, &upload(Some(101), None), fits(0, None));
        check(&Append { body_len: Some(u64::MAX), ..append() }, &upload(Some(109), None), too_many(109));
        // Rejected for its length before its offset is looked at.
        check(&Append { start: 105, ..append() }, &upload(Some(109), None), too_many(109));
    }

    #[test]
    fn last_body_announces_where_the_file_ends() {
        let last = Append { is_last: true, ..append() };
        let any = upload(None, None);
        let rejected = |problem: LengthProblem| Err(IntakeError::Length(problem));
        check(&last, &any, fits(0, Some(110)));
        check(&Append { body_len: None, ..last }, &any, fits(0, None)); // known when it ends
        let last = Append { is_last: true, ..append() };
        check(&last, &upload(Some(110), None), fits(0, Some(110)));
        check(&last, &upload(Some(111), None), rejected(LengthProblem::Changed { announced: 111 }));
        let short = Append { start: 0, may_overlap: true, ..last };
        check(&short, &any, rejected(LengthProblem::BelowKept { kept: 100 }));
    }

    #[test]
    fn announced_length_must_be_possible() {
        let of = |length| Append { length: Some(length), body_len: None, ..append() };
        let rejected = |problem: LengthProblem| Err(IntakeError::Length(problem));
        check(&of(100), &upload(None, None), fits(0, Some(100)));
        check(&of(99), &upload(None, None), rejected(LengthProblem::BelowKept { kept: 100 }));
        check(&of(0), &upload(None, None), rejected(LengthProblem::Empty));
        check(&of(200), &upload(Some(200), None), fits(0, Some(200)));
        check(&of(201), &upload(Some(200), None), rejected(LengthProblem::Changed { announced: 200 }));
        check(&of(300), &upload(None, Some(300)), fits(0, Some(300)));
        check(&of(301), &upload(None, Some(300)), rejected(LengthProblem::TooLarge { max: 300 }));
    }

    #[test]
    fn body_beyond_the_size_limit_is_rejected() {
        let rejected = Err(IntakeError::Length(LengthProblem::TooLarge { max: 109 }));
        check(&append(), &upload(None, Some(110)), fits(0, None));
        check(&append(), &upload(None, Some(109)), rejected);
        check(&Append { body_len: None, ..append() }, &upload(None, Some(109)), fits(0, None));
    }

    #[test]
    fn body_with_a_checksum_has_a_limit_of_its_own() {
        let of = |body_len| Append { body_len, checksum: Some(Checksum::Sha1([0; 20])), ..append() };
        let rejected = Err(IntakeError::ChecksumTooLong { max: 32 << 20 });
        let any = upload(None, None);
        check(&of(Some(32 << 20)), &any, fits(0, None));
        check(&of(Some((32 << 20) + 1)), &any, rejected);
        check(&of(None), &any, fits(0, None)); // counted as it comes
        check(&Append { checksum: None, ..of(Some((32 << 20) + 1)) }, &any, fits(0, None));
    }
}
