//! The list of media: which rows are on it, found in an index, however many media there are.
//!
//! One condition is a walk along its index. Of several the one that the fewest media meet is walked, and the
//! others are asked of each row it gives, of [`MediaFilter::LOOKED_AT_MAX`] rows at most: no request reads a
//! million.

use kinora_domain::{Media, WorkspaceId};

use super::filter::{Condition, MediaFilter};
use super::load;
use crate::list::{self, Bounds, Ends, Rows, ends};
use crate::sql::{Row, Session, Statement, statements, values};
use crate::{Error, List, Position, Slice, SliceStart, Store};

impl MediaFilter {
    /// So many media are counted, and looked at one by one, in a request.
    pub const LOOKED_AT_MAX: u32 = 10_000;
}

/// Rows that are looked at in one piece: with what other conditions ask for a row may have some KiB.
const LOOKED_AT_ONCE: u32 = 500;

/// All media of a workspace.
const WHOLE: Ends = Ends { newest: WHOLE_NEWEST, oldest: WHOLE_OLDEST };

statements! {
    WHOLE_NEWEST = "SELECT created_at, id FROM media WHERE workspace_id = $1
        ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3";
    WHOLE_OLDEST = "SELECT created_at, id FROM media WHERE workspace_id = $1 ORDER BY created_at, id LIMIT $2 OFFSET $3";
    TOTAL = "SELECT media_count AS total FROM workspace WHERE id = $1";
}

/// A way to find media: those that meet one condition, by creation time.
#[derive(Clone, Copy)]
pub(super) struct Driver {
    /// How many there are, up to a limit.
    count: Statement,
    /// Where they stand.
    keys: Ends,
    /// The same, with what other conditions ask for.
    candidates: Ends,
}

