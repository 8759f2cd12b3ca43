package cluster

import (
	"context"
	"slices"
	"strconv"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// wire numbers the formats between replicas: what they say at the peer port, the
// ids and handles that they seal, their records. It grows with a release that
// changes one of them. Each release reads its own formats and those of the number
// before. It is a text, so that tests can link another one.
var wire = "1"

// Wire returns the number of the formats of this release.
func Wire() int {
	n, err := strconv.Atoi(wire)
	if err != nil {
		panic("cluster: wire " + wire + " is not a number")
	}
	return n
}

// SideBySide returns an error if a replica cannot run beside another one, because
// their releases are too far apart. A replica that does not tell its number has
// the first one.
func SideBySide(self, other Member) error {
	if ours, theirs := max(self.Wire, 1), max(other.Wire, 1); ours-theirs > 1 || theirs-ours > 1 {
		return i18n.Errorf("replica %s at %s runs release %s (formats %d), this one release %s (formats %d), and only neighbouring numbers work side by side: "+
			"start a release between them here, or upgrade all replicas one number at a time",
			"位于 %[2]s 的副本 %[1]s 运行版本 %[3]s（格式 %[4]d），本副本运行版本 %[5]s（格式 %[6]d），而只有格式编号相邻的版本才能同时运行：请在此启动二者之间的版本，或将所有副本逐个编号升级",
			other.Node, other.Address, other.Version, theirs, self.Version, ours)
	}
	return nil
}

// AwaitList returns the replicas that the engine lists, as soon as it has shown them;
// nil if it does not within a time.
func AwaitList(ctx context.Context, m *Members, limit time.Duration) []Member {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		changes := m.Changes()
		if away, _, _ := m.Agreement(); !away {
			return m.List()
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return nil
		}
	}
}

// Listed reports whether the engine has shown the replicas. An engine that was
// restarted shows this one alone until the others have renewed their records.
func Listed(m *Members) bool {
	away, since, _ := m.Agreement()
	return !away && (len(m.List()) > 1 || time.Since(since) > renewal+patience)
}

// AwaitOthers waits until the engine lists other runs of replicas than before, or ctx
// ends. It returns the list.
func AwaitOthers(ctx context.Context, m *Members, before []Member) []Member {
	for {
		changes, now := m.Changes(), m.List()
		if !slices.EqualFunc(now, before, func(a, b Member) bool { return a.Boot == b.Boot }) {
			return now
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return now
		}
	}
}
