//! The media list: finds its rows in an index, however many media there are.
//!
//! One condition is a walk along its index. Of several conditions the most selective one is walked. The
//! others filter its rows, [`MediaFilter::SCAN_MAX`] rows at most, so no request reads a million rows.

use kinora_domain::{Media, WorkspaceId};

use super::filter::{Condition, MediaFilter};
use super::load;
use crate::list::{self, Bounds, ListQuery, ListStatements, list_statements};
use crate::sql::{Row, Session, Statement, statements, values};
use crate::{Error, List, ListPage, PageStart, Position, Store};

impl MediaFilter {
    /// The most media that a request counts, and the most that it filters one by one.
    pub const SCAN_MAX: u32 = 10_000;
}

/// Rows per batch: with the columns that other conditions need, a row may have some KiB.
const SCAN_BATCH: u32 = 500;

/// All media of a workspace.
const WHOLE: ListStatements = ListStatements { newest: WHOLE_NEWEST, oldest: WHOLE_OLDEST };

statements! {
    WHOLE_NEWEST = "SELECT created_at, id FROM media WHERE workspace_id = $1
        ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3";
    WHOLE_OLDEST = "SELECT created_at, id FROM media WHERE workspace_id = $1 ORDER BY created_at, id LIMIT $2 OFFSET $3";
    TOTAL = "SELECT media_count AS total FROM workspace WHERE id = $1";
}

/// An index walk: the media that meet one condition, by creation time.
#[derive(Clone, Copy)]
pub(super) struct FilterIndex {
    /// Their number, up to a limit.
    count: Statement,
    /// Their positions.
    keys: ListStatements,
    /// Their positions, with the columns that other conditions need.
    candidates: ListStatements,
}

