//! Size, alignment and offsets of every struct of the header: measured by a C compiler, kept in a file, and asserted in the header.

use std::fmt::Write as _;

/// A struct of the header and its fields, in order.
#[derive(Debug, PartialEq, Eq)]
pub struct Struct {
    /// Its name.
    pub name: String,
    /// Its fields.
    pub fields: Vec<String>,
}

/// The structs of a header, as cbindgen writes them.
pub fn structs(header: &str) -> Vec<Struct> {
    let mut all = Vec::new();
    let mut lines = header.lines();
    while let Some(line) = lines.next() {
        let name = line.strip_prefix("typedef struct ").and_then(|rest| rest.strip_suffix(" {"));
        if let Some(name) = name {
            let body = lines.by_ref().take_while(|line| !line.starts_with('}'));
            let fields = body.filter_map(field).collect();
            all.push(Struct { name: name.to_owned(), fields });
        }
    }
    all
}

/// The field that a line declares. The further lines of a function's parameters are indented deeper.
fn field(line: &str) -> Option<String> {
    let declared = line.strip_prefix("  ").filter(|rest| !rest.starts_with([' ', '/']))?;
    let name = match declared.split_once("(*") {
        Some((_, function)) => function.split(')').next()?,
        None => declared.trim_end_matches(';').rsplit([' ', '*']).next()?,
    };
    Some(name.to_owned())
}

/// A C program that prints the layout of the structs: a line for each, then a line for each field.
pub fn measuring_program(structs: &[Struct]) -> String {
    let mut out = String::from(
        "#include \"hookrack.h\"\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n",
    );
    for Struct { name, fields } in structs {
        _ = writeln!(
            out,
            "  printf(\"{name} %zu %zu\\n\", sizeof({name}), (size_t)_Alignof({name}));"
        );
        for field in fields {
            _ = writeln!(
                out,
                "  printf(\"  {field} %zu %zu\\n\", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));"
            );
        }
    }
    out + "  return 0;\n}\n"
}

/// The numbers of a kept layout: `sizeof(HrStr)` and 16, `offsetof(HrStr, len)` and 8, …
pub fn numbers(kept: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut of = "";
    for line in kept.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let [name, first, second] = words[..] else { continue };
        if line.starts_with(' ') {
            all.push((format!("offsetof({of}, {name})"), first.to_owned()));
        } else {
            of = name;
            all.push((format!("sizeof({name})"), first.to_owned()));
            all.push((format!("HR_ALIGNOF({name})"), second.to_owned()));
        }
    }
    all
}

/// The kept layout as assertions in C and C++, for systems with pointers of 64 bits.
pub(crate) fn assertions(kept: &str) -> String {
    let mut out = String::from(
        "\n// The layout of every struct, which never changes. A compiler that disagrees cannot build plugins.\n\
         #if defined(__LP64__)\n#ifdef __cplusplus\n#define HR_SAME(found, frozen) static_assert((found) == (frozen), #found)\n\
         #define HR_ALIGNOF(T) alignof(T)\n#else\n#define HR_SAME(found, frozen) _Static_assert((found) == (frozen), #found)\n\
         #define HR_ALIGNOF(T) _Alignof(T)\n#endif\n",
    );
    for (what, number) in numbers(kept) {
        _ = writeln!(out, "HR_SAME({what}, {number});");
    }
    out + "#undef HR_SAME\n#undef HR_ALIGNOF\n#endif\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_whatever_their_type() {
        let header = "typedef struct HrX {\n  // The header: magic.\n  struct HrHeader header;\n  const uint8_t *ptr;\n\
                      \x20 HrStatus (*call)(void *host,\n                   size_t count);\n} HrX;\n";
        let [found] = &structs(header)[..] else { panic!("one struct") };
        assert_eq!(
            (found.name.as_str(), found.fields.join(" ").as_str()),
            ("HrX", "header ptr call")
        );
    }

    #[test]
    fn a_kept_layout_becomes_assertions() {
        let kept = "HrStr 16 8\n  ptr 0 8\n  len 8 8\n";
        let asserted = assertions(kept);
        for line in ["sizeof(HrStr), 16", "HR_ALIGNOF(HrStr), 8", "offsetof(HrStr, len), 8"] {
            assert!(asserted.contains(&format!("HR_SAME({line});")), "{asserted}");
        }
    }
}
