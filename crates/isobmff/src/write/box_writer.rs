//! Writes nested boxes into one buffer.

/// Four characters that name a box.
pub(crate) type BoxType = [u8; 4];

/// A buffer of big-endian boxes.
#[derive(Debug, Default)]
pub struct BoxWriter {
    bytes: Vec<u8>,
}

impl BoxWriter {
    /// An empty buffer with the given capacity in bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity) }
    }

    /// The written bytes.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Writes a box around the output of `body`. The body is far below 4 GiB, because it contains no sample
    /// data.
    pub fn write_box(&mut self, kind: &BoxType, body: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.u32(0);
        self.bytes.extend_from_slice(kind);
        body(self);
        let size =
            u32::try_from(self.bytes.len() - start).expect("a box without sample data is far below 4 GiB");
        self.patch_u32(start, size);
    }

    /// Writes a box that begins with a version and 24 bits of flags.
    pub fn write_full_box(&mut self, kind: &BoxType, version: u8, flags: u32, body: impl FnOnce(&mut Self)) {
        self.write_box(kind, |boxes| {
            boxes.u32(u32::from(version) << 24 | (flags & 0x00ff_ffff));
            body(boxes);
        });
    }

    /// Overwrites four bytes at `position`, which were written before.
    pub(crate) fn patch_u32(&mut self, position: usize, value: u32) {
        self.bytes[position..position + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// Writes bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes `count` zero bytes.
    pub fn zeros(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
    }

    /// Writes 2 bytes.
    pub fn u16(&mut self, value: u16) {
        self.raw(&value.to_be_bytes());
    }

    /// Writes 4 bytes.
    pub fn u32(&mut self, value: u32) {
        self.raw(&value.to_be_bytes());
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.raw(&value.to_be_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.raw(&value.to_be_bytes());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.raw(&value.to_be_bytes());
    }
}
