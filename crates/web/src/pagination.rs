//! The query of a list: a page by its number or by a cursor, and the links to its neighbours (C-107,
//! D-0069).

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::request::Parts;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kinora_store::{List, ListPage, PageStart, Position};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::base_urls::BaseUrls;
use crate::envelope::{Data, Pagination};
use crate::error::ApiError;
use crate::extract::PageQuery;
use crate::fields::Problems;

const CURSOR: &str = "cursor";

/// The query of a list, before the list is known.
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

/// The requested page of a list.
#[derive(Debug)]
pub struct PageRequest {
    path: String,
    page: PageQuery,
    /// The page in the form of the store, selected by `page` or the cursor.
    pub list_page: ListPage,
    /// Entries before the page, summed up from page to page.
    skip: u64,
    filters: Vec<(String, String)>,
    list_hash: [u8; LIST_HASH_BYTES],
}

impl ListQuery {
    /// Parses this path and query.
    pub fn of(path: &str, query: &str) -> Self {
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        let pairs = pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        Self { path: path.to_owned(), pairs }
    }

    /// All values of a parameter.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The only value of a parameter. More than one is a problem.
    pub fn single_value<'a>(&'a self, name: &'a str, problems: &Problems) -> Option<&'a str> {
        let mut values = self.values(name);
        let value = values.next();
        if values.next().is_some() {
            problems.add(name, "must be given once");
            return None;
        }
        value
    }

    /// The requested page of the list of this name. 422 names each invalid parameter, including those found
    /// before.
    pub fn into_page_request(self, name: &str) -> Result<PageRequest, ApiError> {
        self.into_filtered_page_request(name, Problems::default(), |_| false)
    }

    /// The same for a list with filters: the parameters for which `is_filter` is true.
    pub fn into_filtered_page_request(
        self,
        name: &str,
        problems: Problems,
        is_filter: impl Fn(&str) -> bool,
    ) -> Result<PageRequest, ApiError> {
        let page = PageQuery::parse_pairs(&self.pairs, &problems);
        let mut filters: Vec<_> = self.pairs.iter().filter(|(name, _)| is_filter(name)).cloned().collect();
        filters.sort();
        let list_hash = list_hash_of(name, &filters);
        let by_number = ListPage {
            limit: page.limit,
            newest_first: page.is_newest_first,
            start: PageStart::Number(page.offset),
        };
        let skip = u64::from(page.offset - 1).saturating_mul(u64::from(page.limit));
        let by_number = (by_number, skip);
        let (list_page, skip) = match self.single_value(CURSOR, &problems) {
            None => by_number,
            Some(text) => self.page_at_cursor(text, page, list_hash, &problems).unwrap_or(by_number),
        };
        problems.into_result(Some(PageRequest { path: self.path, page, list_page, skip, filters, list_hash }))
    }

    fn page_at_cursor(
        &self,
        text: &str,
        page: PageQuery,
        list_hash: [u8; LIST_HASH_BYTES],
        problems: &Problems,
    ) -> Option<(ListPage, u64)> {
        let Some(cursor) = Cursor::from_text(text) else {
            problems.add(CURSOR, "is not a valid cursor; leave it out to start at the first page");
            return None;
        };
        if cursor.list_hash != list_hash {
            let problem =
                "belongs to another list or to other filters; leave it out to start at the first page";
            problems.add(CURSOR, problem);
        }
        if self.values("offset").next().is_some() {
            problems.add("offset", "must be left out when a cursor is sent");
        }
        if self.values("orderBy").next().is_some() && page.is_newest_first != cursor.newest_first {
            problems.add("orderBy", "must be left out when a cursor is sent; the cursor has the order");
        }
        let start = if cursor.is_before {
            PageStart::Before(cursor.position)
        } else {
            PageStart::After(cursor.position)
        };
        let list_page = ListPage { limit: page.limit, newest_first: cursor.newest_first, start };
        Some((list_page, cursor.skip))
    }
}

