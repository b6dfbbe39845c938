//! The codings of a response that a client accepts (RFC 9110, 8.4 and 12.5.3).

use axum::http::{HeaderMap, HeaderValue, header};

/// A coding of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// RFC 7932.
    Brotli,
    /// RFC 1952.
    Gzip,
}

impl Coding {
    /// The codings of files, smallest result first.
    pub const ALL: [Self; 2] = [Self::Brotli, Self::Gzip];

    /// Value of `Content-Encoding`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// The same, as a header.
    pub fn to_header(self) -> HeaderValue {
        HeaderValue::from_static(self.as_str())
    }

    /// The end of the name of a file with these bytes.
    pub(crate) fn file_ending(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Gzip => ".gz",
        }
    }
}

/// The weights in the `Accept-Encoding` of a request.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct AcceptedCodings {
    brotli: Option<f32>,
    gzip: Option<f32>,
    any: Option<f32>,
    identity: Option<f32>,
}

impl AcceptedCodings {
    /// The weights in these headers.
    pub fn of(request: &HeaderMap) -> Self {
        let mut accepted = Self::default();
        let values = request.get_all(header::ACCEPT_ENCODING).iter();
        for part in values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')) {
            let (coding, parameters) = part.split_once(';').unwrap_or((part, ""));
            let weight = Some(weight(parameters));
            match coding.trim().to_ascii_lowercase().as_str() {
                "br" => accepted.brotli = weight,
                "gzip" | "x-gzip" => accepted.gzip = weight,
                "*" => accepted.any = weight,
                "identity" => accepted.identity = weight,
                _ => {}
            }
        }
        accepted
    }

    /// The available coding that the client prefers to all others; the first one of equal weight. `None`: the
    /// bytes as they are.
    pub fn preferred(&self, available: &[Coding]) -> Option<Coding> {
        let mut best: Option<(Coding, f32)> = None;
        for coding in available.iter().copied().filter(|coding| self.prefers(*coding)) {
            let weight = self.weight_of(coding);
            if best.is_none_or(|(_, best)| best < weight) {
                best = Some((coding, weight));
            }
        }
        best.map(|(coding, _)| coding)
    }

    /// Whether the client prefers this coding to the bytes as they are.
    pub fn prefers(&self, coding: Coding) -> bool {
        let weight = self.weight_of(coding);
        0.0 < weight && self.identity.is_none_or(|identity| identity <= weight)
    }

    fn weight_of(&self, coding: Coding) -> f32 {
        let named = match coding {
            Coding::Brotli => self.brotli,
            Coding::Gzip => self.gzip,
        };
        named.or(self.any).unwrap_or(0.0)
    }
}

/// RFC 9110, 12.4.2. An invalid weight counts as 0.
fn weight(parameters: &str) -> f32 {
    let Some((name, value)) = parameters.split_once('=') else {
        return if parameters.trim().is_empty() { 1.0 } else { 0.0 };
    };
    let value = value.trim().parse().ok().filter(|weight| (0.0..=1.0).contains(weight));
    value.filter(|_| name.trim().eq_ignore_ascii_case("q")).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&'static str]) -> AcceptedCodings {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
        }
        AcceptedCodings::of(&headers)
    }

    #[test]
    fn gzip_is_preferred_by_weight() {
        let check = |values: &[&'static str], expected: bool| {
            assert_eq!(of(values).prefers(Coding::Gzip), expected, "{values:?}");
        };
        check(&["gzip"], true);
        check(&["gzip, deflate, br, zstd"], true);
        check(&["br", "GZIP ; Q=0.5"], true);
        check(&["x-gzip"], true);
        check(&["*"], true);
        check(&["identity;q=0.5, *;q=0.5"], true);
        check(&["identity;q=0, gzip;q=0.001"], true);
        check(&[], false);
        check(&[""], false);
        check(&["identity"], false);
        check(&["br"], false);
        check(&["gzip;q=0"], false);
        check(&["gzip;q=0.000, *"], false);
        check(&["*;q=0"], false);
        check(&["gzip;q=0.5, identity"], false);
        check(&["gzip;q=x"], false);
        check(&["gzip;q=2"], false);
        check(&["gzip;level=1"], false);
        check(&["gzipped"], false);
    }

    #[test]
    fn highest_weight_wins_and_brotli_precedes_gzip() {
        use Coding::{Brotli, Gzip};
        let check = |values: &[&'static str], available: &[Coding], expected: Option<Coding>| {
            assert_eq!(of(values).preferred(available), expected, "{values:?} of {available:?}");
        };
        check(&["gzip, deflate, br, zstd"], &Coding::ALL, Some(Brotli));
        check(&["gzip, br;q=0.9"], &Coding::ALL, Some(Gzip));
        check(&["gzip;q=0.1, br;q=0.9"], &Coding::ALL, Some(Brotli));
        check(&["gzip, br"], &[Gzip], Some(Gzip));
        check(&["gzip, br"], &[], None);
        check(&["*"], &Coding::ALL, Some(Brotli));
        check(&["*, br;q=0"], &Coding::ALL, Some(Gzip));
        check(&["br;q=0.5, identity"], &Coding::ALL, None);
        check(&["identity;q=0"], &Coding::ALL, None);
        check(&["zstd"], &Coding::ALL, None);
        check(&[], &Coding::ALL, None);
    }
}
