//! Media by URL and by base64, and what one says about the other.

use super::{Block, BlockKind, Media, MediaSource, Request, Text};
use crate::{Refusal, read::Path};
use smallvec::SmallVec;

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

    /// Refuses inline data that cannot be what it claims to be: text that is no base64, and an image that begins like
    /// none. Reads all of the data: only for what is translated, never for what is passed on.
    pub(crate) fn check(&self, path: &Path<'_>) -> Result<(), Refusal> {
        let MediaSource::Base64(data) = &self.source else { return Ok(()) };
        if !is_base64(data) {
            return Err(path.refuse("must hold its data as base64, which this is not"));
        }
        let claimed = self.media_type.as_ref().map(Text::plain);
        let is_pixels = |claimed: &str| {
            let subtype = claimed.get(..6).filter(|head| head.eq_ignore_ascii_case("image/"));
            subtype.is_some() && !claimed.to_ascii_lowercase().contains("svg")
        };
        match claimed {
            Some(claimed) if is_pixels(&claimed) && image(&first_bytes(data)).is_none() => {
                Err(path.refuse(format_args!("says that it is {claimed}, but its data begin like no image")))
            }
            _ => Ok(()),
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

impl Request {
    /// Whether a block has its media at a URL and `wanted` says so.
    pub fn has_url(&self, wanted: impl Fn(&BlockKind) -> bool) -> bool {
        let blocks = self.messages.iter().flat_map(|message| &message.blocks);
        let is = |block: &Block| {
            let media = media_of(&block.kind);
            media.is_some_and(|media| matches!(media.source, MediaSource::Url(_))) && wanted(&block.kind)
        };
        blocks.into_iter().any(|block| match &block.kind {
            BlockKind::ToolResult { content, .. } => content.iter().any(is),
            _ => is(block),
        })
    }

    /// The bytes that inline media take in a body.
    pub fn media_bytes(&self) -> u64 {
        let blocks = self.messages.iter().flat_map(|message| &message.blocks);
        let inner = blocks.flat_map(|block| match &block.kind {
            BlockKind::ToolResult { content, .. } => content.as_slice(),
            _ => std::slice::from_ref(block),
        });
        let media = inner.filter_map(|block| media_of(&block.kind));
        let inline = media.map(|media| match &media.source {
            MediaSource::Base64(data) => data.escaped().len() as u64,
            MediaSource::Url(_) | MediaSource::File(..) | MediaSource::Plain(_) => 0,
        });
        inline.sum()
    }

    /// Shows all media to `change`, in order.
    pub fn each_media(&mut self, mut change: impl FnMut(&mut Media)) {
        for block in self.messages.iter_mut().flat_map(|message| &mut message.blocks) {
            let inner = match &mut block.kind {
                BlockKind::ToolResult { content, .. } => content.as_mut_slice(),
                _ => std::slice::from_mut(block),
            };
            inner.iter_mut().filter_map(|block| media_of_mut(&mut block.kind)).for_each(&mut change);
        }
    }
}

const fn media_of(kind: &BlockKind) -> Option<&Media> {
    match kind {
        BlockKind::Image(media)
        | BlockKind::Document(media)
        | BlockKind::Audio(media)
        | BlockKind::Video(media) => Some(media),
        _ => None,
    }
}

const fn media_of_mut(kind: &mut BlockKind) -> Option<&mut Media> {
    match kind {
        BlockKind::Image(media)
        | BlockKind::Document(media)
        | BlockKind::Audio(media)
        | BlockKind::Video(media) => Some(media),
        _ => None,
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
    let bytes = first_bytes(base64);
    let known = image(&bytes).or_else(|| bytes.starts_with(b"%PDF").then_some("application/pdf"));
    Text::fixed(known.unwrap_or("application/octet-stream"))
}

/// The first bytes of base64, at most 12 of them; none where it is not base64.
fn first_bytes(base64: &Text) -> SmallVec<[u8; 12]> {
    let start = base64.part(0..base64.escaped().len().min(16));
    let start = start.plain();
    let mut bytes = SmallVec::new();
    for quad in start.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = quad.iter().try_fold(0_u32, |bits, byte| Some((bits << 6) | u32::from(sextet(*byte)?)));
        let Some(bits) = bits else { break };
        let [_, whole @ ..] = (bits << (6 * (4 - quad.len()))).to_be_bytes();
        bytes.extend(whole.into_iter().take(quad.len() * 3 / 4));
    }
    bytes
}

const fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// The type of an image that begins so.
fn image(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'B', b'M', ..] => Some("image/bmp"),
        [b'I', b'I', b'*' | b'+', 0, ..] | [b'M', b'M', 0, b'*' | b'+', ..] => Some("image/tiff"),
        [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', ..] => Some("image/avif"),
        [_, _, _, _, b'f', b't', b'y', b'p', b'h', b'e', b'i' | b'v', ..] => Some("image/heic"),
        [_, _, _, _, b'f', b't', b'y', b'p', b'm', b'i' | b's', b'f', b'1', ..] => Some("image/heif"),
        [0xFF, 0x0A, ..] | [0, 0, 0, 0x0C, b'J', b'X', b'L', b' ', ..] => Some("image/jxl"),
        [0, 0, 0, 0x0C, b'j', b'P', b' ', b' ', ..] => Some("image/jp2"),
        [0, 0, 1, 0, ..] => Some("image/x-icon"),
        _ => None,
    }
}

/// Whether a text is base64 with data in it: the letters of the standard alphabet, line ends between them, and at
/// most two `=` behind them, which may be missing.
fn is_base64(text: &Text) -> bool {
    let escaped = text.escaped();
    let letters = escaped.strip_suffix(b"=").map_or(escaped, |rest| rest.strip_suffix(b"=").unwrap_or(rest));
    let padding = escaped.len() - letters.len();
    // In one loop without branches, so that it runs in vector registers. Escapes (of slashes, of line ends) are rare.
    let plain = letters.chunks(64).all(|chunk| chunk.iter().fold(true, |all, byte| all & is_letter(*byte)));
    let count = if plain {
        letters.len()
    } else {
        let unescaped = crate::json::unescape(letters);
        let letters = unescaped.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n'));
        let (count, all) = letters.fold((0, true), |(count, all), byte| (count + 1, all & is_letter(byte)));
        if !all {
            return false;
        }
        count
    };
    count > 0 && count % 4 != 1 && (padding == 0 || (count + padding).is_multiple_of(4))
}

const fn is_letter(byte: u8) -> bool {
    let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
    let digit = byte.wrapping_sub(b'0') < 10;
    letter | digit | (byte == b'+') | (byte == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::ROOT;

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
        assert!(of("JVBERi0=", None).is("application/pdf"));
        assert!(
            of("UklGRiQAAABXQVZF", None).is("application/octet-stream"),
            "a WAV file begins with RIFF as well"
        );
    }

    #[test]
    fn what_cannot_be_an_image_is_refused() {
        let check = |data: &str, given: Option<&str>| {
            let source = MediaSource::Base64(Text::from_escaped(data.to_owned().into()));
            let checked = Media::new(source, given.map(Text::new)).check(&ROOT.member("image"));
            checked.map_err(|refusal| (refusal.param.unwrap(), refusal.message.into_owned()))
        };
        let images = [
            "iVBORw0KGgoAAAAN", // PNG
            "\\/9j\\/4AAQ",     // JPEG, its slashes escaped
            "R0lGODlhAQABAIAA", // GIF
            "UklGRiQAAABXRUJQ", // WebP
            "Qk06AAAA",         // BMP
            "SUkqAAgAAAA=",     // TIFF
            "AAAAGGZ0eXBoZWlj", // HEIC
            "AAAAHGZ0eXBhdmlm", // AVIF
            "iVBORw0K\\nGgoAAAAN",
            "iVBORw0",
        ];
        for data in images {
            assert_eq!(check(data, Some("image/png")), Ok(()), "{data}");
        }
        for data in ["UklGRiQAAABXQVZF", "JVBERi0=", "PGh0bWw+", "AAAA"] {
            let (path, message) = check(data, Some("IMAGE/jpeg")).unwrap_err();
            assert_eq!(path, "image");
            assert!(message.contains("begin like no image"), "{message}");
            assert_eq!(check(data, Some("application/pdf")), Ok(()), "{data}");
            assert_eq!(check(data, Some("image/svg+xml")), Ok(()), "{data}");
            assert_eq!(check(data, None), Ok(()), "{data}");
        }
        let long = "iVBORw0KGgoAAAAN".repeat(9);
        assert_eq!(check(&long, Some("image/png")), Ok(()));
        for data in
            ["", "=", "A", "AAAAA", "A=AA", "AA=", "AAA==", "AAAA====", "A-_A", "not base64", "\\u00e9AAA"]
                .into_iter()
                .map(str::to_owned)
                .chain([format!("{long}!"), long.replace("AAAAN", "AAA N")])
        {
            let (_, message) = check(&data, None).unwrap_err();
            assert!(message.contains("base64"), "{data}: {message}");
        }
        assert_eq!(Media::from_url(Text::new("https://a/b.png")).check(&ROOT).ok(), Some(()));
    }
}
