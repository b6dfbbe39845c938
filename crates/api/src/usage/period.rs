//! The requested days.

use kinora_domain::Day;
use kinora_web::error::ApiError;
use kinora_web::fields::Problems;
use kinora_web::pagination::ListQuery;

/// Most days of one response: a year, with its 29th of February.
pub(super) const DAYS_MAX: u32 = 366;
const FROM: &str = "from";
const TO: &str = "to";

/// The requested days, including the first and the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UsagePeriod {
    pub(super) first: Day,
    pub(super) last: Day,
}

impl UsagePeriod {
    /// Parses the query `from=2026-11-01&to=2026-11-30`. Without `to` the period ends today, without `from`
    /// it begins on the first of that month.
    ///
    /// 422 names each parameter that is wrong or unknown: a misspelt one would otherwise select other days.
    pub(super) fn of(query: &ListQuery, today: Day) -> Result<Self, ApiError> {
        let problems = Problems::default();
        for (name, _) in query.pairs.iter().filter(|(name, _)| name != FROM && name != TO) {
            problems.add(name, "is not a parameter of this operation; leave it out, or use from and to");
        }
        let day = |name| {
            let text = query.single_value(name, &problems);
            let day = text.map(Day::from_text);
            if day == Some(None) {
                problems.add(name, "must be a day in UTC such as 2026-11-01");
            }
            day
        };
        let (from, to) = (day(FROM), day(TO));
        let period = match (from, to) {
            (Some(None), _) | (_, Some(None)) => None,
            (from, to) => {
                let last = to.flatten().unwrap_or(today);
                Some(Self { first: from.flatten().unwrap_or_else(|| last.first_of_month()), last })
            }
        };
        let span = period.filter(|span| match span.first.days_through(span.last) {
            0 => {
                problems.add(FROM, format!("must not be later than to, which is {}", span.last));
                false
            }
            days if days > DAYS_MAX => {
                let last = span.last;
                let many = format!("must be at most {DAYS_MAX} days before the end of {last}, and is {days}; request one year at a time");
                problems.add(FROM, many);
                false
            }
            _ => true,
        });
        problems.into_result(span)
    }

    /// The days, in order.
    pub(super) fn days(self) -> impl Iterator<Item = Day> {
        std::iter::successors(Some(self.first), |day| day.next()).take_while(move |day| *day <= self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        Day::from_text(text).unwrap()
    }

    fn span(query: &str) -> Result<UsagePeriod, ApiError> {
        UsagePeriod::of(&ListQuery::of("/usage", query), day("2024-03-15"))
    }

    #[test]
    fn default_span_is_this_month_to_date() {
        let check = |query, first, last, days| {
            let read = span(query).unwrap();
            assert_eq!(read, UsagePeriod { first: day(first), last: day(last) }, "{query}");
            assert_eq!(read.days().count(), days, "{query}");
        };
        check("", "2024-03-01", "2024-03-15", 15);
        check("from=2024-02-28", "2024-02-28", "2024-03-15", 17);
        check("to=2024-02-29", "2024-02-01", "2024-02-29", 29);
        check("to=2024-03-15&from=2024-03-15", "2024-03-15", "2024-03-15", 1);
        check("from=2024-01-01&to=2024-12-31", "2024-01-01", "2024-12-31", 366);
        check("to=9999-12-31", "9999-12-01", "9999-12-31", 31);
    }

    #[test]
    fn invalid_span_parameters_are_named() {
        let check = |query, expected: &[(&str, &str)]| {
            let refused = format!("{:?}", span(query).unwrap_err());
            for (field, message) in expected {
                let error_text = format!("FieldError {{ field: {field:?}, message: {message:?} }}");
                assert!(refused.contains(&error_text), "{query}: {refused}");
            }
            assert_eq!(refused.matches("FieldError").count(), expected.len(), "{query}: {refused}");
        };
        let no_day = "must be a day in UTC such as 2026-11-01";
        let unknown = "is not a parameter of this operation; leave it out, or use from and to";
        check("from=yesterday", &[("from", no_day)]);
        check("from=2024-02-30&to=", &[("from", no_day), ("to", no_day)]);
        check("to=2024-03-01T00:00:00Z", &[("to", no_day)]);
        check("from=2024-03-02&to=2024-03-01", &[("from", "must not be later than to, which is 2024-03-01")]);
        check("from=2024-03-16", &[("from", "must not be later than to, which is 2024-03-15")]);
        check("from=2024-03-01&from=2024-03-01", &[("from", "must be given once")]);
        check("form=2024-03-01&From=1", &[("form", unknown), ("From", unknown)]);
        let long =
            "must be at most 366 days before the end of 2024-12-31, and is 367; request one year at a time";
        check("from=2023-12-31&to=2024-12-31", &[("from", long)]);
    }
}