/// Declares drivers: their rows, the number of the value that says how many are passed over, and the same
/// without the bounds for the count.
macro_rules! drivers {
    ($($(#[$doc:meta])* $name:ident = $from:literal, $offset:literal;)*) => {
        $(
            $(#[$doc])*
            pub(super) const $name: Driver = Driver {
                count: Statement::new(concat!(
                    "SELECT COUNT(*) AS total FROM (SELECT 1 AS one FROM ", $from,
                    " AND (created_at, id) > ($2, $3) AND (created_at, id) < ($4, $5) LIMIT $6) AS counted"
                )),
                keys: ends!("created_at, id", $from, $offset),
                candidates: Ends {
                    newest: Statement::new(concat!(
                        "SELECT media.created_at, media.id, media.state, media.creator_id, media.title_key, media.metadata
                        FROM (SELECT id AS found_id FROM ", $from,
                        " AND (created_at, id) > ($2, $3) AND (created_at, id) < ($4, $5)
                        ORDER BY created_at DESC, id DESC LIMIT $6 OFFSET ", $offset, ") AS found
                        JOIN media ON media.id = found.found_id ORDER BY media.created_at DESC, media.id DESC"
                    )),
                    oldest: Statement::new(concat!(
                        "SELECT media.created_at, media.id, media.state, media.creator_id, media.title_key, media.metadata
                        FROM (SELECT id AS found_id FROM ", $from,
                        " AND (created_at, id) > ($2, $3) AND (created_at, id) < ($4, $5)
                        ORDER BY created_at, id LIMIT $6 OFFSET ", $offset, ") AS found
                        JOIN media ON media.id = found.found_id ORDER BY media.created_at, media.id"
                    )),
                },
            };
        )*

        #[cfg(test)]
        pub(crate) const DRIVERS: &[&[Statement]] = &[$(&[
            $name.count,
            $name.keys.newest,
            $name.keys.oldest,
            $name.candidates.newest,
            $name.candidates.oldest,
        ]),*];
    };
}

drivers! {
    ALL = "media WHERE workspace_id = $1", "$7";
    STATE = "media WHERE workspace_id = $1 AND state = $7", "$8";
    CREATOR = "media WHERE workspace_id = $1 AND creator_id = $7", "$8";
    /// By title first, so they are sorted afterwards: only for as many as are counted. The limit keeps the
    /// index in its place.
    TITLE = "(SELECT created_at, id FROM media WHERE workspace_id = $1 AND title_key >= $7 AND title_key < $8 LIMIT 10001)
        AS titled WHERE TRUE", "$9";
    KEY = "(SELECT created_at, media_id AS id FROM media_metadata WHERE workspace_id = $1 AND key = $7)
        AS entry WHERE TRUE", "$8";
    ENTRY = "(SELECT created_at, media_id AS id FROM media_metadata WHERE workspace_id = $1 AND key = $7 AND value = $8)
        AS entry WHERE TRUE", "$9";
}

impl Store {
    /// A part of a workspace's media. A page behind the last one is empty.
    pub async fn media_page(
        &self,
        workspace: WorkspaceId,
        slice: impl Into<Slice>,
    ) -> Result<List<Media>, Error> {
        self.media_list(workspace, &MediaFilter::default(), slice.into()).await
    }

    /// A part of those media of a workspace that a filter lets through.
    ///
    /// Exact, but where several conditions are each met by more than [`MediaFilter::LOOKED_AT_MAX`] media:
    /// then a part may have fewer entries than there is room for, and still be followed by others, and
    /// [`Error::TooFar`] refuses a page by a number that has not been counted up to.
    pub async fn media_list(
        &self,
        workspace: WorkspaceId,
        filter: &MediaFilter,
        slice: Slice,
    ) -> Result<List<Media>, Error> {
        let mut session = self.snapshot().await?;
        let (bounds, conditions) = (filter.bounds(), filter.conditions());
        if conditions.is_empty() && bounds == Bounds::all() {
            let total = list::count(&mut session, TOTAL, values![workspace]).await?;
            let rows = Rows {
                ends: ALL.keys,
                unbounded: Some(WHOLE),
                owner: workspace.into(),
                bounds: &bounds,
                own: Vec::new(),
            };
            let list = rows.slice(&mut session, slice, total, false).await?.read(Position::of_row)?;
            return load::list(&mut session, workspace, list, slice.newest_first, true).await;
        }
        let (found, rest, total) = Finder::of(&mut session, workspace, bounds, conditions).await?;
        let list = if rest.is_empty() {
            found.slice(&mut session, slice, total).await?.read(Position::of_row)?
        } else {
            found.sift(&mut session, slice, &rest).await?
        };
        load::list(&mut session, workspace, list, slice.newest_first, false).await
    }
}

/// The rows that one condition gives.
struct Finder {
    workspace: WorkspaceId,
    driver: Driver,
    condition: Option<Condition>,
    bounds: Bounds,
}

/// How many there are, and whether there may be more.
type Total = (u64, bool);

impl Finder {
    /// That of the condition which the fewest media meet, the conditions that are left, and how many media
    /// meet it.
    async fn of(
        session: &mut Session,
        workspace: WorkspaceId,
        bounds: Bounds,
        mut conditions: Vec<Condition>,
    ) -> Result<(Self, Vec<Condition>, Total), Error> {
        let mut best: Option<(usize, Total)> = None;
        for (at, condition) in conditions.iter().enumerate() {
            let finder = |bounds| Self {
                workspace,
                driver: condition.driver(),
                condition: Some(condition.clone()),
                bounds,
            };
            // Titles do not lie by time: all of them are read, or none.
            if matches!(condition, Condition::Title(_)) && finder(Bounds::all()).count(session).await?.1 {
                continue;
            }
            let total = finder(bounds.clone()).count(session).await?;
            if best.is_none_or(|(_, least)| total < least) {
                best = Some((at, total));
            }
        }
        let Some((at, total)) = best else {
            let all = Self { workspace, driver: ALL, condition: None, bounds };
            let total = if conditions.is_empty() { all.count(session).await? } else { (0, true) };
            return Ok((all, conditions, total));
        };
        let condition = conditions.swap_remove(at);
        let found = Self { workspace, driver: condition.driver(), condition: Some(condition), bounds };
        Ok((found, conditions, total))
    }

    async fn count(&self, session: &mut Session) -> Result<Total, Error> {
        let mut values = values![self.workspace];
        values.extend(self.bounds.values());
        values.extend(values![MediaFilter::LOOKED_AT_MAX + 1]);
        values.extend(self.own());
        let counted = list::count(session, self.driver.count, values).await?;
        let max = u64::from(MediaFilter::LOOKED_AT_MAX);
        Ok((counted.min(max), counted > max))
    }

    fn own(&self) -> Vec<crate::sql::Value> {
        self.condition.as_ref().map(Condition::values).unwrap_or_default()
    }

    fn rows(&self, ends: Ends) -> Rows<'_> {
        Rows { ends, unbounded: None, owner: self.workspace.into(), bounds: &self.bounds, own: self.own() }
    }

    /// A slice of these rows.
    async fn slice(
        &self,
        session: &mut Session,
        slice: Slice,
        (total, is_lower_bound): Total,
    ) -> Result<List<Row>, Error> {
        self.rows(self.driver.keys).slice(session, slice, total, is_lower_bound).await
    }

    /// A slice of those rows that meet the other conditions too, of as many rows as are looked at.
    async fn sift(
        &self,
        session: &mut Session,
        slice: Slice,
        rest: &[Condition],
    ) -> Result<List<Position>, Error> {
        let first = Slice { start: SliceStart::Number(1), ..slice };
        let sifted = self.look(session, first, rest).await?;
        let (total, is_lower_bound) = (sifted.met.len() as u64, sifted.ends_at.is_some());
        let limit = usize::try_from(slice.limit).unwrap_or(usize::MAX);
        let mut list = List { items: Vec::new(), total, is_lower_bound, next: None, previous: None };
        match slice.start {
            SliceStart::Number(number) => {
                let skip =
                    usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX).saturating_mul(limit);
                if sifted.met.len() <= skip && skip > 0 && is_lower_bound {
                    return Err(Error::TooFar { counted: total });
                }
                let is_last = sifted.met.len() <= skip.saturating_add(limit);
                list.items = sifted.met.into_iter().skip(skip).take(limit).collect();
                list.next = if is_last { sifted.ends_at } else { list.items.last().copied() };
                list.previous = list.items.first().copied().filter(|_| skip > 0);
            }
            SliceStart::After(_) | SliceStart::Before(_) => {
                let is_after = matches!(slice.start, SliceStart::After(_));
                let mut sifted = self.look(session, slice, rest).await?;
                let is_last = sifted.met.len() <= limit;
                sifted.met.truncate(limit);
                let beyond = if is_last { sifted.ends_at } else { sifted.met.last().copied() };
                let back = sifted.met.first().copied();
                if !is_after {
                    sifted.met.reverse();
                }
                (list.previous, list.next) = if is_after { (back, beyond) } else { (beyond, back) };
                list.items = sifted.met;
            }
        }
        Ok(list)
    }

    /// The rows from the start of a slice on, away from where it begins, that meet the conditions.
    async fn look(&self, session: &mut Session, slice: Slice, rest: &[Condition]) -> Result<Sifted, Error> {
        let is_backwards = matches!(slice.start, SliceStart::Before(_));
        let (mut sifted, mut start) = (Sifted { met: Vec::new(), ends_at: None }, slice.start);
        // Titles are sorted anew for each piece, so there is one.
        let is_sorted = matches!(self.condition, Some(Condition::Title(_)));
        let at_once = if is_sorted { MediaFilter::LOOKED_AT_MAX } else { LOOKED_AT_ONCE };
        for _ in 0..MediaFilter::LOOKED_AT_MAX / at_once {
            let window = Slice { start, limit: at_once, ..slice };
            let mut list = self.rows(self.driver.candidates).slice(session, window, 0, true).await?;
            sifted.ends_at = if is_backwards { list.previous } else { list.next };
            if is_backwards {
                list.items.reverse();
            }
            for row in list.items {
                if all_met(rest, &row)? {
                    sifted.met.push(Position::of_row(&row)?);
                }
            }
            let Some(end) = sifted.ends_at else { break };
            start = if is_backwards { SliceStart::Before(end) } else { SliceStart::After(end) };
        }
        Ok(sifted)
    }
}

/// What came of looking at rows.
struct Sifted {
    /// Those that meet all conditions, the nearest first.
    met: Vec<Position>,
    /// The last one that was looked at, where there are more.
    ends_at: Option<Position>,
}

fn all_met(conditions: &[Condition], row: &Row) -> Result<bool, Error> {
    for condition in conditions {
        if !condition.is_met_by(row)? {
            return Ok(false);
        }
    }
    Ok(true)
}
