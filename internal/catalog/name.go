package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

const (
	separator = "__"
	// maxName is the maximum length of a tool name in the APIs of models.
	maxName = 64
	// maxLabel leaves room for the tool in a name with a long server name.
	maxLabel = 32
)

// safeName makes s match ^[a-zA-Z0-9_-]+$: each run of other characters becomes
// one underscore.
func safeName(s string) string {
	if s == "" {
		return "_"
	}
	var b strings.Builder
	gap := false
	for i := 0; i < len(s); i++ {
		if isNameByte(s[i]) {
			b.WriteByte(s[i])
			gap = false
		} else if !gap {
			b.WriteByte('_')
			gap = true
		}
	}
	return b.String()
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// digest returns a stable digest of a text as n hexadecimal digits.
func digest(n int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:n]
}

// cutTo shortens s to limit by replacing its end with _mark.
func cutTo(limit int, s, mark string) string {
	return s[:min(len(s), limit-len(mark)-1)] + "_" + mark
}

// serverLabel returns the part of a server's names before the separator. It
// depends on the server's name alone, so adding or removing another server
// renames no tools. A name that cannot be used unchanged gets a digest of
// itself, so that no two names get the same label. A label contains no
// separator and does not end with an underscore, so the first separator ends
// the label.
func serverLabel(server string) string {
	safe := safeName(server)
	if safe == server && len(safe) <= maxLabel && !strings.Contains(safe, separator) && !strings.HasSuffix(safe, "_") {
		return safe
	}
	for strings.Contains(safe, separator) {
		safe = strings.ReplaceAll(safe, separator, "_")
	}
	if safe = strings.Trim(safe, "_"); safe == "" {
		safe = "s"
	}
	return cutTo(maxLabel, safe, digest(6, server))
}

// assignNames sets listed of every entry to a unique name. If several entries
// want one name, the names alone decide which entry keeps it, never the order.
// Only unprefixed names, which may not be edited, follow the order of the
// configuration.
func (n *namespace) assignNames(entries []*entry) {
	wanted := make(map[string][]*entry, len(entries))
	for _, e := range entries {
		e.listed = n.wishedName(e)
		wanted[e.listed] = append(wanted[e.listed], e)
	}
	taken := make(map[string]bool, len(entries))
	var losers []*entry
	for name, group := range wanted {
		keeper := n.keeper(name, group)
		if keeper != nil {
			taken[name] = true
		}
		for _, e := range group {
			if e != keeper {
				losers = append(losers, e)
			}
		}
	}
	slices.SortFunc(losers, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(n.sources[a.source].Server, n.sources[b.source].Server),
			cmp.Compare(a.item.Key, b.item.Key), cmp.Compare(a.source, b.source))
	})
	for _, e := range losers {
		e.listed = n.freeName(e, taken)
		taken[e.listed] = true
	}
}

func (n *namespace) unprefixed(e *entry) bool {
	return n.sources[e.source].Policy.Naming == NamingNone
}

func (n *namespace) wishedName(e *entry) string {
	if n.unprefixed(e) {
		return e.name
	}
	return n.prefixedName(e)
}

// prefixedName returns the safe service__tool; a name that is too long is cut
// and marked.
func (n *namespace) prefixedName(e *entry) string {
	name := n.labels[e.source] + separator + safeName(e.name)
	if len(name) > maxName {
		return cutTo(maxName, name, n.mark(8, e))
	}
	return name
}

func (n *namespace) mark(digits int, e *entry) string {
	return digest(digits, n.sources[e.source].Server, e.item.Key)
}

// keeper returns the entry that may keep the name that all of group want: the
// first unprefixed one, else the only one whose name did not have to be
// changed.
func (n *namespace) keeper(name string, group []*entry) *entry {
	if len(group) == 1 {
		return group[0]
	}
	var natural []*entry
	for _, e := range group {
		if n.unprefixed(e) {
			return e
		}
		if n.sources[e.source].Server+separator+e.name == name {
			natural = append(natural, e)
		}
	}
	if len(natural) == 1 {
		return natural[0]
	}
	return nil
}

// freeName marks the entry's name with a digest of its server and own name.
func (n *namespace) freeName(e *entry, taken map[string]bool) string {
	name := n.prefixedName(e)
	if n.unprefixed(e) && !taken[name] {
		return name
	}
	mark := n.mark(8, e)
	for i := 1; ; i++ {
		if marked := cutTo(maxName, name, mark); !taken[marked] {
			return marked
		}
		mark = digest(8, mark, strconv.Itoa(i))
	}
}
