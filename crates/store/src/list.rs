//! Pagination by creation time: by page number or by cursor, and the index range of the rows.

use kinora_domain::{Timestamp, WorkspaceId};
use uuid::Uuid;

use crate::Error;
use crate::sql::{Row, Session, Statement, Value, values};

/// A page of a list, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The most entries of a page.
    pub limit: u32,
    /// The page number. The first page is 1; 0 means the first page too.
    pub number: u32,
    /// Whether the newest entry comes first, by creation time.
    pub newest_first: bool,
}

/// A page of a list, by number or by cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPage {
    /// The most entries of the page.
    pub limit: u32,
    /// Whether the newest entry comes first, by creation time.
    pub newest_first: bool,
    /// The start or the end of the page.
    pub start: PageStart,
}

/// The start or the end of a page, in the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageStart {
    /// The page number, with pages of this length. The first page is 1; 0 means the first page too.
    Number(u32),
    /// The page starts after this position.
    After(Position),
    /// The page ends before this position.
    Before(Position),
}

impl From<Page> for ListPage {
    fn from(page: Page) -> Self {
        Self { limit: page.limit, newest_first: page.newest_first, start: PageStart::Number(page.number) }
    }
}

/// The position of an entry in a list. The entry may be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    created_at: Timestamp,
    id: Uuid,
}

impl Position {
    /// The position of an entry.
    pub fn new(created_at: Timestamp, id: Uuid) -> Self {
        Self { created_at, id }
    }

    /// The position as bytes, for a cursor.
    pub fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.created_at.as_micros().to_be_bytes());
        bytes[8..].copy_from_slice(self.id.as_bytes());
        bytes
    }

    /// Decodes a position.
    pub fn from_bytes(bytes: [u8; 24]) -> Self {
        let (at, id) = bytes.split_at(8);
        let at = i64::from_be_bytes(at.try_into().expect("it has 8 bytes"));
        Self { created_at: Timestamp::from_micros(at), id: Uuid::from_slice(id).expect("it has 16 bytes") }
    }

    /// The creation time of the entry.
    pub(crate) fn created_at(self) -> Timestamp {
        self.created_at
    }

    /// The id of the entry.
    pub(crate) fn id(self) -> Uuid {
        self.id
    }

    pub(crate) fn from_row(row: &Row) -> Result<Self, Error> {
        let id = row.text("id")?.parse().map_err(|_| Row::invalid_column("id"))?;
        Ok(Self { created_at: row.time("created_at")?, id })
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct List<T> {
    /// The entries in the requested order.
    pub items: Vec<T>,
    /// The number of entries in the whole list, at the same instant.
    pub total: u64,
    /// Whether `total` is a lower bound, because counting stopped there.
    pub is_lower_bound: bool,
    /// The position after which the next page starts.
    pub next: Option<Position>,
    /// The position before which the previous page ends.
    pub previous: Option<Position>,
}

impl<T> List<T> {
    /// This page with these entries instead of the rows they were read from.
    pub(crate) fn replace_items<U>(self, items: Vec<U>) -> List<U> {
        let Self { total, is_lower_bound, next, previous, .. } = self;
        List { items, total, is_lower_bound, next, previous }
    }
}

impl List<Row> {
    /// This page with each row read by `read`.
    pub(crate) fn read<T>(self, read: impl Fn(&Row) -> Result<T, Error>) -> Result<List<T>, Error> {
        let items = self.items.iter().map(read).collect::<Result<_, _>>()?;
        Ok(self.replace_items(items))
    }
}

/// A page of all rows of a workspace in a list. `total` counts them, as in [`count`].
pub(crate) async fn page(
    session: &mut Session,
    workspace: WorkspaceId,
    total: Statement,
    statements: ListStatements,
    page: ListPage,
) -> Result<List<Row>, Error> {
    let total = count(session, total, values![workspace]).await?;
    let bounds = Bounds::all();
    let rows = ListQuery {
        statements,
        unbounded: None,
        owner: workspace.into(),
        bounds: &bounds,
        own_values: Vec::new(),
    };
    rows.page(session, page, total, false).await
}

/// The `total` of a statement; 0 without a row.
pub(crate) async fn count(
    session: &mut Session,
    statement: Statement,
    values: Vec<Value>,
) -> Result<u64, Error> {
    session.first(statement, values).await?.map_or(Ok(0), |row| row.number("total"))
}

/// The two positions, both excluded, between which rows are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bounds {
    lower: (i64, String),
    upper: (i64, String),
}

