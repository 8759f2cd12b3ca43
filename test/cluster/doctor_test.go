package cluster

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// TestDoctor checks that doctor finds what is wrong around a cluster: a replica
// that does not reach this one, a peer port that the balancer reaches, and a
// balancer whose name is not in server.hosts.
func TestDoctor(t *testing.T) {
	away := "127.0.0.1:" + mcptest.FreePort(t)
	c := start(t, 2, options{members: true, access: `"server":{"hosts":["gateway.example"]},`, between: func(i int, peer string) (string, string) {
		if i == 0 { // the others do not reach what it tells them
			return away, ""
		}
		return peer, ""
	}})
	a, b := c.replicas[0], c.replicas[1]
	says := func(t *testing.T, r *replica, bad bool, want ...string) {
		t.Helper()
		out, why, code := r.run("doctor")
		if (code == 4) != bad {
			t.Errorf("exit code %d: %s", code, why)
		}
		for _, text := range want {
			if !strings.Contains(out, text) {
				t.Errorf("%q is not in\n%s", text, out)
			}
		}
	}
	t.Run("cluster/doctor/well", func(t *testing.T) {
		well := start(t, 2, options{members: true})
		says(t, well.replicas[1], false, "replica a")
	})
	t.Run("cluster/doctor/announced", func(t *testing.T) {
		says(t, b, true, "replica a", away, "connection refused", "set cluster.advertise there")
	})
	t.Run("cluster/doctor/both ways", func(t *testing.T) {
		says(t, a, true, "replica b", "does not reach this replica", away, "connection refused", "cluster.advertise")
	})
	t.Run("cluster/doctor/peer port", func(t *testing.T) {
		if resp, err := http.Get("http://" + b.peer + "/ready"); err == nil {
			resp.Body.Close()
			t.Errorf("answered %d", resp.StatusCode)
		}
		plain := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		if resp, err := plain.Get("https://" + b.peer + "/ready"); err == nil {
			resp.Body.Close()
			t.Errorf("answered %d", resp.StatusCode)
		}
		says(t, b, true, "cluster.peer: 2 connections", "127.0.0.1", "remove this port from the balancer")
	})
	t.Run("cluster/doctor/hosts", func(t *testing.T) {
		for host, status := range map[string]int{"gateway.example": http.StatusOK, "mcp.example": http.StatusForbidden} {
			req, err := http.NewRequest(http.MethodPost, b.url(), strings.NewReader(mcptest.InitializeLine(legacy, `{}`)))
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != status {
				t.Errorf("%s: status %d", host, resp.StatusCode)
			}
		}
		says(t, b, true, "server.hosts  1 requests", `"mcp.example"`, "add it to server.hosts")
	})
}

// TestDoctorConsoleHost checks that doctor names the balancer where only the console
// refuses it: without server.hosts a gateway that listens on all addresses answers to
// every name, and its console does not.
func TestDoctorConsoleHost(t *testing.T) {
	c := start(t, 1, options{access: `"access":{"key":"the-key-of-everyone-in-this-load"},"server":{"host":"0.0.0.0","insecure":true},`})
	r := c.replicas[0]
	t.Run("cluster/doctor/console host", func(t *testing.T) {
		req, err := http.NewRequest(http.MethodGet, "http://127.0.0.1:"+r.port+"/ui/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "mcp.example"
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("status %d", resp.StatusCode)
		}
		if out, why, code := r.run("doctor"); code != 4 || !strings.Contains(out, "server.hosts  1 requests") || !strings.Contains(out, `"mcp.example"`) {
			t.Errorf("exit code %d: %s\n%s", code, why, out)
		}
	})
}
