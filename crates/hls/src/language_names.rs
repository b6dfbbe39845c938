//! Names of languages: converts tags of containers to names for playlists.

/// A language as listed in a playlist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Language {
    /// BCP 47 tag, the shortest one (RFC 5646, 2.2.1), in the usual case of letters.
    pub tag: String,
    /// English name, with further subtags in brackets; the tag if the name is unknown.
    pub name: String,
}

/// The language of a BCP 47 tag or an ISO 639-2 code, terminological or bibliographic.
///
/// `None` for text that is neither, and for codes that name no language: undetermined, many, none, uncoded.
pub fn language(code: &str) -> Option<Language> {
    let mut subtags = code.split('-');
    let primary = subtags.next()?.to_ascii_lowercase();
    let is_code =
        (2..=3).contains(&primary.len()) && primary.bytes().all(|letter| letter.is_ascii_lowercase());
    if !is_code || ["und", "mul", "zxx", "mis"].contains(&primary.as_str()) {
        return None;
    }
    let mut rest = Vec::new();
    for subtag in subtags {
        let is_subtag =
            (1..=8).contains(&subtag.len()) && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric());
        rest.push(is_subtag.then(|| canonical_case(subtag, rest.last()))?);
    }

    let entry = match TWO_LETTER.binary_search_by_key(&primary.as_str(), |(code, ..)| code) {
        Ok(found) => Some(TWO_LETTER[found]),
        Err(_) => TWO_LETTER.iter().find(|(_, two, _)| *two == primary).copied(),
    };
    // Without a two-letter code the three-letter one is the tag.
    let (tag, name) = entry.map_or((primary.as_str(), None), |(_, tag, name)| (tag, Some(name)));
    if rest.is_empty() {
        return Some(Language { tag: tag.to_owned(), name: name.unwrap_or(tag).to_owned() });
    }
    let rest = rest.join("-");
    let tag = format!("{tag}-{rest}");
    let name = name.map_or_else(|| tag.clone(), |name| format!("{name} ({rest})"));
    Some(Language { tag, name })
}

/// RFC 5646, 2.1.1: regions in capitals, scripts with one capital, the rest in lower case, and so is
/// everything after a single letter.
fn canonical_case(subtag: &str, before: Option<&String>) -> String {
    let mut text = subtag.to_ascii_lowercase();
    let is_letters = text.bytes().all(|byte| byte.is_ascii_alphabetic());
    match text.len() {
        _ if before.is_some_and(|before| before.len() == 1) || !is_letters => {}
        2 => text.make_ascii_uppercase(),
        4 => text[..1].make_ascii_uppercase(),
        _ => {}
    }
    text
}