impl Bounds {
    /// All rows.
    pub(crate) const fn all() -> Self {
        Self { lower: (i64::MIN, String::new()), upper: (i64::MAX, String::new()) }
    }

    /// Rows created at `from` or later, and before `before`. No id is empty, so each id sorts after the
    /// empty one.
    pub(crate) fn created_between(from: Option<Timestamp>, before: Option<Timestamp>) -> Self {
        let Self { mut lower, mut upper } = Self::all();
        lower.0 = from.map_or(lower.0, Timestamp::as_micros);
        upper.0 = before.map_or(upper.0, Timestamp::as_micros);
        Self { lower, upper }
    }

    /// The part of these bounds on one side of a position.
    pub(crate) fn clipped_at(&self, position: Position, is_newer: bool) -> Self {
        let position = (position.created_at.as_micros(), position.id.to_string());
        let Self { lower, upper } = self.clone();
        if is_newer {
            Self { lower: lower.max(position), upper }
        } else {
            Self { lower, upper: upper.min(position) }
        }
    }

    /// `$2` to `$5` of every list statement.
    pub(crate) fn values(&self) -> Vec<Value> {
        let Self { lower, upper } = self;
        values![lower.0, lower.1.as_str(), upper.0, upper.1.as_str()]
    }
}

/// The two statements of a list, one from each end. `$1` is the owner of the list, `$2` to `$5` are the
/// [`Bounds`], `$6` is the most rows. Then follow the own values of the list, and last the number of rows
/// to skip.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListStatements {
    pub(crate) newest: Statement,
    pub(crate) oldest: Statement,
}

/// Declares a [`ListStatements`]: columns, table with its condition, and the number of the last value.
macro_rules! list_statements {
    ($columns:literal, $from:literal, $offset:literal) => {
        $crate::list::ListStatements {
            newest: $crate::sql::Statement::new(concat!(
                "SELECT ",
                $columns,
                " FROM ",
                $from,
                " AND (created_at, id) > ($2, $3) AND (created_at, id) < ($4, $5)
                ORDER BY created_at DESC, id DESC LIMIT $6 OFFSET ",
                $offset
            )),
            oldest: $crate::sql::Statement::new(concat!(
                "SELECT ",
                $columns,
                " FROM ",
                $from,
                " AND (created_at, id) > ($2, $3) AND (created_at, id) < ($4, $5)
                ORDER BY created_at, id LIMIT $6 OFFSET ",
                $offset
            )),
        }
    };
}
pub(crate) use list_statements;

/// The statements and values of a list.
pub(crate) struct ListQuery<'a> {
    pub(crate) statements: ListStatements,
    /// Statements without bounds, for page numbers: `$1` is the owner of the list, `$2` the most rows, `$3`
    /// the number of rows to skip. Bounds are compared with every skipped row, which takes longer than the
    /// skip.
    pub(crate) unbounded: Option<ListStatements>,
    /// The owner of the list.
    pub(crate) owner: Value,
    pub(crate) bounds: &'a Bounds,
    /// The own values of the list.
    pub(crate) own_values: Vec<Value>,
}

