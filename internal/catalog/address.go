package catalog

import "strings"

// An alias is the address of a resource whose own URI leads to another server.
// It keeps the scheme, so that clients can still interpret it, and the path, so
// that relative references still resolve:
//
//	ui://weather/app.html   ui://~SERVER/weather/app.html
//	urn:isbn:123            urn:~SERVER/isbn:123
//	file:///a/b             file:///a/b#~SERVER
//
// An alias depends only on the URI and the name of the server. A server's own
// URI that looks like an alias is always listed under an alias, so no address
// is ambiguous.

// aliasMark precedes the name of the server in an alias.
const aliasMark = "~"

// bareScheme is the scheme of aliases for addresses that have no scheme.
const bareScheme = "mcp-address"

// isLocated reports whether the host of an address of this scheme is a location
// that a client may access directly. Such a host stays in the alias.
func isLocated(scheme string) bool {
	switch strings.ToLower(scheme) {
	case "http", "https", "ws", "wss", "ftp", "file":
		return true
	}
	return false
}

// addressLabel returns the name of a server in aliases. Hosts are
// case-insensitive and allow few characters, so a name that has to be changed
// gets a digest of itself.
func addressLabel(server string) string {
	var b strings.Builder
	for i := 0; i < len(server); i++ {
		ch := server[i]
		switch {
		case ch >= 'a' && ch <= 'z' || ch >= '0' && ch <= '9' || ch == '-' || ch == '.':
			b.WriteByte(ch)
		case ch >= 'A' && ch <= 'Z':
			b.WriteByte(ch + 'a' - 'A')
		case ch < 0x80:
			b.WriteByte('-')
		}
	}
	label := strings.Trim(b.String(), "-.")
	if label == server && label != "" {
		return label
	}
	return strings.TrimLeft(label+"-"+digest(6, server), "-")
}

// cutScheme splits a URI or a template after the scheme; ok is false if there
// is no scheme.
func cutScheme(uri string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(uri, ":")
	if !ok || !isScheme(scheme) {
		return "", uri, false
	}
	return scheme, rest, true
}

// AliasURI returns the alias of a server's URI or template. It leads to that
// server whatever URIs the other servers have.
func AliasURI(server, uri string) string {
	mark := aliasMark + addressLabel(server)
	scheme, rest, ok := cutScheme(uri)
	switch {
	case !ok || scheme == bareScheme:
		return bareScheme + ":" + mark + "/" + uri
	case isLocated(scheme) && strings.Contains(rest, "#"): // also the # in a template
		return uri + "&" + mark
	case isLocated(scheme):
		return uri + "#" + mark
	case strings.HasPrefix(rest, "//"):
		return scheme + "://" + mark + "/" + rest[2:]
	}
	return scheme + ":" + mark + "/" + rest
}

// readAlias reverses AliasURI; ok is false if uri is not an alias.
func readAlias(uri string) (label, own string, ok bool) {
	scheme, rest, ok := cutScheme(uri)
	if !ok {
		return "", "", false
	}
	if isLocated(scheme) {
		at := strings.LastIndex(uri, aliasMark)
		if at < 1 || uri[at-1] != '#' && uri[at-1] != '&' {
			return "", "", false
		}
		label = uri[at+len(aliasMark):]
		return label, uri[:at-1], isLabel(label)
	}
	between := scheme + ":"
	if after, slashes := strings.CutPrefix(rest, "//"); slashes && scheme != bareScheme {
		rest, between = after, scheme+"://"
	}
	if rest, ok = strings.CutPrefix(rest, aliasMark); !ok {
		return "", "", false
	}
	label, own, ok = strings.Cut(rest, "/")
	if scheme != bareScheme {
		own = between + own
	}
	return label, own, ok && own != "" && isLabel(label)
}

func isLabel(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.')
	})
}

// InURI resolves an alias to a server and its own URI; ok is false if uri is
// not an alias of a known server.
func (n *namespace) InURI(uri string) (server, own string, ok bool) {
	label, own, ok := readAlias(uri)
	if !ok {
		return "", "", false
	}
	i, known := n.aliases[strings.ToLower(label)]
	if !known {
		return "", "", false
	}
	return n.sources[i].Server, own, true
}

// OutURI returns the address under which clients know a server's URI.
func (d *directory) OutURI(server, uri string) string {
	i, known := d.servers[server]
	if !d.aliased || !known {
		return uri
	}
	for _, t := range [...]*table{&d.resources, &d.templates} {
		if e := t.own[ownKey{i, uri}]; e != nil {
			return e.listed
		}
	}
	if leadsTo, _ := d.Resource(uri); leadsTo.Server != "" && leadsTo.Server != d.sources[i].Server {
		return AliasURI(d.sources[i].Server, uri)
	}
	return uri
}

// addressOf returns the address of a source's URI: the URI itself if the server
// keeps it, else an alias.
func (n *namespace) addressOf(source int32, uri string) string {
	server := n.sources[source].Server
	if n.addresses == nil {
		return uri
	}
	if _, _, looksSo := readAlias(uri); !looksSo && n.addresses.keeper(uri, server) == server {
		return uri
	}
	return AliasURI(server, uri)
}
