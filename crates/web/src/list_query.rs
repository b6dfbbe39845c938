//! What is asked of a list: which part of it, by its number or by a cursor, and what lies beside it
//! (C-107, D-0069).

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::request::Parts;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kinora_store::{List, Position, Slice, SliceStart};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::addresses::Addresses;
use crate::envelope::{Data, Pagination};
use crate::error::ApiError;
use crate::extract::PageQuery;
use crate::fields::Problems;

const CURSOR: &str = "cursor";

/// The query of a list, before it is known which list it is.
pub struct ListQuery {
    path: String,
    /// Names and values, decoded, in their order.
    pub pairs: Vec<(String, String)>,
}

impl<S: Send + Sync> FromRequestParts<S> for ListQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self::of(parts.uri.path(), parts.uri.query().unwrap_or("")))
    }
}

/// Which part of which list was asked for.
#[derive(Debug)]
pub struct Listing {
    path: String,
    page: PageQuery,
    /// What follows from `page`, or from the cursor.
    pub slice: Slice,
    /// Entries in front of the part, counted along the way.
    skip: u64,
    filters: Vec<(String, String)>,
    mark: [u8; MARK_BYTES],
}

impl ListQuery {
    /// Of this path and query.
    pub fn of(path: &str, query: &str) -> Self {
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        let pairs = pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        Self { path: path.to_owned(), pairs }
    }

    /// The values that a name came with.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// The one value of a name. More than one is a problem.
    pub fn one<'a>(&'a self, name: &'a str, problems: &Problems) -> Option<&'a str> {
        let mut values = self.all(name);
        let value = values.next();
        if values.next().is_some() {
            problems.add(name, "must be given once");
            return None;
        }
        value
    }

    /// Which part was asked for of the list of this name. 422 names each wrong parameter, those found before
    /// among them.
    pub fn of_list(self, name: &str) -> Result<Listing, ApiError> {
        self.filtered(name, Problems::default(), |_| false)
    }

    /// The same, of a list with filters: those parameters that `is_filter`.
    pub fn filtered(
        self,
        name: &str,
        problems: Problems,
        is_filter: impl Fn(&str) -> bool,
    ) -> Result<Listing, ApiError> {
        let page = PageQuery::read(&self.pairs, &problems);
        let mut filters: Vec<_> = self.pairs.iter().filter(|(name, _)| is_filter(name)).cloned().collect();
        filters.sort();
        let mark = mark_of(name, &filters);
        let by_number = Slice {
            limit: page.limit,
            newest_first: page.is_newest_first,
            start: SliceStart::Number(page.offset),
        };
        let skip = u64::from(page.offset - 1).saturating_mul(u64::from(page.limit));
        let by_number = (by_number, skip);
        let (slice, skip) = match self.one(CURSOR, &problems) {
            None => by_number,
            Some(text) => self.by_cursor(text, page, mark, &problems).unwrap_or(by_number),
        };
        problems.into_result(Some(Listing { path: self.path, page, slice, skip, filters, mark }))
    }

    fn by_cursor(
        &self,
        text: &str,
        page: PageQuery,
        mark: [u8; MARK_BYTES],
        problems: &Problems,
    ) -> Option<(Slice, u64)> {
        let Some(cursor) = Cursor::from_text(text) else {
            problems
                .add(CURSOR, "is damaged, or of another version; leave it out to begin at the first page");
            return None;
        };
        if cursor.mark != mark {
            let problem =
                "belongs to another list, or to other filters; leave it out to begin at the first page";
            problems.add(CURSOR, problem);
        }
        if self.all("offset").next().is_some() {
            problems.add("offset", "must be left out beside a cursor");
        }
        if self.all("orderBy").next().is_some() && page.is_newest_first != cursor.newest_first {
            problems.add("orderBy", "must be left out beside a cursor, which knows the order");
        }
        let start = if cursor.is_before {
            SliceStart::Before(cursor.position)
        } else {
            SliceStart::After(cursor.position)
        };
        let slice = Slice { limit: page.limit, newest_first: cursor.newest_first, start };
        Some((slice, cursor.skip))
    }
}

