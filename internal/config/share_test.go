package config_test

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
)

func TestShare(t *testing.T) {
	for name, tt := range map[string]struct{ access, fault string }{
		"a name":           {`{"keys": "k", "share": {"url": "https://mcp.example.com"}}`, ""},
		"this machine":     {`{"keys": "k", "share": {"url": "http://127.0.0.1:3095"}}`, ""},
		"plain http":       {`{"keys": "k", "share": {"url": "http://mcp.example.com"}}`, "https://HOST"},
		"a path":           {`{"keys": "k", "share": {"url": "https://mcp.example.com/mcp"}}`, "without a path"},
		"a slash":          {`{"keys": "k", "share": {"url": "https://mcp.example.com/"}}`, "without a path"},
		"a password":       {`{"keys": "k", "share": {"url": "https://a:b@mcp.example.com"}}`, "without a path"},
		"no keys":          {`{"share": {"url": "https://mcp.example.com"}}`, "needs access.keys"},
		"two issuers":      {`{"keys": "k", "oauth": {"issuer": "https://a.example", "resource": "https://b.example"}, "share": {"url": "https://mcp.example.com"}}`, "access.oauth"},
		"a cluster":        {`{"keys": "k", "share": {"url": "https://mcp.example.com"}}, "cluster": {"peer": ":3096", "secret": "` + clusterSecret + `"}`, "cluster.engine"},
		"with an engine":   {`{"keys": "k", "share": {"url": "https://mcp.example.com"}}, "cluster": {"peer": ":3096", "engine": "nats", "nats": {"urls": ["nats://a"]}, "secret": "` + clusterSecret + `"}`, ""},
		"an unknown group": {`{"keys": "k", "share": {"url": "https://mcp.example.com", "schema": "other"}}`, "access.share.schema"},
	} {
		t.Run("get/share/"+name, func(t *testing.T) {
			cfg, err := config.Check("a.json", []byte(`{"access": `+tt.access+`, "mcpServers": {}}`), config.LoadOptions{Home: t.TempDir()})
			if tt.fault == "" && (err != nil || cfg.Access.Share.Days != 30 || cfg.Access.Share.Write || cfg.Access.Share.Resource() != cfg.Access.Share.URL+"/mcp") {
				t.Errorf("%+v, %v", cfg, err)
			}
			if tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
				t.Errorf("%v", err)
			}
		})
	}
}
