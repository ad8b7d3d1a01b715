//! The libraries of the process by address, from `/proc/self/maps`.

use std::fmt;

/// The name that a plugin's mapping begins with: plugins are mapped from memory.
const FROM_MEMORY: &str = "/memfd:";

/// The mappings of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Module {
    /// The name of the file: `libema.so`.
    pub(super) name: String,
    /// Whether it is a plugin.
    pub(super) is_plugin: bool,
    first: usize,
    end: usize,
}

/// A place in the code of a module.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub(super) module: Option<&'static Module>,
    /// From where the module is mapped; the address itself if it is in none.
    pub(super) offset: usize,
}

impl Frame {
    /// No place.
    pub(super) const UNKNOWN: Self = Self { module: None, offset: 0 };

    /// The place of an address.
    pub(super) fn at(address: usize, modules: &'static [Module]) -> Self {
        let module = modules.iter().find(|module| (module.first..module.end).contains(&address));
        Self { module, offset: module.map_or(address, |module| address - module.first) }
    }

    /// The name of the module.
    pub(super) fn name(&self) -> &'static str {
        self.module.map_or("?", |module| &module.name)
    }

    /// Whether it is in a plugin.
    pub(super) fn is_in_plugin(&self) -> bool {
        self.module.is_some_and(|module| module.is_plugin)
    }
}

impl fmt::Display for Frame {
    /// `libema.so+0x11a9`, as `addr2line -e libema.so 0x11a9` takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.module {
            Some(module) => write!(f, "{}+{:#x}", module.name, self.offset),
            None => write!(f, "{:#x}", self.offset),
        }
    }
}

/// The files that are mapped now.
pub(super) fn mapped() -> Vec<Module> {
    // The name of one file need not be UTF-8.
    parse(&String::from_utf8_lossy(&std::fs::read("/proc/self/maps").unwrap_or_default()))
}

fn parse(maps: &str) -> Vec<Module> {
    let mut modules: Vec<(&str, Module)> = Vec::new();
    for line in maps.lines() {
        let Some((path, first, end)) = mapping(line) else { continue };
        match modules.last_mut() {
            // The parts of a file follow each other.
            Some((before, module)) if *before == path => module.end = end,
            _ => {
                let name = path.trim_end_matches(" (deleted)").rsplit(['/', ':']).next();
                let (name, is_plugin) =
                    (name.unwrap_or(path).to_owned(), path.starts_with(FROM_MEMORY));
                modules.push((path, Module { name, is_plugin, first, end }));
            }
        }
    }
    modules.into_iter().map(|(_, module)| module).collect()
}

/// The file of a line, and its addresses.
fn mapping(line: &str) -> Option<(&str, usize, usize)> {
    let path = &line[line.find('/')?..];
    let (range, _) = line.split_once(' ')?;
    let (first, end) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some((path, number(first)?, number(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0a000-55d0b000 r--p 00000000 08:01 12 /usr/bin/hookrack
55d0b000-55d0f000 r-xp 00001000 08:01 12 /usr/bin/hookrack
55e00000-55e21000 rw-p 00000000 00:00 0 [heap]
7f000000-7f001000 r--p 00000000 00:01 77 /memfd:libema.so (deleted)
7f001000-7f002000 r-xp 00001000 00:01 77 /memfd:libema.so (deleted)
";

    #[test]
    fn an_address_is_told_by_file_and_offset() {
        let modules: &'static [Module] = Box::leak(parse(MAPS).into_boxed_slice());
        assert_eq!(modules.len(), 2);
        let frame = Frame::at(0x7f00_11a9, modules);
        assert_eq!((frame.to_string().as_str(), frame.is_in_plugin()), ("libema.so+0x11a9", true));
        let frame = Frame::at(0x55d0_b001, modules);
        assert_eq!((frame.to_string().as_str(), frame.is_in_plugin()), ("hookrack+0x1001", false));
        assert_eq!(Frame::at(0x10, modules).to_string(), "0x10");
    }

    #[test]
    fn this_process_finds_its_own_code() {
        let modules: &'static [Module] = Box::leak(mapped().into_boxed_slice());
        let own = Frame::at(mapped as *const () as usize, modules);
        assert!(own.name().starts_with("hookrack"), "{own}");
    }
}