/// ISO 639-2 codes that have an ISO 639-1 code: by the first column, in order.
#[rustfmt::skip]
const TWO_LETTER: &[(&str, &str, &str)] = &[
    ("aar", "aa", "Afar"),
    ("abk", "ab", "Abkhazian"),
    ("afr", "af", "Afrikaans"),
    ("aka", "ak", "Akan"),
    ("alb", "sq", "Albanian"),
    ("amh", "am", "Amharic"),
    ("ara", "ar", "Arabic"),
    ("arg", "an", "Aragonese"),
    ("arm", "hy", "Armenian"),
    ("asm", "as", "Assamese"),
    ("ava", "av", "Avaric"),
    ("ave", "ae", "Avestan"),
    ("aym", "ay", "Aymara"),
    ("aze", "az", "Azerbaijani"),
    ("bak", "ba", "Bashkir"),
    ("bam", "bm", "Bambara"),
    ("baq", "eu", "Basque"),
    ("bel", "be", "Belarusian"),
    ("ben", "bn", "Bengali"),
    ("bis", "bi", "Bislama"),
    ("bod", "bo", "Tibetan"),
    ("bos", "bs", "Bosnian"),
    ("bre", "br", "Breton"),
    ("bul", "bg", "Bulgarian"),
    ("bur", "my", "Burmese"),
    ("cat", "ca", "Catalan"),
    ("ces", "cs", "Czech"),
    ("cha", "ch", "Chamorro"),
    ("che", "ce", "Chechen"),
    ("chi", "zh", "Chinese"),
    ("chu", "cu", "Church Slavic"),
    ("chv", "cv", "Chuvash"),
    ("cor", "kw", "Cornish"),
    ("cos", "co", "Corsican"),
    ("cre", "cr", "Cree"),
    ("cym", "cy", "Welsh"),
    ("cze", "cs", "Czech"),
    ("dan", "da", "Danish"),
    ("deu", "de", "German"),
    ("div", "dv", "Divehi"),
    ("dut", "nl", "Dutch"),
    ("dzo", "dz", "Dzongkha"),
    ("ell", "el", "Greek"),
    ("eng", "en", "English"),
    ("epo", "eo", "Esperanto"),
    ("est", "et", "Estonian"),
    ("eus", "eu", "Basque"),
    ("ewe", "ee", "Ewe"),
    ("fao", "fo", "Faroese"),
    ("fas", "fa", "Persian"),
    ("fij", "fj", "Fijian"),
    ("fin", "fi", "Finnish"),
    ("fra", "fr", "French"),
    ("fre", "fr", "French"),
    ("fry", "fy", "Western Frisian"),
    ("ful", "ff", "Fulah"),
    ("geo", "ka", "Georgian"),
    ("ger", "de", "German"),
    ("gla", "gd", "Scottish Gaelic"),
    ("gle", "ga", "Irish"),
    ("glg", "gl", "Galician"),
    ("glv", "gv", "Manx"),
    ("gre", "el", "Greek"),
    ("grn", "gn", "Guarani"),
    ("guj", "gu", "Gujarati"),
    ("hat", "ht", "Haitian"),
    ("hau", "ha", "Hausa"),
    ("hbs", "sh", "Serbo-Croatian"),
    ("heb", "he", "Hebrew"),
    ("her", "hz", "Herero"),
    ("hin", "hi", "Hindi"),
    ("hmo", "ho", "Hiri Motu"),
    ("hrv", "hr", "Croatian"),
    ("hun", "hu", "Hungarian"),
    ("hye", "hy", "Armenian"),
    ("ibo", "ig", "Igbo"),
    ("ice", "is", "Icelandic"),
    ("ido", "io", "Ido"),
    ("iii", "ii", "Sichuan Yi"),
    ("iku", "iu", "Inuktitut"),
    ("ile", "ie", "Interlingue"),
    ("ina", "ia", "Interlingua"),
    ("ind", "id", "Indonesian"),
    ("ipk", "ik", "Inupiaq"),
    ("isl", "is", "Icelandic"),
    ("ita", "it", "Italian"),
    ("jav", "jv", "Javanese"),
    ("jpn", "ja", "Japanese"),
    ("kal", "kl", "Kalaallisut"),
    ("kan", "kn", "Kannada"),
    ("kas", "ks", "Kashmiri"),
    ("kat", "ka", "Georgian"),
    ("kau", "kr", "Kanuri"),
    ("kaz", "kk", "Kazakh"),
    ("khm", "km", "Khmer"),
    ("kik", "ki", "Kikuyu"),
    ("kin", "rw", "Kinyarwanda"),
    ("kir", "ky", "Kyrgyz"),
    ("kom", "kv", "Komi"),
    ("kon", "kg", "Kongo"),
    ("kor", "ko", "Korean"),
    ("kua", "kj", "Kuanyama"),
    ("kur", "ku", "Kurdish"),
    ("lao", "lo", "Lao"),
    ("lat", "la", "Latin"),
    ("lav", "lv", "Latvian"),
    ("lim", "li", "Limburgish"),
    ("lin", "ln", "Lingala"),
    ("lit", "lt", "Lithuanian"),
    ("ltz", "lb", "Luxembourgish"),
    ("lub", "lu", "Luba-Katanga"),
    ("lug", "lg", "Ganda"),
    ("mac", "mk", "Macedonian"),
    ("mah", "mh", "Marshallese"),
    ("mal", "ml", "Malayalam"),
    ("mao", "mi", "Maori"),
    ("mar", "mr", "Marathi"),
    ("may", "ms", "Malay"),
    ("mkd", "mk", "Macedonian"),
    ("mlg", "mg", "Malagasy"),
    ("mlt", "mt", "Maltese"),
    ("mon", "mn", "Mongolian"),
    ("mri", "mi", "Maori"),
    ("msa", "ms", "Malay"),
    ("mya", "my", "Burmese"),
    ("nau", "na", "Nauru"),
    ("nav", "nv", "Navajo"),
    ("nbl", "nr", "South Ndebele"),
    ("nde", "nd", "North Ndebele"),
    ("ndo", "ng", "Ndonga"),
    ("nep", "ne", "Nepali"),
    ("nld", "nl", "Dutch"),
    ("nno", "nn", "Norwegian Nynorsk"),
    ("nob", "nb", "Norwegian Bokmål"),
    ("nor", "no", "Norwegian"),
    ("nya", "ny", "Chichewa"),
    ("oci", "oc", "Occitan"),
    ("oji", "oj", "Ojibwa"),
    ("ori", "or", "Odia"),
    ("orm", "om", "Oromo"),
    ("oss", "os", "Ossetian"),
    ("pan", "pa", "Punjabi"),
    ("per", "fa", "Persian"),
    ("pli", "pi", "Pali"),
    ("pol", "pl", "Polish"),
    ("por", "pt", "Portuguese"),
    ("pus", "ps", "Pashto"),
    ("que", "qu", "Quechua"),
    ("roh", "rm", "Romansh"),
    ("ron", "ro", "Romanian"),
    ("rum", "ro", "Romanian"),
    ("run", "rn", "Rundi"),
    ("rus", "ru", "Russian"),
    ("sag", "sg", "Sango"),
    ("san", "sa", "Sanskrit"),
    ("sin", "si", "Sinhala"),
    ("slk", "sk", "Slovak"),
    ("slo", "sk", "Slovak"),
    ("slv", "sl", "Slovenian"),
    ("sme", "se", "Northern Sami"),
    ("smo", "sm", "Samoan"),
    ("sna", "sn", "Shona"),
    ("snd", "sd", "Sindhi"),
    ("som", "so", "Somali"),
    ("sot", "st", "Southern Sotho"),
    ("spa", "es", "Spanish"),
    ("sqi", "sq", "Albanian"),
    ("srd", "sc", "Sardinian"),
    ("srp", "sr", "Serbian"),
    ("ssw", "ss", "Swati"),
    ("sun", "su", "Sundanese"),
    ("swa", "sw", "Swahili"),
    ("swe", "sv", "Swedish"),
    ("tah", "ty", "Tahitian"),
    ("tam", "ta", "Tamil"),
    ("tat", "tt", "Tatar"),
    ("tel", "te", "Telugu"),
    ("tgk", "tg", "Tajik"),
    ("tgl", "tl", "Tagalog"),
    ("tha", "th", "Thai"),
    ("tib", "bo", "Tibetan"),
    ("tir", "ti", "Tigrinya"),
    ("ton", "to", "Tonga"),
    ("tsn", "tn", "Tswana"),
    ("tso", "ts", "Tsonga"),
    ("tuk", "tk", "Turkmen"),
    ("tur", "tr", "Turkish"),
    ("twi", "tw", "Twi"),
    ("uig", "ug", "Uyghur"),
    ("ukr", "uk", "Ukrainian"),
    ("urd", "ur", "Urdu"),
    ("uzb", "uz", "Uzbek"),
    ("ven", "ve", "Venda"),
    ("vie", "vi", "Vietnamese"),
    ("vol", "vo", "Volapük"),
    ("wel", "cy", "Welsh"),
    ("wln", "wa", "Walloon"),
    ("wol", "wo", "Wolof"),
    ("xho", "xh", "Xhosa"),
    ("yid", "yi", "Yiddish"),
    ("yor", "yo", "Yoruba"),
    ("zha", "za", "Zhuang"),
    ("zho", "zh", "Chinese"),
    ("zul", "zu", "Zulu"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &str, expected: Option<(&str, &str)>) {
        let found = language(code);
        let found = found.as_ref().map(|language| (language.tag.as_str(), language.name.as_str()));
        assert_eq!(found, expected, "{code}");
    }

    #[test]
    fn language_code_becomes_its_shortest_bcp_47_tag() {
        check("eng", Some(("en", "English")));
        check("deu", Some(("de", "German")));
        check("ger", Some(("de", "German")));
        check("zul", Some(("zu", "Zulu")));
        check("fil", Some(("fil", "fil")));
    }

    #[test]
    fn region_script_and_variant_subtags_are_preserved() {
        check("en", Some(("en", "English")));
        check("EN-us", Some(("en-US", "English (US)")));
        check("deu-at", Some(("de-AT", "German (AT)")));
        check("zh-hant-tw", Some(("zh-Hant-TW", "Chinese (Hant-TW)")));
        check("es-419", Some(("es-419", "Spanish (419)")));
        check("fil-PH", Some(("fil-PH", "fil-PH")));
        check("sl-ROZAJ-x-ab", Some(("sl-rozaj-x-ab", "Slovenian (rozaj-x-ab)")));
    }

    #[test]
    fn unknown_language_code_has_no_tag() {
        for code in [
            "und",
            "mul",
            "zxx",
            "mis",
            "",
            "e\"g",
            "engl",
            "```",
            "und-DE",
            "en-",
            "en--US",
            "en-\"",
            "en-123456789",
        ] {
            check(code, None);
        }
    }

    #[test]
    fn language_table_is_sorted() {
        assert!(TWO_LETTER.is_sorted_by(|one, next| one.0 < next.0));
    }
}
