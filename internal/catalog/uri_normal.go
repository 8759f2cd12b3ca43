package catalog

import (
	"path"
	"strings"
)

// normalURI returns a URI in the normal form of RFC 3986, section 6.2.2: case
// of scheme and host, percent-encoding, dot segments, and the optional parts of
// http and file URIs. It also accepts templates, patterns and text that is not
// a URI.
func normalURI(uri string) string {
	uri = unescaped(uri, isUnreserved)
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || !isScheme(scheme) {
		return uri
	}
	scheme = strings.ToLower(scheme)
	rest, tail := cutTail(rest)
	authority, p, has := "", rest, false
	if p, has = strings.CutPrefix(rest, "//"); has {
		if at := strings.IndexByte(p, '/'); at >= 0 {
			authority, p = p[:at], p[at:]
		} else {
			authority, p = p, ""
		}
	}
	if scheme == "file" && !has && !strings.HasPrefix(p, "/") {
		p = "/" + p // as browsers and Node do
	}
	if strings.HasPrefix(p, "/") {
		p = withoutDots(p)
	}
	if !has && (scheme != "file" || !strings.HasPrefix(p, "/")) {
		if strings.HasPrefix(p, "//") {
			p = "/." + p // not an authority
		}
		return scheme + ":" + p + tail
	}
	return scheme + "://" + normalAuthority(scheme, authority) + p + tail
}

// looseURI returns a URI as a lenient server may read it: as browsers split it,
// fully decoded before the path is interpreted, and reduced to the path for a
// file.
func looseURI(uri string) string {
	uri = strings.TrimFunc(uri, func(r rune) bool { return r <= ' ' })
	uri = normalURI(asBrowsers.Replace(uri))
	rest, file := strings.CutPrefix(uri, "file:")
	if !file {
		return normalURI(decoded(uri))
	}
	rest, _ = cutTail(rest)
	rest, _, _ = strings.Cut(decoded(rest), "\x00")
	rest, _ = cutTail(strings.ReplaceAll(rest, `\`, "/"))
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		if at := strings.IndexByte(after, '/'); at >= 0 {
			rest = after[at:]
		}
	}
	return "file://" + path.Clean(rest)
}

// asBrowsers does what browsers, Node and Python do before they split a URL.
var asBrowsers = strings.NewReplacer("\t", "", "\n", "", "\r", "", `\`, "/")

// decoded decodes percent-encoded characters until none are left.
func decoded(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		out = append(out, s[i])
		for n := len(out); n >= 3 && out[n-3] == '%' && isHex(out[n-2]) && isHex(out[n-1]); n -= 2 {
			out = append(out[:n-3], unhex(out[n-2])<<4|unhex(out[n-1]))
		}
	}
	return string(out)
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if letter := 'a' <= c && c <= 'z'; !letter && (i == 0 || !('0' <= s[i] && s[i] <= '9' || strings.IndexByte("+-.", s[i]) >= 0)) {
			return false
		}
	}
	return s != ""
}

func isUnreserved(c byte) bool { return isNameByte(c) || c == '.' || c == '~' }

// cutTail splits s before the query or the fragment.
func cutTail(s string) (head, tail string) {
	if at := strings.IndexAny(s, "?#"); at >= 0 {
		return s[:at], s[at:]
	}
	return s, ""
}

// unescaped decodes the percent-encoded characters that may accepts, and writes
// the other escapes in upper case.
func unescaped(s string, may func(byte) bool) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
			b.WriteByte(s[i])
			continue
		}
		if c := unhex(s[i+1])<<4 | unhex(s[i+2]); may(c) {
			b.WriteByte(c)
		} else {
			b.WriteString(strings.ToUpper(s[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}

// withoutDots removes dot segments: RFC 3986, section 5.2.4.
func withoutDots(p string) string {
	var out []string
	segments := strings.Split(p[1:], "/")
	for i, s := range segments {
		switch last := i == len(segments)-1; {
		case s != "." && s != "..":
			out = append(out, s)
			continue
		case s == ".." && len(out) > 0:
			out = out[:len(out)-1]
			fallthrough
		default:
			if last {
				out = append(out, "")
			}
		}
	}
	return "/" + strings.Join(out, "/")
}

// normalAuthority removes the optional parts of an http or file authority.
func normalAuthority(scheme, authority string) string {
	user, host := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, host = authority[:at+1], authority[at+1:]
	}
	host = strings.ToLower(host)
	port := map[string]string{"http": ":80", "https": ":443"}[scheme]
	for before := ""; before != host; {
		before = host
		host = strings.TrimRight(strings.TrimSuffix(host, port), ":")
	}
	if scheme == "file" && host == "localhost" {
		host = ""
	}
	return user + host
}
