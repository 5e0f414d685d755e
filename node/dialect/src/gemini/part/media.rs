//! Pictures, documents, sound and films: `inlineData` and `fileData`.

use super::super::{base64, names::camel};
use crate::{
    Dialect, Refusal,
    ir::{Attachment, BlockKind, Media, MediaSource, Text},
    json::{Raw, Writer, unescape},
    read::{self, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::Gemini;

/// Where files lie that only the vendor can read.
const OWN_FILES: [&str; 3] = ["gs://", "https://generativelanguage.googleapis.com/", "files/"];

/// Films by address alone.
const YOUTUBE: [&str; 3] = ["https://www.youtube.com/", "https://youtube.com/", "https://youtu.be/"];

/// Media types by the ending of an address.
const ENDINGS: [(&str, &str); 20] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("webp", "image/webp"),
    ("gif", "image/gif"),
    ("heic", "image/heic"),
    ("heif", "image/heif"),
    ("mp3", "audio/mp3"),
    ("wav", "audio/wav"),
    ("flac", "audio/flac"),
    ("ogg", "audio/ogg"),
    ("aac", "audio/aac"),
    ("mp4", "video/mp4"),
    ("mov", "video/mov"),
    ("webm", "video/webm"),
    ("mpeg", "video/mpeg"),
    ("pdf", "application/pdf"),
    ("txt", "text/plain"),
    ("html", "text/html"),
    ("csv", "text/csv"),
];

/// An `inlineData` or a `fileData`, whichever `parent` says. What is not modelled in it is kept.
pub(super) fn read_media(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    (parent, attachments): (&str, &mut Vec<Attachment>),
) -> Result<BlockKind, Refusal> {
    let (mut data, mut uri, mut media_type, mut title) = (None, None, None, None);
    for member in path.object(value)? {
        let key = unescape(member.key);
        let at = path.member(&key);
        match &*camel(member.key) {
            "data" => data = Some(base64::standard(at.text(member.value, owner)?)),
            "fileUri" => uri = Some(at.text(member.value, owner)?),
            "mimeType" => media_type = Some(at.text(member.value, owner)?),
            "displayName" => title = Some((at.text(member.value, owner)?, member)),
            _ => read::attach_inner(attachments, SELF, parent, &member, owner),
        }
    }
    let source = if parent == "fileData" {
        source_of(path.required(uri, "fileUri")?)
    } else {
        MediaSource::Base64(path.required(data, "data")?)
    };
    let media = Media::new(source, media_type.filter(|kind| !kind.is_empty()));
    Ok(match (kind_of(media), title) {
        (BlockKind::Document(media), Some((title, _))) => {
            BlockKind::Document(Media { title: Some(title), ..media })
        }
        (kind, Some((_, member))) => {
            read::attach_inner(attachments, SELF, parent, &member, owner);
            kind
        }
        (kind, None) => kind,
    })
}

fn source_of(uri: Text) -> MediaSource {
    let plain = uri.plain();
    if OWN_FILES.iter().any(|start| plain.starts_with(start)) {
        return MediaSource::File(SELF, uri);
    }
    MediaSource::Url(uri)
}

fn kind_of(media: Media) -> BlockKind {
    let guessed = match (&media.media_type, &media.source) {
        (None, MediaSource::Url(uri) | MediaSource::File(_, uri)) => guess(uri),
        (None, _) => Some(media.media_type_or_guess()),
        (given, _) => given.clone(),
    };
    let plain = guessed.unwrap_or_default();
    match plain.plain().split('/').next() {
        Some("image") => BlockKind::Image(media),
        Some("audio") => BlockKind::Audio(media),
        Some("video") => BlockKind::Video(media),
        _ => BlockKind::Document(media),
    }
}

/// The media type that an address tells.
fn guess(uri: &Text) -> Option<Text> {
    let plain = uri.plain();
    if YOUTUBE.iter().any(|start| plain.starts_with(start)) {
        return Some(Text::fixed("video/mp4"));
    }
    let path = plain.split(['?', '#']).next()?;
    let (_, ending) = path.rsplit_once('/')?.1.rsplit_once('.')?;
    let known = ENDINGS.iter().find(|(known, _)| ending.eq_ignore_ascii_case(known));
    known.map(|(_, media_type)| Text::fixed(media_type))
}

/// The member that holds the media.
pub(in crate::gemini) fn write_media(out: &mut Writer, media: &Media) {
    write_media_source(out, media);
    out.end_object();
}

/// The same, its object still open.
pub(in crate::gemini) fn write_media_source(out: &mut Writer, media: &Media) {
    match &media.source {
        MediaSource::Base64(data) | MediaSource::Plain(data) => {
            out.key("inlineData");
            out.begin_object();
            out.key("mimeType");
            out.text(&media.media_type_or_guess());
            out.key("data");
            out.text(data);
        }
        MediaSource::Url(uri) | MediaSource::File(_, uri) => {
            out.key("fileData");
            out.begin_object();
            let films = YOUTUBE.iter().any(|start| uri.plain().starts_with(start));
            let known = media.media_type.as_ref().map(|_| media.media_type_or_guess());
            if let Some(media_type) = known.or_else(|| guess(uri).filter(|_| !films && is_url(media))) {
                out.key("mimeType");
                out.text(&media_type);
            }
            out.key("fileUri");
            out.text(uri);
        }
    }
}

/// A file of the vendor has its type with it.
fn is_url(media: &Media) -> bool {
    matches!(media.source, MediaSource::Url(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_tell_what_they_hold() {
        for (uri, media_type, kind, is_file) in [
            ("https://example.com/a/b.PNG?sig=x.pdf", None, "image", false),
            ("https://example.com/a.b/c", None, "document", false),
            ("https://example.com/c", Some("audio/mp3"), "input_audio", false),
            ("https://www.youtube.com/watch?v=x", None, "video", false),
            ("gs://bucket/film.mp4", None, "video", true),
            ("https://generativelanguage.googleapis.com/v1beta/files/abc", None, "document", true),
        ] {
            let source = source_of(Text::new(uri));
            assert_eq!(matches!(source, MediaSource::File(..)), is_file, "{uri}");
            let media = Media::new(source, media_type.map(Text::new));
            assert_eq!(kind_of(media).type_name(), kind, "{uri}");
        }
    }
}
