//! Passwords: the rule for new ones, and their hashes.

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use subtle::ConstantTimeEq as _;
use unicode_normalization::UnicodeNormalization as _;
use zxcvbn::{Score, zxcvbn};

/// A password is not good enough. `Display` is a sentence that follows the name of the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PasswordRejected {
    /// Too few characters.
    #[error("must have at least {} characters", Password::CHARS_MIN)]
    TooShort,
    /// Too many characters.
    #[error("must have at most {} characters", Password::CHARS_MAX)]
    TooLong,
    /// Easy to guess, and why.
    #[error("is too easy to guess. {0}")]
    Weak(String),
}

/// A new password that meets the rule. `Debug` never prints it.
pub struct Password(String);

impl Password {
    /// Fewest characters. There are no rules of composition (NIST SP 800-63B-4, 3.1.1.2).
    pub const CHARS_MIN: usize = 12;
    /// Most characters: a hash of a text without a limit would be an attack.
    pub const CHARS_MAX: usize = 256;
    /// The lowest accepted score, of 0 to 4: at least 10^8 guesses.
    const SCORE_MIN: Score = Score::Three;

    /// Checks a new password. `known` are texts that an attacker tries first: email address and name.
    pub fn new(text: &str, known: &[&str]) -> Result<Self, PasswordRejected> {
        match text.chars().count() {
            count if count < Self::CHARS_MIN => return Err(PasswordRejected::TooShort),
            count if count > Self::CHARS_MAX => return Err(PasswordRejected::TooLong),
            _ => {}
        }
        // The parts of an address are as easy to guess as the whole.
        let parts: Vec<_> = known.iter().flat_map(|text| text.split(['@', '.', ' ', '-', '_'])).collect();
        let inputs: Vec<_> = known.iter().copied().chain(parts).filter(|text| !text.is_empty()).collect();
        let estimate = zxcvbn(text, &inputs);
        if estimate.score() >= Self::SCORE_MIN {
            return Ok(Self(text.to_owned()));
        }
        let mut reasons = Vec::new();
        if let Some(feedback) = estimate.feedback() {
            reasons.extend(feedback.warning().map(|warning| warning.to_string()));
            reasons.extend(feedback.suggestions().iter().map(|suggestion| suggestion.to_string()));
        }
        if reasons.is_empty() {
            reasons.push("Add another word or two.".to_owned());
        }
        Err(PasswordRejected::Weak(reasons.join(" ")))
    }

    /// Its hash with this salt. Takes 64 MiB and about 0.3 s of a processor.
    pub fn hash(&self, salt: [u8; 16]) -> PasswordHash {
        PasswordHash::of(&self.0, salt)
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password(hidden)")
    }
}

/// The Argon2id hash of a password, in the PHC string format:
/// `$argon2id$v=19$m=65536,t=3,p=1$SALT$HASH`. `Debug` never prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    cost: Cost,
    salt: Vec<u8>,
    output: Vec<u8>,
}

/// The parameters of Argon2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cost {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

/// RFC 9106, 4: the second recommended option, on one lane.
const COST: Cost = Cost { memory_kib: 64 * 1024, passes: 3, lanes: 1 };
/// No stored hash may cost more than this, or a row could exhaust the memory.
const COST_MAX: Cost = Cost { memory_kib: 256 * 1024, passes: 16, lanes: 16 };
const OUTPUT_BYTES: usize = 32;
/// Limits of salts and outputs in the PHC string format.
const BYTES_MAX: usize = 64;

impl PasswordHash {
    /// The hash of a text that was not checked: to compare it, or to spend the time of a comparison.
    pub fn of(password: &str, salt: [u8; 16]) -> Self {
        let mut output = vec![0; OUTPUT_BYTES];
        COST.fill(password, &salt, &mut output);
        Self { cost: COST, salt: salt.to_vec(), output }
    }

    /// Reads a stored hash. `None` for another format or a cost out of bounds.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix("$argon2id$v=19$")?.split('$');
        let (cost, salt, output) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let decode = |text: &str| STANDARD_NO_PAD.decode(text).ok().filter(|it| it.len() <= BYTES_MAX);
        let (salt, output) = (decode(salt)?, decode(output)?);
        let cost = Cost::from_text(cost)?;
        let is_valid = salt.len() >= argon2::MIN_SALT_LEN && output.len() >= Params::MIN_OUTPUT_LEN;
        is_valid.then_some(Self { cost, salt, output })
    }

    /// The text to store.
    pub fn to_text(&self) -> String {
        let Cost { memory_kib, passes, lanes } = self.cost;
        let [salt, output] = [&self.salt, &self.output].map(|bytes| STANDARD_NO_PAD.encode(bytes));
        format!("$argon2id$v=19$m={memory_kib},t={passes},p={lanes}${salt}${output}")
    }

    /// Whether this is the password. As slow as [`Password::hash`].
    pub fn verify(&self, password: &str) -> bool {
        if password.chars().count() > Password::CHARS_MAX {
            return false;
        }
        let mut output = vec![0; self.output.len()];
        self.cost.fill(password, &self.salt, &mut output);
        output.ct_eq(&self.output).into()
    }

    /// Whether its parameters are not those of new hashes: the next sign-in replaces it.
    pub fn needs_rehash(&self) -> bool {
        self.cost != COST || self.output.len() != OUTPUT_BYTES
    }
}

impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PasswordHash(hidden)")
    }
}

impl Cost {
    fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.split(',');
        let mut number = |name: &str| parts.next()?.strip_prefix(name)?.parse::<u32>().ok();
        let (memory_kib, passes, lanes) = (number("m=")?, number("t=")?, number("p=")?);
        let is_bounded =
            memory_kib <= COST_MAX.memory_kib && passes <= COST_MAX.passes && lanes <= COST_MAX.lanes;
        let is_whole = parts.next().is_none() && Params::new(memory_kib, passes, lanes, None).is_ok();
        (is_bounded && is_whole).then_some(Self { memory_kib, passes, lanes })
    }

    /// Computes a hash into `output`.
    fn fill(self, password: &str, salt: &[u8], output: &mut [u8]) {
        // The same password typed on two keyboards may be composed differently (NIST SP 800-63B-4, 3.1.1.2).
        let password: String = password.nfkc().collect();
        let params = Params::new(self.memory_kib, self.passes, self.lanes, None);
        let params = params.expect("the constants and Cost::from_text are valid");
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(password.as_bytes(), salt, output)
            .expect("salt and output have valid lengths")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "correct horse battery";

    fn rejected(text: &str, known: &[&str]) -> String {
        Password::new(text, known).map(drop).expect_err(text).to_string()
    }

    #[test]
    fn password_has_12_to_256_characters() {
        assert_eq!(rejected("Tr0ub4dor&3", &[]), "must have at least 12 characters");
        assert_eq!(rejected(&"x".repeat(257), &[]), "must have at most 256 characters");
        assert!(Password::new(GOOD, &[]).is_ok());
        let long: String = (0..256_u32).map(|at| char::from_u32(0x4e00 + at * 37 % 9973).unwrap()).collect();
        assert!(Password::new(&long, &[]).is_ok());
    }

    #[test]
    fn guessable_password_is_rejected_with_the_reason() {
        for weak in ["aaaaaaaaaaaa", "123456789012", "password1234", "qwertyuiop12"] {
            let why = rejected(weak, &[]);
            assert!(why.starts_with("is too easy to guess. ") && why.len() > 30, "{weak}: {why}");
        }
    }

    #[test]
    fn own_address_and_name_are_guessed_first() {
        let known = ["margarete.sommerfeld@kinora.example", "Margarete Sommerfeld"];
        for text in ["margaretesommerfeld", "margarete.sommerfeld@kinora.example"] {
            assert!(Password::new(text, &[]).is_ok(), "{text} is not weak for others");
            rejected(text, &known);
        }
        assert!(Password::new(GOOD, &known).is_ok());
    }

    #[test]
    fn hash_verifies_only_its_password_and_survives_its_text() {
        let hash = PasswordHash::of(GOOD, [7; 16]);
        let text = hash.to_text();
        assert!(text.starts_with("$argon2id$v=19$m=65536,t=3,p=1$BwcHBwcHBwcHBwcHBwcHBw$"), "{text}");
        let read = PasswordHash::from_text(&text).expect("its own text");
        assert_eq!(read, hash);
        assert!(read.verify(GOOD));
        assert!(!read.verify("correct horse batterz"));
        assert!(!read.verify(&"x".repeat(257)));
        assert!(!read.needs_rehash());
        assert_eq!(format!("{read:?}"), "PasswordHash(hidden)");
    }

    /// `m=19456,t=2,p=1` was the cheaper choice of OWASP.
    #[test]
    fn hash_with_other_cost_verifies_and_needs_rehash() {
        let cost = Cost { memory_kib: 19 * 1024, passes: 2, lanes: 1 };
        let mut output = vec![0; OUTPUT_BYTES];
        cost.fill("josé josé josé", &[1; 16], &mut output);
        let hash = PasswordHash { cost, salt: vec![1; 16], output };
        let hash = PasswordHash::from_text(&hash.to_text()).expect("within the bounds");
        assert!(hash.needs_rehash());
        assert!(hash.verify("jose\u{301} jose\u{301} jose\u{301}"), "composed differently");
    }

    #[test]
    fn other_formats_and_costs_are_no_hash() {
        let salt_and_hash = "BwcHBwcHBwcHBwcHBwcHBw$Kr0FM2HEdHfAExiW5d1sFTlN1TXHcr8F5BeyZ3b1bTk";
        let check = |cost: &str, ok: bool| {
            let text = format!("$argon2id$v=19${cost}${salt_and_hash}");
            assert_eq!(PasswordHash::from_text(&text).is_some(), ok, "{cost}");
        };
        check("m=65536,t=3,p=1", true);
        check("m=262144,t=16,p=16", true);
        check("m=262145,t=3,p=1", false);
        check("m=65536,t=17,p=1", false);
        check("m=65536,t=3,p=0", false);
        check("m=65536,t=3", false);
        check("m=65536,t=3,p=1,x=1", false);
        for text in ["", "$2b$12$x", "$argon2i$v=19$m=65536,t=3,p=1$a$b", "$argon2id$v=19$m=8,t=1,p=1$AA$AA"]
        {
            assert_eq!(PasswordHash::from_text(text), None, "{text}");
        }
    }
}
