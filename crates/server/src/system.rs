//! The only code that reads the system's clock and draws its randomness.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{KeyPair as _, RsaKeyPair};
use kinora_domain::{Clock, KeyMaker, KeyPair, Random, Timestamp};

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "all other code takes the time from here")]
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(jiff::Timestamp::now().as_microsecond())
    }
}

/// The generator of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    #[expect(clippy::disallowed_methods, reason = "all other code takes randomness from here")]
    fn fill(&self, bytes: &mut [u8]) {
        // Without randomness every secret could be guessed, so the process must not continue.
        getrandom::fill(bytes).expect("the operating system has a random generator");
    }
}

/// RSA keys of aws-lc, which uses the operating system's generator directly.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemKeys;

impl KeyMaker for SystemKeys {
    fn generate(&self) -> KeyPair {
        // Fails only without memory or randomness: as above.
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).expect("there is memory and randomness");
        let private: Pkcs8V1Der<'_> = pair.as_der().expect("a key that was just made has a text");
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().expect("and so has its public half");
        KeyPair::from_der(private.as_ref(), public.as_ref())
    }
}