impl ListQuery<'_> {
    /// A page of these rows. `total` is the exact number of entries or a lower bound.
    pub(crate) async fn page(
        self,
        session: &mut Session,
        page: ListPage,
        total: u64,
        is_lower_bound: bool,
    ) -> Result<List<Row>, Error> {
        let mut list = List { items: Vec::new(), total, is_lower_bound, next: None, previous: None };
        let exact_total = (!is_lower_bound).then_some(total);
        let Some(scan) = PageScan::new(page, self.bounds, exact_total) else { return Ok(list) };
        let mut rows = self.rows(session, &scan).await?;
        let has_more = rows.len() > scan.return_max;
        rows.truncate(scan.return_max);
        if scan.is_from_newest != page.newest_first {
            rows.reverse();
        }
        let (has_previous, has_next) = match page.start {
            PageStart::Number(_) => (scan.has_rows_before, scan.has_rows_after.unwrap_or(has_more)),
            PageStart::After(_) => (true, has_more),
            PageStart::Before(_) => (has_more, true),
        };
        let at = |row: Option<&Row>| row.map(Position::from_row).transpose();
        list.previous = at(rows.first().filter(|_| has_previous))?;
        list.next = at(rows.last().filter(|_| has_next))?;
        list.items = rows;
        Ok(list)
    }

    async fn rows(self, session: &mut Session, scan: &PageScan) -> Result<Vec<Row>, Error> {
        let unbounded = self.unbounded.filter(|_| scan.bounds == Bounds::all());
        let statements = unbounded.unwrap_or(self.statements);
        let statement = if scan.is_from_newest { statements.newest } else { statements.oldest };
        let mut values = vec![self.owner];
        if unbounded.is_some() {
            values.extend(values![scan.read_max, scan.skip]);
            return session.all(statement, values).await;
        }
        values.extend(scan.bounds.values());
        values.extend(values![scan.read_max]);
        values.extend(self.own_values);
        values.extend(values![scan.skip]);
        session.all(statement, values).await
    }
}

/// The index walk that reads a page.
#[derive(Debug, PartialEq, Eq)]
struct PageScan {
    is_from_newest: bool,
    bounds: Bounds,
    /// Rows to skip, in the index.
    skip: i64,
    /// Rows to read.
    read_max: i64,
    /// Rows to return; one more row shows that the list continues.
    return_max: usize,
    has_rows_before: bool,
    /// `None`: one more row decides.
    has_rows_after: Option<bool>,
}