impl Listing {
    /// 200 with this part of the list, and addresses of what lies beside it.
    pub fn answer<T, U: Serialize>(
        self,
        addresses: &Addresses,
        list: &List<T>,
        views: Vec<U>,
    ) -> Data<Vec<U>> {
        let limit = u64::from(self.page.limit);
        let pagination = Pagination {
            total_records: list.total,
            current_offset: self.number(),
            offset_count: list.total.div_ceil(limit),
            total_is_lower_bound: list.is_lower_bound,
        };
        let shown = list.items.len() as u64;
        let next = list.next.map(|at| ("next", self.cursor(at, false, self.skip.saturating_add(shown))));
        let previous =
            list.previous.map(|at| ("prev", self.cursor(at, true, self.skip.saturating_sub(limit))));
        let links: Vec<String> = next
            .into_iter()
            .chain(previous)
            .map(|(rel, cursor)| format!("<{}>; rel=\"{rel}\"", self.address(addresses, &cursor)))
            .collect();
        // All of it was made here of texts that can stand in an address.
        let links = (!links.is_empty()).then(|| HeaderValue::from_str(&links.join(", ")).ok()).flatten();
        Data::page(views, pagination).linked(links)
    }

    /// The number of this part, counted along the way from where the walk began.
    fn number(&self) -> u64 {
        (self.skip / u64::from(self.page.limit)).saturating_add(1)
    }

    /// 200 with a page of a list in which nothing can be yet.
    pub fn empty(self) -> Data<[(); 0]> {
        Data::page([], Pagination::of(self.page, 0))
    }

    fn cursor(&self, position: Position, is_before: bool, skip: u64) -> String {
        Cursor { mark: self.mark, is_before, newest_first: self.slice.newest_first, skip, position }.to_text()
    }

    fn address(&self, addresses: &Addresses, cursor: &str) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.filters).append_pair("limit", &self.page.limit.to_string());
        let query = query.append_pair(CURSOR, cursor).finish();
        format!("{}{}?{query}", addresses.public, self.path)
    }
}

const MARK_BYTES: usize = 8;
const CHECK_BYTES: usize = 4;

/// Where a part of a list begins or ends. Clients keep the text and look into it no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cursor {
    /// Of which list, with which filters.
    mark: [u8; MARK_BYTES],
    /// What lies in front of the position, not behind it.
    is_before: bool,
    newest_first: bool,
    /// Entries in front of the part that it leads to.
    skip: u64,
    position: Position,
}

impl Cursor {
    /// Another layout has another number: an old cursor is refused, never misread.
    const VERSION: u8 = 1;
    const BEFORE: u8 = 1;
    const NEWEST_FIRST: u8 = 2;

    fn to_text(self) -> String {
        let flags =
            u8::from(self.is_before) * Self::BEFORE + u8::from(self.newest_first) * Self::NEWEST_FIRST;
        let mut bytes = vec![Self::VERSION, flags];
        bytes.extend(self.mark);
        bytes.extend(self.skip.to_be_bytes());
        bytes.extend(self.position.to_bytes());
        bytes.extend(check_of(&bytes));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// `None` for a text that none of this version is. The check finds what was cut or mistyped; it keeps
    /// nobody from making one, who would see what the access token shows anyway.
    fn from_text(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (told, check) = bytes.split_last_chunk::<CHECK_BYTES>()?;
        let [Self::VERSION, flags, rest @ ..] = told else { return None };
        let (mark, rest) = rest.split_first_chunk()?;
        let (skip, rest) = rest.split_first_chunk()?;
        if *check != check_of(told) || flags & !(Self::BEFORE | Self::NEWEST_FIRST) != 0 {
            return None;
        }
        Some(Self {
            mark: *mark,
            is_before: flags & Self::BEFORE != 0,
            newest_first: flags & Self::NEWEST_FIRST != 0,
            skip: u64::from_be_bytes(*skip),
            position: Position::from_bytes(rest.try_into().ok()?),
        })
    }
}

fn check_of(bytes: &[u8]) -> [u8; CHECK_BYTES] {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    *digest.first_chunk().expect("a hash has 32 bytes")
}

/// What tells lists and filters apart.
fn mark_of(list: &str, filters: &[(String, String)]) -> [u8; MARK_BYTES] {
    let mut hash = Sha256::new().chain_update(list);
    for (name, value) in filters {
        for text in [name, value] {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
    }
    let digest: [u8; 32] = hash.finalize().into();
    *digest.first_chunk().expect("a hash has 32 bytes")
}

#[cfg(test)]
mod tests;
