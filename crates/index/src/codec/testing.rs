//! Configurations written bit by bit, so that every field has a case.

/// Bits in the order in which a configuration is read.
#[derive(Default)]
pub(super) struct Writer {
    bits: Vec<bool>,
}

impl Writer {
    pub(super) fn u(&mut self, width: u32, value: u32) -> &mut Self {
        self.bits.extend((0..width).rev().map(|bit| value >> bit & 1 == 1));
        self
    }

    pub(super) fn ue(&mut self, value: u32) -> &mut Self {
        let len = (value + 1).ilog2();
        self.u(len, 0).u(len + 1, value + 1)
    }

    pub(super) fn se(&mut self, value: i32) -> &mut Self {
        self.ue(if value > 0 { value as u32 * 2 - 1 } else { value.unsigned_abs() * 2 })
    }

    /// Encodes a NAL unit with this header and emulation prevention.
    pub(super) fn nal(&self, header: &[u8]) -> Vec<u8> {
        let mut nal = header.to_vec();
        let mut bits = self.bits.clone();
        bits.push(true); // rbsp_stop_one_bit
        for byte in bits.chunks(8) {
            let byte = byte.iter().enumerate().fold(0u8, |byte, (n, &bit)| byte | u8::from(bit) << (7 - n));
            if byte <= 3 && nal.ends_with(&[0, 0]) {
                nal.push(3);
            }
            nal.push(byte);
        }
        nal
    }

    /// Plain bytes; the unused bits of the last one are 0.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let byte = |bits: &[bool]| {
            bits.iter().zip((0..8).rev()).fold(0u8, |byte, (&bit, shift)| byte | u8::from(bit) << shift)
        };
        self.bits.chunks(8).map(byte).collect()
    }
}