impl PageScan {
    /// `None` for a page without rows. With a number and a list of known length, the walk starts from the
    /// nearer end.
    fn new(page: ListPage, bounds: &Bounds, exact_total: Option<u64>) -> Option<Self> {
        let limit = i64::from(page.limit);
        let return_max = usize::try_from(page.limit).unwrap_or(usize::MAX);
        if limit == 0 {
            return None;
        }
        let from = |position, is_after: bool| {
            // After a position come older entries where the newest comes first.
            let is_newer = page.newest_first != is_after;
            Self {
                is_from_newest: !is_newer,
                bounds: bounds.clipped_at(position, is_newer),
                skip: 0,
                read_max: limit + 1,
                return_max,
                has_rows_before: true,
                has_rows_after: None,
            }
        };
        let number = match page.start {
            PageStart::Number(number) => number,
            PageStart::After(position) => return Some(from(position, true)),
            PageStart::Before(position) => return Some(from(position, false)),
        };
        let skip = i64::from(number.saturating_sub(1)).saturating_mul(limit);
        let (is_from_newest, bounds) = (page.newest_first, bounds.clone());
        let Some(total) = exact_total.map(|total| i64::try_from(total).unwrap_or(i64::MAX)) else {
            let read_max = limit + 1;
            return Some(Self {
                is_from_newest,
                bounds,
                skip,
                read_max,
                return_max,
                has_rows_before: skip > 0,
                has_rows_after: None,
            });
        };
        let count = limit.min(total.saturating_sub(skip));
        if count <= 0 {
            return None;
        }
        let rows_after = total - skip - count;
        let (has_rows_before, has_rows_after) = (skip > 0, Some(rows_after > 0));
        let is_end_nearer = rows_after < skip;
        let (is_from_newest, skip) =
            if is_end_nearer { (!is_from_newest, rows_after) } else { (is_from_newest, skip) };
        let show = usize::try_from(count).unwrap_or(usize::MAX);
        Some(Self {
            is_from_newest,
            bounds,
            skip,
            read_max: count,
            return_max: show,
            has_rows_before,
            has_rows_after,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(number: u32, newest_first: bool) -> ListPage {
        ListPage { limit: 10, newest_first, start: PageStart::Number(number) }
    }

    #[test]
    fn page_offset_counts_from_nearer_end() {
        let check = |page, newest_first, total, expected: Option<(bool, i64, i64)>| {
            let scan = PageScan::new(number(page, newest_first), &Bounds::all(), Some(total));
            let found = scan.map(|walk| (walk.is_from_newest, walk.skip, walk.read_max));
            assert_eq!(found, expected, "{page} {newest_first} {total}");
        };
        check(1, true, 0, None);
        check(1, true, 3, Some((true, 0, 3)));
        check(0, true, 95, Some((true, 0, 10)));
        check(1, false, 95, Some((false, 0, 10)));
        check(5, true, 95, Some((true, 40, 10)));
        check(6, true, 95, Some((false, 35, 10)));
        check(10, true, 95, Some((false, 0, 5)));
        check(10, false, 95, Some((true, 0, 5)));
        check(11, true, 95, None);
        check(u32::MAX, true, 95, None);
        check(2, true, u64::MAX, Some((true, 10, 10)));
    }

    #[test]
    fn page_of_unknown_total_reads_one_extra_row() {
        let scan = PageScan::new(number(u32::MAX, false), &Bounds::all(), None).unwrap();
        let skip = (i64::from(u32::MAX) - 1) * 10;
        assert_eq!((scan.is_from_newest, scan.skip, scan.read_max, scan.return_max), (false, skip, 11, 10));
        assert_eq!((scan.has_rows_before, scan.has_rows_after), (true, None));
        assert!(!PageScan::new(number(1, true), &Bounds::all(), None).unwrap().has_rows_before);
        assert_eq!(PageScan::new(ListPage { limit: 0, ..number(1, true) }, &Bounds::all(), None), None);
    }

    #[test]
    fn after_cursor_is_older_in_newest_first_order() {
        let position = Position::new(Timestamp::from_micros(7), Uuid::from_u128(5));
        let at = (7, Uuid::from_u128(5).to_string());
        let check = |newest_first, start, is_from_newest, is_lower: bool| {
            let scan =
                PageScan::new(ListPage { limit: 10, newest_first, start }, &Bounds::all(), Some(3)).unwrap();
            let Bounds { lower, upper } = scan.bounds;
            let moved = if is_lower { lower } else { upper };
            assert_eq!(
                (scan.is_from_newest, moved, scan.skip, scan.read_max),
                (is_from_newest, at.clone(), 0, 11)
            );
        };
        check(true, PageStart::After(position), true, false);
        check(true, PageStart::Before(position), false, true);
        check(false, PageStart::After(position), false, true);
        check(false, PageStart::Before(position), true, false);
    }

    #[test]
    fn cursor_round_trips_through_bytes() {
        for micros in [i64::MIN, -1, 0, 1_762_164_228_595_604] {
            let position = Position::new(Timestamp::from_micros(micros), Uuid::from_u128(u128::MAX - 1));
            assert_eq!(Position::from_bytes(position.to_bytes()), position);
        }
    }

    #[test]
    fn time_range_is_half_open() {
        let at = Timestamp::from_micros;
        let bounds = Bounds::created_between(Some(at(5)), Some(at(9)));
        assert_eq!(bounds, Bounds { lower: (5, String::new()), upper: (9, String::new()) });
        let id = Uuid::from_u128(1);
        assert_eq!(
            bounds.clipped_at(Position::new(at(4), id), true),
            bounds,
            "a position outside widens nothing"
        );
        assert_eq!(bounds.clipped_at(Position::new(at(9), id), false), bounds);
    }
}
