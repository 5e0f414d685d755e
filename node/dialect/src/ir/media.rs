//! Media by URL and by base64, and what one says about the other.

use super::{Media, MediaSource, Text};

impl Media {
    /// From a source alone.
    pub fn new(source: MediaSource, media_type: Option<Text>) -> Self {
        Self { source, media_type, detail: None, title: None }
    }

    /// From a URL; a base64 `data:` URL becomes inline data.
    pub fn from_url(url: Text) -> Self {
        match split_data_url(&url) {
            Some((media_type, data)) => Self::new(MediaSource::Base64(data), media_type),
            None => Self::new(MediaSource::Url(url), None),
        }
    }

    /// From what a member for data holds: a `data:` URL, a URL, or base64 without the head of a data URL. URLs begin
    /// with a scheme, base64 holds no colon.
    pub fn from_file_data(data: Text) -> Self {
        match Self::from_url(data) {
            Self { source: MediaSource::Url(url), .. } if !url.escaped().contains(&b':') => {
                Self::new(MediaSource::Base64(url), None)
            }
            media => media,
        }
    }

    /// The media type: as given, in its official spelling, or told from the first bytes of inline data.
    pub fn media_type_or_guess(&self) -> Text {
        match (&self.media_type, &self.source) {
            (Some(given), _) if given.is("image/jpg") => Text::fixed("image/jpeg"),
            (Some(given), _) => given.clone(),
            (None, MediaSource::Base64(data)) => guess(data),
            (None, _) => Text::fixed("application/octet-stream"),
        }
    }
}

/// The media type and the data of `data:TYPE;base64,DATA`. Works on the escaped text: base64 needs no escapes, and
/// those that some writers put before slashes stay valid where the data goes.
fn split_data_url(url: &Text) -> Option<(Option<Text>, Text)> {
    let escaped = url.escaped();
    if !escaped.get(..5)?.eq_ignore_ascii_case(b"data:") {
        return None;
    }
    let comma = memchr::memchr(b',', escaped)?;
    let head = url.part(5..comma);
    let plain = head.plain();
    let mut parts = plain.split(';').map(str::trim);
    let media_type = parts.next().filter(|media_type| !media_type.is_empty()).map(Text::new);
    let base64 = parts.any(|part| part.eq_ignore_ascii_case("base64"));
    base64.then(|| (media_type, url.part(comma + 1..escaped.len())))
}

fn guess(base64: &Text) -> Text {
    const STARTS: [(&str, &str); 5] = [
        ("iVBOR", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lGOD", "image/gif"),
        ("UklGR", "image/webp"),
        ("JVBER", "application/pdf"),
    ];
    let start = base64.part(0..base64.escaped().len().min(16));
    let start = start.plain();
    let known = STARTS.iter().find(|(magic, _)| start.starts_with(magic));
    Text::fixed(known.map_or("application/octet-stream", |(_, media_type)| media_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_urls_become_inline_data() {
        let cases = [
            ("data:image/png;base64,iVBORw0=", Some("image/png"), Some("iVBORw0=")),
            ("DATA:image/png;name=a.png;BASE64,AA==", Some("image/png"), Some("AA==")),
            ("data:;base64,AA==", None, Some("AA==")),
            ("data:text/plain,hello", None, None),
            ("https://example.com/a,b.png", None, None),
            ("dat", None, None),
        ];
        for (url, media_type, data) in cases {
            let media = Media::from_url(Text::new(url));
            assert_eq!(media.media_type, media_type.map(Text::new), "{url}");
            let expected = match data {
                Some(data) => MediaSource::Base64(Text::new(data)),
                None => MediaSource::Url(Text::new(url)),
            };
            assert_eq!(media.source, expected, "{url}");
        }
        let escaped = Text::from_escaped(r"data:image\/png;base64,a\/b=".into());
        let media = Media::from_url(escaped);
        assert_eq!(media.media_type, Some(Text::new("image/png")));
        assert!(matches!(media.source, MediaSource::Base64(data) if data.is("a/b=")));
    }

    #[test]
    fn the_type_is_guessed_only_where_it_is_not_given() {
        let of = |data: &str, given: Option<&str>| {
            Media::new(MediaSource::Base64(Text::new(data)), given.map(Text::new)).media_type_or_guess()
        };
        assert!(of("iVBORw0KGgo", None).is("image/png"));
        assert!(of("/9j/4AAQ", None).is("image/jpeg"));
        assert!(of("/9j/4AAQ", Some("image/jpg")).is("image/jpeg"));
        assert!(of("/9j/4AAQ", Some("image/png")).is("image/png"));
        assert!(of("xx", None).is("application/octet-stream"));
    }
}
