//! Cooldowns of keys as gossip carries them: a few texts of at most 1 KiB.

use trestle_gateway::Cooldown;

/// What gossip takes of a node.
const TEXTS_MAX: usize = 16;
/// One is at most 16 digits, a colon, 20 digits and a space.
const IN_A_TEXT: usize = 1024 / 38;

/// As gossip has them; the first ones where not all fit.
pub(super) fn write(cooldowns: &[Cooldown]) -> Vec<String> {
    let one = |Cooldown { key, until }: &Cooldown| format!("{key:016x}:{until}");
    let text = |some: &[Cooldown]| some.iter().map(one).collect::<Vec<_>>().join(" ");
    cooldowns.chunks(IN_A_TEXT).take(TEXTS_MAX).map(text).collect()
}

/// What of a text can be read: a later version may say more.
pub(super) fn read(text: &str) -> impl Iterator<Item = Cooldown> {
    text.split(' ').filter_map(|one| {
        let (key, until) = one.split_once(':')?;
        Some(Cooldown { key: u64::from_str_radix(key, 16).ok()?, until: until.parse().ok()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_read_as_they_were_written() {
        let all: Vec<_> =
            (0..1_000).map(|at| Cooldown { key: u64::MAX - at, until: u64::MAX - at }).collect();
        let texts = write(&all);
        assert!(texts.len() == TEXTS_MAX && texts.iter().all(|text| text.len() <= 1024));
        let again: Vec<_> = texts.iter().flat_map(|text| read(text)).collect();
        assert_eq!(again, all[..TEXTS_MAX * IN_A_TEXT]);
        assert_eq!(write(&[]), Vec::<String>::new());
        assert_eq!(read("x:1 12 1:2:3 ff:9").collect::<Vec<_>>(), [Cooldown { key: 255, until: 9 }]);
    }
}
