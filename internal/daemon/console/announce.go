package console

import (
	"sync"

	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/web/inbox"
)

// announcer returns a function that announces the servers that wait for
// approval, once each.
func announcer(in *instance.Instance) func() {
	var mu sync.Mutex
	told := map[[2]string]string{} // hash, by schema and server
	return func() {
		mu.Lock()
		defer mu.Unlock()
		waits := map[[2]string]string{}
		for _, view := range in.Set.Snapshot().Schemas {
			for _, u := range view.Upstreams {
				what := approvalOf(u)
				if what == nil {
					continue
				}
				cfg, key := u.Config(), [2]string{view.Config.Name, u.Name()}
				waits[key] = what.Hash
				if told[key] == what.Hash {
					continue
				}
				in.Webhook.Announce(inbox.Pending{Schema: key[0], Server: key[1], Hash: what.Hash, Tools: cfg.Waits() == nil, From: in.Config.Approvals().Asker(cfg.ID(), what.Hash)})
			}
		}
		told = waits
	}
}
