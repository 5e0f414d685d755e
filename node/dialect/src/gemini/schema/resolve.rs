//! References inside of a schema.

use crate::json::{Raw, unescape};
use std::{borrow::Cow, collections::HashMap};

/// Most schemas that one may consist of: itself, what it refers to, and the parts of its `allOf`.
const LAYERS_MAX: usize = 64;

/// Most bytes of targets that are written in the place of references, of one document. A schema of a few lines can
/// grow without end.
const TARGET_BYTES_MAX: usize = 256 << 10;

/// Most references by other ways than the name of a definition: each walks through the document.
const WALKS_MAX: usize = 64;

/// Where definitions stand.
const TABLES: [&str; 2] = ["$defs", "definitions"];

/// The document and its definitions.
pub(super) struct Document<'a> {
    root: Raw<'a>,
    definitions: HashMap<(&'static str, Cow<'a, str>), Raw<'a>>,
    target_bytes: usize,
    walks: usize,
}

/// A schema with what it refers to and is combined with, all of which hold at once.
#[derive(Debug, Default)]
pub(super) struct Layers<'a> {
    pub(super) all: Vec<Raw<'a>>,
    /// The targets of references among them.
    pub(super) targets: Vec<Raw<'a>>,
    /// A reference that leads nowhere, too far, or to a schema that is being written already.
    pub(super) is_cut: bool,
}

impl<'a> Document<'a> {
    /// A schema with its definitions.
    pub(super) fn new(root: Raw<'a>) -> Self {
        let mut definitions = HashMap::new();
        for table in TABLES {
            for member in root.get(table).into_iter().flat_map(Raw::members) {
                definitions.entry((table, unescape(member.key))).or_insert(member.value);
            }
        }
        Self { root, definitions, target_bytes: 0, walks: 0 }
    }

    /// The layers of a schema in it; `active` are the targets that are being written.
    pub(super) fn layers(&mut self, schema: Raw<'a>, active: &[Raw<'a>]) -> Layers<'a> {
        let mut layers = Layers::default();
        self.add(&mut layers, schema, active);
        layers
    }

    fn add(&mut self, layers: &mut Layers<'a>, schema: Raw<'a>, active: &[Raw<'a>]) {
        if layers.all.len() >= LAYERS_MAX {
            layers.is_cut = true;
            return;
        }
        layers.all.push(schema);
        if let Some(reference) = schema.get("$ref") {
            match reference.string().and_then(|pointer| self.target(&pointer)) {
                Some(target) if !is_among(target, active) && !is_among(target, &layers.targets) => {
                    self.target_bytes = self.target_bytes.saturating_add(target.bytes().len());
                    layers.targets.push(target);
                    self.add(layers, target, active);
                }
                _ => layers.is_cut = true,
            }
        }
        for part in schema.get("allOf").into_iter().flat_map(Raw::elements) {
            self.add(layers, part, active);
        }
    }

    /// Where `#/$defs/Name` leads.
    fn target(&mut self, pointer: &str) -> Option<Raw<'a>> {
        if self.target_bytes > TARGET_BYTES_MAX {
            return None;
        }
        let path = pointer.strip_prefix('#')?;
        if path.is_empty() {
            return Some(self.root);
        }
        let steps: Vec<String> = path.strip_prefix('/')?.split('/').map(decoded).collect();
        if let [table, name] = steps.as_slice()
            && let Some(table) = TABLES.into_iter().find(|known| known == table)
        {
            return self.definitions.get(&(table, Cow::Borrowed(name))).copied();
        }
        self.walks += 1;
        let start = (self.walks <= WALKS_MAX).then_some(self.root)?;
        steps.iter().try_fold(start, |at, step| match step.parse::<usize>() {
            Ok(index) if at.bytes().first() == Some(&b'[') => at.elements().nth(index),
            _ => at.members().find(|member| unescape(member.key) == *step).map(|member| member.value),
        })
    }
}

/// Whether the same place is among them.
fn is_among(place: Raw<'_>, list: &[Raw<'_>]) -> bool {
    list.iter().any(|known| std::ptr::eq(known.bytes(), place.bytes()))
}

/// A step of a pointer: escaped for pointers, and that for URLs.
fn decoded(step: &str) -> String {
    let (mut out, mut rest) = (Vec::with_capacity(step.len()), step.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if *first == b'%' => {
                out.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            _ => {
                out.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&out).replace("~1", "/").replace("~0", "~")
}