/// Declares filter indexes by their rows and the number of the skip value.
macro_rules! filter_indexes {
    ($($(#[$doc:meta])* $name:ident = $from:literal, $offset:literal;)*) => {
        $(
            $(#[$doc])*
            pub(super) const $name: FilterIndex = FilterIndex {
                count: Statement::new(concat!(
                    "SELECT COUNT(*) AS total FROM (SELECT 1 AS one FROM ", $from,
                    " AND (created_at, id) > ($2, $3) AND (created_at, id) < ($4, $5) LIMIT $6) AS counted"
                )),
                keys: list_statements!("created_at, id", $from, $offset),
                candidates: ListStatements {
                    newest: Statement::new(concat!(
                        "SELECT media.created_at, media.id, media.state, media.creator_id, media.title_key, media.metadata, media.clip_of_id
                        FROM (SELECT id AS found_id FROM ", $from,
                        " AND (created_at, id) > ($2, $3) AND (created_at, id) < ($4, $5)
                        ORDER BY created_at DESC, id DESC LIMIT $6 OFFSET ", $offset, ") AS found
                        JOIN media ON media.id = found.found_id ORDER BY media.created_at DESC, media.id DESC"
                    )),
                    oldest: Statement::new(concat!(
                        "SELECT media.created_at, media.id, media.state, media.creator_id, media.title_key, media.metadata, media.clip_of_id
                        FROM (SELECT id AS found_id FROM ", $from,
                        " AND (created_at, id) > ($2, $3) AND (created_at, id) < ($4, $5)
                        ORDER BY created_at, id LIMIT $6 OFFSET ", $offset, ") AS found
                        JOIN media ON media.id = found.found_id ORDER BY media.created_at, media.id"
                    )),
                },
            };
        )*

        #[cfg(test)]
        pub(crate) const FILTER_INDEXES: &[&[Statement]] = &[$(&[
            $name.count,
            $name.keys.newest,
            $name.keys.oldest,
            $name.candidates.newest,
            $name.candidates.oldest,
        ]),*];
    };
}

filter_indexes! {
    ALL = "media WHERE workspace_id = $1", "$7";
    STATE = "media WHERE workspace_id = $1 AND state = $7", "$8";
    CREATOR = "media WHERE workspace_id = $1 AND creator_id = $7", "$8";
    /// Ordered by title, so the rows must be sorted: only as many as are counted. The limit keeps
    /// the planner on the title index.
    TITLE = "(SELECT created_at, id FROM media WHERE workspace_id = $1 AND title_key >= $7 AND title_key < $8 LIMIT 10001)
        AS titled WHERE TRUE", "$9";
    KEY = "(SELECT created_at, media_id AS id FROM media_metadata WHERE workspace_id = $1 AND key = $7)
        AS entry WHERE TRUE", "$8";
    CLIPS = "media WHERE workspace_id = $1 AND clip_of_id = $7", "$8";
    ENTRY = "(SELECT created_at, media_id AS id FROM media_metadata WHERE workspace_id = $1 AND key = $7 AND value = $8)
        AS entry WHERE TRUE", "$9";
}

impl Store {
    /// A page of the media of a workspace. A page after the last one is empty.
    pub async fn media_page(
        &self,
        workspace: WorkspaceId,
        page: impl Into<ListPage>,
    ) -> Result<List<Media>, Error> {
        self.media_list(workspace, &MediaFilter::default(), page.into()).await
    }

    /// A page of the media of a workspace that match a filter.
    ///
    /// Exact, unless several conditions each match more than [`MediaFilter::SCAN_MAX`] media. Then a page
    /// may have fewer entries than its limit and still have a next page. [`Error::PageOutOfRange`] rejects
    /// page numbers beyond the counted entries.
    pub async fn media_list(
        &self,
        workspace: WorkspaceId,
        filter: &MediaFilter,
        page: ListPage,
    ) -> Result<List<Media>, Error> {
        let mut session = self.snapshot().await?;
        let (bounds, conditions) = (filter.bounds(), filter.conditions());
        if conditions.is_empty() && bounds == Bounds::all() {
            let total = list::count(&mut session, TOTAL, values![workspace]).await?;
            let rows = ListQuery {
                statements: ALL.keys,
                unbounded: Some(WHOLE),
                owner: workspace.into(),
                bounds: &bounds,
                own_values: Vec::new(),
            };
            let list = rows.page(&mut session, page, total, false).await?.read(Position::from_row)?;
            return load::list(&mut session, workspace, list, page.newest_first, true).await;
        }
        let (query, other_conditions, total) =
            FilterQuery::most_selective(&mut session, workspace, bounds, conditions).await?;
        let list = if other_conditions.is_empty() {
            query.page(&mut session, page, total).await?.read(Position::from_row)?
        } else {
            query.filter_rows(&mut session, page, &other_conditions).await?
        };
        load::list(&mut session, workspace, list, page.newest_first, false).await
    }
}

/// The rows of one condition.
struct FilterQuery {
    workspace: WorkspaceId,
    filter_index: FilterIndex,
    condition: Option<Condition>,
    bounds: Bounds,
}

/// The number of rows, and whether there may be more.
type Total = (u64, bool);

impl FilterQuery {
    /// The query of the most selective condition, the other conditions, and the number of media that meet
    /// it.
    async fn most_selective(
        session: &mut Session,
        workspace: WorkspaceId,
        bounds: Bounds,
        mut conditions: Vec<Condition>,
    ) -> Result<(Self, Vec<Condition>, Total), Error> {
        let mut best: Option<(usize, Total)> = None;
        for (at, condition) in conditions.iter().enumerate() {
            let query = |bounds| Self {
                workspace,
                filter_index: condition.filter_index(),
                condition: Some(condition.clone()),
                bounds,
            };
            // Titles are not ordered by time: all of them are read, or none.
            if matches!(condition, Condition::TitlePrefix(_)) && query(Bounds::all()).count(session).await?.1
            {
                continue;
            }
            let total = query(bounds.clone()).count(session).await?;
            if best.is_none_or(|(_, least)| total < least) {
                best = Some((at, total));
            }
        }
        let Some((at, total)) = best else {
            let all = Self { workspace, filter_index: ALL, condition: None, bounds };
            let total = if conditions.is_empty() { all.count(session).await? } else { (0, true) };
            return Ok((all, conditions, total));
        };
        let condition = conditions.swap_remove(at);
        let found =
            Self { workspace, filter_index: condition.filter_index(), condition: Some(condition), bounds };
        Ok((found, conditions, total))
    }

    async fn count(&self, session: &mut Session) -> Result<Total, Error> {
        let mut values = values![self.workspace];
        values.extend(self.bounds.values());
        values.extend(values![MediaFilter::SCAN_MAX + 1]);
        values.extend(self.own_values());
        let counted = list::count(session, self.filter_index.count, values).await?;
        let max = u64::from(MediaFilter::SCAN_MAX);
        Ok((counted.min(max), counted > max))
    }

    fn own_values(&self) -> Vec<crate::sql::Value> {
        self.condition.as_ref().map(Condition::values).unwrap_or_default()
    }

    fn rows(&self, statements: ListStatements) -> ListQuery<'_> {
        ListQuery {
            statements,
            unbounded: None,
            owner: self.workspace.into(),
            bounds: &self.bounds,
            own_values: self.own_values(),
        }
    }

    /// A page of these rows.
    async fn page(
        &self,
        session: &mut Session,
        page: ListPage,
        (total, is_lower_bound): Total,
    ) -> Result<List<Row>, Error> {
        self.rows(self.filter_index.keys).page(session, page, total, is_lower_bound).await
    }

    /// A page of the rows that meet the other conditions too, from a limited number of rows.
    async fn filter_rows(
        &self,
        session: &mut Session,
        page: ListPage,
        other_conditions: &[Condition],
    ) -> Result<List<Position>, Error> {
        let first = ListPage { start: PageStart::Number(1), ..page };
        let filtered = self.scan(session, first, other_conditions).await?;
        let (total, is_lower_bound) = (filtered.matching.len() as u64, filtered.ends_at.is_some());
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let mut list = List { items: Vec::new(), total, is_lower_bound, next: None, previous: None };
        match page.start {
            PageStart::Number(number) => {
                let skip =
                    usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX).saturating_mul(limit);
                if filtered.matching.len() <= skip && skip > 0 && is_lower_bound {
                    return Err(Error::PageOutOfRange { counted: total });
                }
                let is_last = filtered.matching.len() <= skip.saturating_add(limit);
                list.items = filtered.matching.into_iter().skip(skip).take(limit).collect();
                list.next = if is_last { filtered.ends_at } else { list.items.last().copied() };
                list.previous = list.items.first().copied().filter(|_| skip > 0);
            }
            PageStart::After(_) | PageStart::Before(_) => {
                let is_after = matches!(page.start, PageStart::After(_));
                let mut page_rows = self.scan(session, page, other_conditions).await?;
                let is_last = page_rows.matching.len() <= limit;
                page_rows.matching.truncate(limit);
                let end_position =
                    if is_last { page_rows.ends_at } else { page_rows.matching.last().copied() };
                let first_position = page_rows.matching.first().copied();
                if !is_after {
                    page_rows.matching.reverse();
                }
                (list.previous, list.next) =
                    if is_after { (first_position, end_position) } else { (end_position, first_position) };
                list.items = page_rows.matching;
            }
        }
        Ok(list)
    }

    /// The rows from the start of a page, in its direction, that meet the conditions.
    async fn scan(
        &self,
        session: &mut Session,
        page: ListPage,
        other_conditions: &[Condition],
    ) -> Result<FilteredRows, Error> {
        let is_backwards = matches!(page.start, PageStart::Before(_));
        let (mut filtered, mut start) = (FilteredRows { matching: Vec::new(), ends_at: None }, page.start);
        // Titles are sorted again for each batch, so there is one batch.
        let is_sorted = matches!(self.condition, Some(Condition::TitlePrefix(_)));
        let batch_len = if is_sorted { MediaFilter::SCAN_MAX } else { SCAN_BATCH };
        for _ in 0..MediaFilter::SCAN_MAX / batch_len {
            let window = ListPage { start, limit: batch_len, ..page };
            let mut list = self.rows(self.filter_index.candidates).page(session, window, 0, true).await?;
            filtered.ends_at = if is_backwards { list.previous } else { list.next };
            if is_backwards {
                list.items.reverse();
            }
            for row in list.items {
                if all_met(other_conditions, &row)? {
                    filtered.matching.push(Position::from_row(&row)?);
                }
            }
            let Some(end) = filtered.ends_at else { break };
            start = if is_backwards { PageStart::Before(end) } else { PageStart::After(end) };
        }
        Ok(filtered)
    }
}

/// The result of filtering rows.
struct FilteredRows {
    /// The rows that meet all conditions, the nearest first.
    matching: Vec<Position>,
    /// The last filtered row, if more rows follow.
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
