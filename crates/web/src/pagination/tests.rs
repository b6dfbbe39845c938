use super::*;

fn position() -> Position {
    Position::from_bytes(std::array::from_fn(|at| u8::try_from(at).unwrap()))
}

fn listing(name: &str, query: &str) -> Result<PageRequest, ApiError> {
    ListQuery::of("/on-demand", query)
        .into_filtered_page_request(name, Problems::default(), |name| name == "title")
}

fn cursor_of(name: &str, query: &str, is_before: bool) -> String {
    listing(name, query).unwrap().cursor(position(), is_before, 30)
}

#[test]
fn cursor_keeps_position_and_order_with_any_limit() {
    let after = cursor_of("media", "limit=10", false);
    let found = listing("media", &format!("limit=25&cursor={after}")).unwrap();
    assert_eq!(
        found.list_page,
        ListPage { limit: 25, newest_first: true, start: PageStart::After(position()) }
    );
    assert_eq!((found.skip, found.page_number()), (30, 2));
    // A client can forge a cursor with a valid check.
    let far = listing("media", "").unwrap().cursor(position(), false, u64::MAX);
    assert_eq!(listing("media", &format!("limit=1&cursor={far}")).unwrap().page_number(), u64::MAX);

    let before = cursor_of("media", "orderBy=asc&title=a", true);
    let found = listing("media", &format!("title=a&cursor={before}")).unwrap();
    assert_eq!(
        found.list_page,
        ListPage { limit: 10, newest_first: false, start: PageStart::Before(position()) }
    );
    listing("media", &format!("title=a&orderBy=asc&cursor={before}")).unwrap();
}

#[test]
fn cursor_of_other_list_or_filter_is_422() {
    let cursor = cursor_of("media", "title=a", false);
    let check = |list: &str, query: &str, fields: &[&str]| {
        let refused = listing(list, query).unwrap_err();
        assert_eq!(refused.fields(), fields, "{query}");
    };
    check("uploads", &format!("title=a&cursor={cursor}"), &["cursor"]);
    check("media", &format!("title=b&cursor={cursor}"), &["cursor"]);
    check("media", &format!("cursor={cursor}"), &["cursor"]);
    check("media", &format!("title=a&offset=1&cursor={cursor}"), &["offset"]);
    check("media", &format!("title=a&orderBy=asc&limit=0&cursor={cursor}"), &["limit", "orderBy"]);
    check("media", &format!("title=a&cursor={cursor}&cursor={cursor}"), &["cursor"]);
    check("media", "cursor=", &["cursor"]);
    listing("media", &format!("other=1&title=a&cursor={cursor}")).unwrap();
}

#[test]
fn damaged_cursor_is_rejected() {
    let cursor = Cursor {
        list_hash: [7; 8],
        is_before: true,
        newest_first: true,
        skip: u64::MAX,
        position: position(),
    };
    let text = cursor.to_text();
    assert_eq!(Cursor::from_text(&text), Some(cursor));
    let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
    for at in 0..bytes.len() {
        assert_eq!(Cursor::from_text(&URL_SAFE_NO_PAD.encode(&bytes[..at])), None, "cut at {at}");
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert_eq!(Cursor::from_text(&URL_SAFE_NO_PAD.encode(&damaged)), None, "bit {bit} of byte {at}");
        }
    }
    let of_version = |version: u8| {
        let mut content = bytes[..bytes.len() - CHECKSUM_BYTES].to_vec();
        content[0] = version;
        content.extend(checksum_of(&content));
        Cursor::from_text(&URL_SAFE_NO_PAD.encode(content))
    };
    assert_eq!((of_version(1), of_version(2)), (Some(cursor), None));
}

#[test]
fn cursor_list_hash_separates_similar_filters() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let marks = [
        list_hash_of("media", &[]),
        list_hash_of("medi", &[pair("a", "")]),
        list_hash_of("media", &[pair("a", "bc")]),
        list_hash_of("media", &[pair("ab", "c")]),
        list_hash_of("media", &[pair("a", "b"), pair("c", "d")]),
    ];
    for (at, mark) in marks.iter().enumerate() {
        assert!(!marks[..at].contains(mark), "{at}");
    }
}
