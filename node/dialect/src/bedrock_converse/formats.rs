//! The formats of media: the vendor has words of its own where others have media types.

use crate::ir::{Media, Text};
use std::borrow::Cow;

/// What kind of media it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Image,
    Document,
    Audio,
    Video,
}

type Table = &'static [(&'static str, &'static str)];

const IMAGES: Table =
    &[("png", "image/png"), ("jpeg", "image/jpeg"), ("gif", "image/gif"), ("webp", "image/webp")];

const DOCUMENTS: Table = &[
    ("pdf", "application/pdf"),
    ("csv", "text/csv"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("html", "text/html"),
    ("txt", "text/plain"),
    ("md", "text/markdown"),
];

/// `audio/` and the word itself are good for the rest.
const AUDIO: Table = &[
    ("mp3", "audio/mp3"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("wav", "audio/x-wav"),
    ("wav", "audio/wave"),
    ("opus", "audio/opus"),
    ("aac", "audio/aac"),
    ("flac", "audio/flac"),
    ("ogg", "audio/ogg"),
    ("m4a", "audio/m4a"),
    ("m4a", "audio/x-m4a"),
    ("mp4", "audio/mp4"),
    ("pcm", "audio/pcm"),
    ("pcm", "audio/pcm16"),
    ("webm", "audio/webm"),
    ("mka", "audio/x-matroska"),
];

const VIDEO: Table = &[
    ("mp4", "video/mp4"),
    ("mov", "video/quicktime"),
    ("mkv", "video/x-matroska"),
    ("webm", "video/webm"),
    ("flv", "video/x-flv"),
    ("mpeg", "video/mpeg"),
    ("mpg", "video/mpg"),
    ("wmv", "video/x-ms-wmv"),
    ("three_gp", "video/3gpp"),
];

impl Form {
    const fn table(self) -> Table {
        match self {
            Self::Image => IMAGES,
            Self::Document => DOCUMENTS,
            Self::Audio => AUDIO,
            Self::Video => VIDEO,
        }
    }

    /// The name of the block.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Document => "document",
            Self::Audio => "audio",
            Self::Video => "video",
        }
    }

    /// What people call one.
    pub(super) const fn shown(self) -> &'static str {
        match self {
            Self::Image => "an image",
            Self::Document => "a document",
            Self::Audio => "sound",
            Self::Video => "a video",
        }
    }

    /// The media type of a format; one that is not known is one of this kind.
    pub(super) fn media_type(self, format: &Text) -> Text {
        let known = self.table().iter().find(|(word, _)| format.is(word));
        match (known, self) {
            (Some((_, media_type)), _) => Text::fixed(media_type),
            (None, Self::Document) => Text::join([&Text::fixed("application"), format], "/"),
            (None, _) => Text::join([&Text::fixed(self.name()), format], "/"),
        }
    }

    /// The format of media: told from the media type, or from the name of a document. `None` if the vendor has none
    /// for it.
    pub(super) fn format(self, media: &Media) -> Option<&'static str> {
        let media_type = media.media_type_or_guess();
        let media_type = media_type.plain();
        // Without parameters such as `charset`.
        let bare = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let known = self.table().iter().find(|(_, known)| *known == bare).map(|(word, _)| *word);
        known.or_else(|| match self {
            Self::Document => document_format(&bare, media.title.as_ref().map(Text::plain)),
            _ => None,
        })
    }
}

/// What is not known by its type goes by its extension; whatever else is text is read as text.
fn document_format(media_type: &str, title: Option<Cow<'_, str>>) -> Option<&'static str> {
    let extension = title.as_deref().and_then(|title| title.rsplit_once('.')).map(|(_, extension)| extension);
    let by_name = extension.and_then(|extension| {
        DOCUMENTS.iter().find(|(word, _)| extension.eq_ignore_ascii_case(word)).map(|(word, _)| *word)
    });
    let is_text = media_type.starts_with("text/")
        || ["application/json", "application/xml", "application/yaml"].contains(&media_type);
    by_name.or(is_text.then_some("txt"))
}
