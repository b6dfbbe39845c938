//! Parts of lists by creation time: by their number, or from an entry on; and how their rows are found in an
//! index.

use kinora_domain::{Timestamp, WorkspaceId};
use uuid::Uuid;

use crate::Error;
use crate::sql::{Row, Session, Statement, Value, values};

/// Which part of a list, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Most entries of a page.
    pub limit: u32,
    /// Which page; the first one is 1, and so is what 0 is taken for.
    pub number: u32,
    /// Which end comes first, by creation time.
    pub newest_first: bool,
}

/// Which part of a list, however it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Most entries of it.
    pub limit: u32,
    /// Which end of the list comes first, by creation time.
    pub newest_first: bool,
    /// Where it begins or ends.
    pub start: SliceStart,
}

/// Where a slice begins or ends, in the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SliceStart {
    /// So many slices of this length lie before it, and one: the first is 1, and so is what 0 is taken for.
    Number(u32),
    /// Behind this position.
    After(Position),
    /// It ends before this position.
    Before(Position),
}

impl From<Page> for Slice {
    fn from(page: Page) -> Self {
        Self { limit: page.limit, newest_first: page.newest_first, start: SliceStart::Number(page.number) }
    }
}

/// Where an entry stands in a list, or stood: it may be gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    created_at: Timestamp,
    id: Uuid,
}

impl Position {
    /// Of an entry.
    pub fn new(created_at: Timestamp, id: Uuid) -> Self {
        Self { created_at, id }
    }

    /// It as bytes, to hand out.
    pub fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.created_at.as_micros().to_be_bytes());
        bytes[8..].copy_from_slice(self.id.as_bytes());
        bytes
    }

    /// Read back.
    pub fn from_bytes(bytes: [u8; 24]) -> Self {
        let (at, id) = bytes.split_at(8);
        let at = i64::from_be_bytes(at.try_into().expect("it has 8 bytes"));
        Self { created_at: Timestamp::from_micros(at), id: Uuid::from_slice(id).expect("it has 16 bytes") }
    }

    /// When the entry was made.
    pub(crate) fn created_at(self) -> Timestamp {
        self.created_at
    }

    /// The id of the entry.
    pub(crate) fn id(self) -> Uuid {
        self.id
    }

    pub(crate) fn of_row(row: &Row) -> Result<Self, Error> {
        let id = row.text("id")?.parse().map_err(|_| Row::bad("id"))?;
        Ok(Self { created_at: row.time("created_at")?, id })
    }
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct List<T> {
    /// In the order that was asked for.
    pub items: Vec<T>,
    /// How many entries there are in the whole list, at the same instant.
    pub total: u64,
    /// There are at least so many: nobody has counted on.
    pub is_lower_bound: bool,
    /// What follows lies after this.
    pub next: Option<Position>,
    /// What lies in front of this part lies before this.
    pub previous: Option<Position>,
}

impl<T> List<T> {
    /// With these entries in place of the rows they were read from.
    pub(crate) fn with<U>(self, items: Vec<U>) -> List<U> {
        let Self { total, is_lower_bound, next, previous, .. } = self;
        List { items, total, is_lower_bound, next, previous }
    }
}

impl List<Row> {
    /// With what `read` makes of each row.
    pub(crate) fn read<T>(self, read: impl Fn(&Row) -> Result<T, Error>) -> Result<List<T>, Error> {
        let items = self.items.iter().map(read).collect::<Result<_, _>>()?;
        Ok(self.with(items))
    }
}

/// A slice of all rows that a workspace has in a list. `total` counts them, as in [`count`].
pub(crate) async fn page(
    session: &mut Session,
    workspace: WorkspaceId,
    total: Statement,
    ends: Ends,
    slice: Slice,
) -> Result<List<Row>, Error> {
    let total = count(session, total, values![workspace]).await?;
    let bounds = Bounds::all();
    let rows = Rows { ends, unbounded: None, owner: workspace.into(), bounds: &bounds, own: Vec::new() };
    rows.slice(session, slice, total, false).await
}

/// The `total` of a statement; 0 without a row.
pub(crate) async fn count(
    session: &mut Session,
    statement: Statement,
    values: Vec<Value>,
) -> Result<u64, Error> {
    session.first(statement, values).await?.map_or(Ok(0), |row| row.number("total"))
}

/// Between what positions, both excluded, rows are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bounds {
    lower: (i64, String),
    upper: (i64, String),
}

impl Bounds {
    /// Everything.
    pub(crate) const fn all() -> Self {
        Self { lower: (i64::MIN, String::new()), upper: (i64::MAX, String::new()) }
    }

