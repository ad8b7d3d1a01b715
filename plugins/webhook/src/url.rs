//! The address to post to.

/// An `http` URL in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The host name or address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Path and query, with the slash in front.
    pub path: String,
}

impl Url {
    /// Reads `http://host[:port][/path]`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(rest) = text.strip_prefix("http://") else {
            let why = if text.starts_with("https://") {
                "https is not supported: have a proxy on this machine (nginx, stunnel) forward to it, \
                 and write its address, \"http://127.0.0.1:8080/…\""
            } else {
                "it does not begin with http://"
            };
            return Err(format!("\"{text}\": {why}"));
        };
        if rest.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Err(format!("\"{}\": it has spaces", text.escape_debug()));
        }
        let (authority, path) = match rest.find('/') {
            Some(at) => (&rest[..at], &rest[at..]),
            None => (rest, "/"),
        };
        let (host, port) = match authority.strip_prefix('[').and_then(|six| six.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let port = port.map_or(Ok(80), str::parse);
        match port {
            Ok(port) if !host.is_empty() => {
                Ok(Self { host: host.to_owned(), port, path: path.to_owned() })
            }
            Ok(_) => Err(format!("\"{text}\": it has no host")),
            Err(_) => Err(format!("\"{text}\": its port is not a number from 0 to 65535")),
        }
    }

    /// Host and port as a request's `Host` has them.
    pub fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

#[cfg(test)]
mod tests {
    use super::Url;

    #[test]
    fn a_url_has_a_host_a_port_and_a_path() {
        let url =
            |host: &str, port, path: &str| Ok(Url { host: host.into(), port, path: path.into() });
        assert_eq!(Url::parse("http://example.org"), url("example.org", 80, "/"));
        assert_eq!(Url::parse("http://127.0.0.1:8080/a?b=c"), url("127.0.0.1", 8080, "/a?b=c"));
        assert_eq!(Url::parse("http://[::1]:9/x"), url("::1", 9, "/x"));
        assert_eq!(Url::parse("http://[::1]:9/x").unwrap().authority(), "[::1]:9");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("https://example.org", "proxy"),
            ("example.org", "http://"),
            ("http://", "no host"),
            ("http://:80/", "no host"),
            ("http://a:b/", "port"),
            ("http://a/ b", "spaces"),
            ("http://a/\r\nX: y", "spaces"),
        ] {
            let error = Url::parse(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
