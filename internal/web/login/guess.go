package login

import (
	"net/netip"
	"time"
)

const (
	maxFailures = 10 // wrong codes from one source per minute
	maxSources  = 1_000
)

// guesses holds the wrong codes of the last minute by source, so that a guesser
// cannot prevent others from logging in.
type guesses struct {
	by map[string][]time.Time
}

// tooMany reports whether a source has to wait.
func (g *guesses) tooMany(source string, now time.Time) bool {
	g.forget(source, now)
	return len(g.by[source]) >= maxFailures
}

// add records a code that may be wrong. If there are too many sources, it removes the
// oldest.
func (g *guesses) add(source string, now time.Time) {
	if g.by == nil {
		g.by = make(map[string][]time.Time)
	}
	if len(g.by) >= maxSources {
		oldest := source
		for s, all := range g.by {
			g.forget(s, now)
			if first := g.by[oldest]; len(first) == 0 || all[0].Before(first[0]) {
				oldest = s
			}
		}
		if len(g.by) >= maxSources {
			delete(g.by, oldest)
		}
	}
	g.by[source] = append(g.by[source], now)
}

// remove removes the last code of a source, which was right.
func (g *guesses) remove(source string) {
	if all := g.by[source]; len(all) > 1 {
		g.by[source] = all[:len(all)-1]
	} else {
		delete(g.by, source)
	}
}

func (g *guesses) forget(source string, now time.Time) {
	all := g.by[source]
	for len(all) > 0 && now.Sub(all[0]) > time.Minute {
		all = all[1:]
	}
	if len(all) == 0 {
		delete(g.by, source)
		return
	}
	g.by[source] = all
}

// sourceOf returns the source of a request: an IPv4 address, or the IPv6
// network that a provider assigns to one customer.
func sourceOf(remote string) string {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	addr := ap.Addr().Unmap().WithZone("")
	if addr.Is6() {
		prefix, _ := addr.Prefix(64)
		addr = prefix.Addr()
	}
	return addr.String()
}