    /// What was created at `from` or later, and before `before`. No id is empty, so each one lies behind the
    /// empty one.
    pub(crate) fn created(from: Option<Timestamp>, before: Option<Timestamp>) -> Self {
        let Self { mut lower, mut upper } = Self::all();
        lower.0 = from.map_or(lower.0, Timestamp::as_micros);
        upper.0 = before.map_or(upper.0, Timestamp::as_micros);
        Self { lower, upper }
    }

    /// What of it lies on this side of a position.
    pub(crate) fn beyond(&self, position: Position, is_newer: bool) -> Self {
        let position = (position.created_at.as_micros(), position.id.to_string());
        let Self { lower, upper } = self.clone();
        if is_newer {
            Self { lower: lower.max(position), upper }
        } else {
            Self { lower, upper: upper.min(position) }
        }
    }

    /// `$2` to `$5` of every statement of a list.
    pub(crate) fn values(&self) -> Vec<Value> {
        let Self { lower, upper } = self;
        values![lower.0, lower.1.as_str(), upper.0, upper.1.as_str()]
    }
}

/// The two statements of a list, one from each end. `$1` is whose list it is, `$2` to `$5` are the
/// [`Bounds`], `$6` is the most rows, then come the values of the list's own, and at last how many rows are
/// passed over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) newest: Statement,
    pub(crate) oldest: Statement,
}

