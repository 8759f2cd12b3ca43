package config

import (
	"slices"
	"testing"
)

func TestRestart(t *testing.T) {
	want := map[string]bool{
		"server.port": true, "server.cors.enabled": true, "cli.stdio.delimiter": true, "logging.level": true, "limits.callTotal": true, "cluster.node": true,
		"audit.file": true, "metrics.enabled": true, "tracing.url": true, "tokens": true, "access.share.url": true,
		"limits.callsPerMinute": false, "limits.sameCall": false, "limits.memory": false,
		"startWait": false, "usage.days": false, "access.keys": false, "inbox.console": false, "sampling.url": false,
	}
	var keys []string
	for _, v := range Values(new(Config)) {
		keys = append(keys, v.Key)
		if restart, ok := want[v.Key]; ok && v.Restart != restart {
			t.Errorf("%s: a restart is needed: %v, want %v", v.Key, v.Restart, restart)
		}
	}
	for key := range want {
		if !slices.Contains(keys, key) {
			t.Errorf("no key is called %s", key)
		}
	}
	for _, key := range live {
		if !slices.Contains(keys, key) {
			t.Errorf("live: no key is called %s", key)
		}
	}
}