impl PageRequest {
    /// 200 with this page of the list, and links to its neighbours.
    pub fn respond<T, U: Serialize>(
        self,
        base_urls: &BaseUrls,
        list: &List<T>,
        views: Vec<U>,
    ) -> Data<Vec<U>> {
        let limit = u64::from(self.page.limit);
        let pagination = Pagination {
            total_records: list.total,
            current_offset: self.page_number(),
            offset_count: list.total.div_ceil(limit),
            total_is_lower_bound: list.is_lower_bound,
        };
        let count = list.items.len() as u64;
        let next = list.next.map(|at| ("next", self.cursor(at, false, self.skip.saturating_add(count))));
        let previous =
            list.previous.map(|at| ("prev", self.cursor(at, true, self.skip.saturating_sub(limit))));
        let links: Vec<String> = next
            .into_iter()
            .chain(previous)
            .map(|(rel, cursor)| format!("<{}>; rel=\"{rel}\"", self.page_url(base_urls, &cursor)))
            .collect();
        // The value has only characters that are valid in a URL: the functions above encode all parts of it.
        let links = (!links.is_empty()).then(|| HeaderValue::from_str(&links.join(", ")).ok()).flatten();
        Data::page(views, pagination).with_link(links)
    }

    /// The number of this page, counted from the page where the client began.
    fn page_number(&self) -> u64 {
        (self.skip / u64::from(self.page.limit)).saturating_add(1)
    }

    /// 200 with an empty page of a list that cannot have entries yet.
    pub fn empty(self) -> Data<[(); 0]> {
        Data::page([], Pagination::of(self.page, 0))
    }

    fn cursor(&self, position: Position, is_before: bool, skip: u64) -> String {
        Cursor {
            list_hash: self.list_hash,
            is_before,
            newest_first: self.list_page.newest_first,
            skip,
            position,
        }
        .to_text()
    }

    fn page_url(&self, base_urls: &BaseUrls, cursor: &str) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.filters).append_pair("limit", &self.page.limit.to_string());
        let query = query.append_pair(CURSOR, cursor).finish();
        format!("{}{}?{query}", base_urls.public, self.path)
    }
}

const LIST_HASH_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 4;

/// The start or the end of a page, opaque to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cursor {
    /// Identifies the list and its filters.
    list_hash: [u8; LIST_HASH_BYTES],
    /// Selects the page before the position, not the one after it.
    is_before: bool,
    newest_first: bool,
    /// Entries before the page that it selects.
    skip: u64,
    position: Position,
}

impl Cursor {
    /// Another layout has another number: an old cursor is rejected, never misread.
    const VERSION: u8 = 1;
    const BEFORE: u8 = 1;
    const NEWEST_FIRST: u8 = 2;

    fn to_text(self) -> String {
        let flags =
            u8::from(self.is_before) * Self::BEFORE + u8::from(self.newest_first) * Self::NEWEST_FIRST;
        let mut bytes = vec![Self::VERSION, flags];
        bytes.extend(self.list_hash);
        bytes.extend(self.skip.to_be_bytes());
        bytes.extend(self.position.to_bytes());
        bytes.extend(checksum_of(&bytes));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// `None` for a text that is no cursor of this version. The check detects truncation and typing errors,
    /// not forgery. A forged cursor shows only entries that the access token may read anyway.
    fn from_text(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (content, check) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
        let [Self::VERSION, flags, rest @ ..] = content else { return None };
        let (list_hash, rest) = rest.split_first_chunk()?;
        let (skip, rest) = rest.split_first_chunk()?;
        if *check != checksum_of(content) || flags & !(Self::BEFORE | Self::NEWEST_FIRST) != 0 {
            return None;
        }
        Some(Self {
            list_hash: *list_hash,
            is_before: flags & Self::BEFORE != 0,
            newest_first: flags & Self::NEWEST_FIRST != 0,
            skip: u64::from_be_bytes(*skip),
            position: Position::from_bytes(rest.try_into().ok()?),
        })
    }
}

fn checksum_of(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    *digest.first_chunk().expect("a hash has 32 bytes")
}

/// Identifies a list and its filters.
fn list_hash_of(list: &str, filters: &[(String, String)]) -> [u8; LIST_HASH_BYTES] {
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
