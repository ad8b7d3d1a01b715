//! SLURM's compact lists: `node[03-05,9],gpu1` for hosts, `2(x3),1` for tasks per host.

/// The first host of a list.
pub(super) fn first(list: &str) -> Result<String, &'static str> {
    let (mut host, mut rest) = (String::new(), list.trim());
    loop {
        let Some(end) = rest.find(['[', ',']) else {
            host.push_str(rest);
            break;
        };
        host.push_str(&rest[..end]);
        if rest[end..].starts_with(',') {
            break;
        }
        let (numbers, after) = rest[end + 1..].split_once(']').ok_or("a `[` is not closed")?;
        let number = numbers.split([',', '-']).next().unwrap_or_default();
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("brackets must contain numbers such as [1-4,7]");
        }
        host.push_str(number);
        rest = after;
    }
    if host.is_empty() || host.contains(']') { Err("it names no host") } else { Ok(host) }
}

/// The number of tasks on a node, counted from 0.
pub(super) fn tasks_on(list: &str, node: usize) -> Result<usize, &'static str> {
    const WRONG: &str = "it must be numbers of tasks such as 2(x3),1";
    let mut before = 0;
    for part in list.trim().split(',') {
        let (tasks, nodes) = match part.split_once("(x") {
            Some((tasks, nodes)) => (tasks, nodes.strip_suffix(')').ok_or(WRONG)?),
            None => (part, "1"),
        };
        let (tasks, nodes) = (tasks.parse().map_err(|_| WRONG)?, nodes.parse::<u32>());
        before += nodes.map_err(|_| WRONG)? as usize;
        if node < before {
            return Ok(tasks);
        }
    }
    Err("it has no entry for this node (SLURM_NODEID)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_host_of_a_compact_list() {
        for (list, host) in [
            ("login", "login"),
            ("a,b", "a"),
            ("node[001-004,007],gpu12", "node001"),
            ("node[7]", "node7"),
            ("rack[1-2]node[03-05]", "rack1node03"),
            ("cn[08,10]-ib,x", "cn08-ib"),
            ("10.0.0.[4-6]", "10.0.0.4"),
        ] {
            assert_eq!(first(list).as_deref(), Ok(host), "{list}");
        }
        for list in ["", "node[1-2", "node[]", "node[a-b]", "node]", ",a"] {
            assert!(first(list).is_err(), "{list}");
        }
    }

    #[test]
    fn the_tasks_of_a_node_in_a_compact_list() {
        let list = "2(x3),1,4(x2)";
        let tasks: Vec<_> = (0..6).map(|node| tasks_on(list, node).unwrap()).collect();
        assert_eq!(tasks, [2, 2, 2, 1, 4, 4]);
        assert!(tasks_on(list, 6).is_err());
        for list in ["", "two", "2(x", "2(xa)", "2x3"] {
            assert!(tasks_on(list, 0).is_err(), "{list}");
        }
    }
}