/// Declares an [`Ends`]: columns, table with its condition, and the number of the last value.
macro_rules! ends {
    ($columns:literal, $from:literal, $offset:literal) => {
        $crate::list::Ends {
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
pub(crate) use ends;

/// What a list is made of.
pub(crate) struct Rows<'a> {
    pub(crate) ends: Ends,
    /// The same without bounds, for pages by number: `$1` is whose list it is, `$2` the most rows, `$3` how
    /// many are passed over. Bounds are compared with every row that is passed over, which takes longer than
    /// the passing.
    pub(crate) unbounded: Option<Ends>,
    /// Whose it is.
    pub(crate) owner: Value,
    pub(crate) bounds: &'a Bounds,
    /// The values of the list's own.
    pub(crate) own: Vec<Value>,
}

impl Rows<'_> {
    /// A slice of it, of which there are `total` entries, or at least so many.
    pub(crate) async fn slice(
        self,
        session: &mut Session,
        slice: Slice,
        total: u64,
        is_lower_bound: bool,
    ) -> Result<List<Row>, Error> {
        let mut list = List { items: Vec::new(), total, is_lower_bound, next: None, previous: None };
        let known = (!is_lower_bound).then_some(total);
        let Some(walk) = Walk::of(slice, self.bounds, known) else { return Ok(list) };
        let mut rows = self.rows(session, &walk).await?;
        let has_more = rows.len() > walk.show;
        rows.truncate(walk.show);
        if walk.is_from_newest != slice.newest_first {
            rows.reverse();
        }
        let (has_previous, has_next) = match slice.start {
            SliceStart::Number(_) => (walk.has_before, walk.has_behind.unwrap_or(has_more)),
            SliceStart::After(_) => (true, has_more),
            SliceStart::Before(_) => (has_more, true),
        };
        let at = |row: Option<&Row>| row.map(Position::of_row).transpose();
        list.previous = at(rows.first().filter(|_| has_previous))?;
        list.next = at(rows.last().filter(|_| has_next))?;
        list.items = rows;
        Ok(list)
    }

    async fn rows(self, session: &mut Session, walk: &Walk) -> Result<Vec<Row>, Error> {
        let whole = self.unbounded.filter(|_| walk.bounds == Bounds::all());
        let ends = whole.unwrap_or(self.ends);
        let statement = if walk.is_from_newest { ends.newest } else { ends.oldest };
        let mut values = vec![self.owner];
        if whole.is_some() {
            values.extend(values![walk.take, walk.skip]);
            return session.all(statement, values).await;
        }
        values.extend(walk.bounds.values());
        values.extend(values![walk.take]);
        values.extend(self.own);
        values.extend(values![walk.skip]);
        session.all(statement, values).await
    }
}

/// How the rows of a slice are walked to.
#[derive(Debug, PartialEq, Eq)]
struct Walk {
    is_from_newest: bool,
    bounds: Bounds,
    /// Rows that are passed over, in the index.
    skip: i64,
    /// Rows that are read.
    take: i64,
    /// Rows that are shown; one more says that there are more.
    show: usize,
    has_before: bool,
    /// `None`: one row more tells.
    has_behind: Option<bool>,
}

impl Walk {
    /// `None` for a slice without rows. By number it is walked from the end that is nearer, where the length
    /// of the list is known.
    fn of(slice: Slice, bounds: &Bounds, known: Option<u64>) -> Option<Self> {
        let limit = i64::from(slice.limit);
        let show = usize::try_from(slice.limit).unwrap_or(usize::MAX);
        if limit == 0 {
            return None;
        }
        let from = |position, is_behind: bool| {
            // Behind a position lies what is older where the newest comes first.
            let is_newer = slice.newest_first != is_behind;
            Self {
                is_from_newest: !is_newer,
                bounds: bounds.beyond(position, is_newer),
                skip: 0,
                take: limit + 1,
                show,
                has_before: true,
                has_behind: None,
            }
        };
        let number = match slice.start {
            SliceStart::Number(number) => number,
            SliceStart::After(position) => return Some(from(position, true)),
            SliceStart::Before(position) => return Some(from(position, false)),
        };
        let skip = i64::from(number.saturating_sub(1)).saturating_mul(limit);
        let (is_from_newest, bounds) = (slice.newest_first, bounds.clone());
        let Some(total) = known.map(|total| i64::try_from(total).unwrap_or(i64::MAX)) else {
            let take = limit + 1;
            return Some(Self {
                is_from_newest,
                bounds,
                skip,
                take,
                show,
                has_before: skip > 0,
                has_behind: None,
            });
        };
        let count = limit.min(total.saturating_sub(skip));
        if count <= 0 {
            return None;
        }
        let behind = total - skip - count;
        let (has_before, has_behind) = (skip > 0, Some(behind > 0));
        let is_nearer_behind = behind < skip;
        let (is_from_newest, skip) =
            if is_nearer_behind { (!is_from_newest, behind) } else { (is_from_newest, skip) };
        let show = usize::try_from(count).unwrap_or(usize::MAX);
        Some(Self { is_from_newest, bounds, skip, take: count, show, has_before, has_behind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(number: u32, newest_first: bool) -> Slice {
        Slice { limit: 10, newest_first, start: SliceStart::Number(number) }
    }

    #[test]
    fn a_page_is_counted_from_the_nearer_end() {
        let check = |page, newest_first, total, expected: Option<(bool, i64, i64)>| {
            let walk = Walk::of(number(page, newest_first), &Bounds::all(), Some(total));
            let found = walk.map(|walk| (walk.is_from_newest, walk.skip, walk.take));
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
    fn a_page_of_a_list_of_unknown_length_is_counted_from_its_start_and_reads_one_more() {
        let walk = Walk::of(number(u32::MAX, false), &Bounds::all(), None).unwrap();
        let skip = (i64::from(u32::MAX) - 1) * 10;
        assert_eq!((walk.is_from_newest, walk.skip, walk.take, walk.show), (false, skip, 11, 10));
        assert_eq!((walk.has_before, walk.has_behind), (true, None));
        assert!(!Walk::of(number(1, true), &Bounds::all(), None).unwrap().has_before);
        assert_eq!(Walk::of(Slice { limit: 0, ..number(1, true) }, &Bounds::all(), None), None);
    }

    #[test]
    fn what_lies_behind_a_position_is_older_where_the_newest_comes_first() {
        let position = Position::new(Timestamp::from_micros(7), Uuid::from_u128(5));
        let at = (7, Uuid::from_u128(5).to_string());
        let check = |newest_first, start, is_from_newest, is_lower: bool| {
            let walk = Walk::of(Slice { limit: 10, newest_first, start }, &Bounds::all(), Some(3)).unwrap();
            let Bounds { lower, upper } = walk.bounds;
            let moved = if is_lower { lower } else { upper };
            assert_eq!(
                (walk.is_from_newest, moved, walk.skip, walk.take),
                (is_from_newest, at.clone(), 0, 11)
            );
        };
        check(true, SliceStart::After(position), true, false);
        check(true, SliceStart::Before(position), false, true);
        check(false, SliceStart::After(position), false, true);
        check(false, SliceStart::Before(position), true, false);
    }

    #[test]
    fn a_position_comes_back_from_its_bytes() {
        for micros in [i64::MIN, -1, 0, 1_762_164_228_595_604] {
            let position = Position::new(Timestamp::from_micros(micros), Uuid::from_u128(u128::MAX - 1));
            assert_eq!(Position::from_bytes(position.to_bytes()), position);
        }
    }

    #[test]
    fn a_range_of_time_holds_its_first_instant_and_not_its_last() {
        let at = Timestamp::from_micros;
        let bounds = Bounds::created(Some(at(5)), Some(at(9)));
        assert_eq!(bounds, Bounds { lower: (5, String::new()), upper: (9, String::new()) });
        let id = Uuid::from_u128(1);
        assert_eq!(
            bounds.beyond(Position::new(at(4), id), true),
            bounds,
            "a position outside widens nothing"
        );
        assert_eq!(bounds.beyond(Position::new(at(9), id), false), bounds);
    }
}
