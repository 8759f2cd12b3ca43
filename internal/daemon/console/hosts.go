package console

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/sandbox"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/inbox"
)

// maxHosts bounds the hosts of one server that are asked about or were denied.
// maxHostsWaiting bounds the open questions of all servers. So a server that
// tries many hosts cannot fill the inbox.
const (
	maxHosts        = 8
	maxHostsWaiting = 32
)

// A hostAsker asks a person about hosts that sandboxes refused. The refused
// connection stays refused. If the person agrees, the host is written into the
// entry, which restarts the server.
type hostAsker struct {
	ctx     context.Context
	servers consoleServers

	mu      sync.Mutex
	waiting int
	asked   map[string]map[string]context.CancelFunc // by server and host; kept after a denial
}

// askHosts asks about the hosts that the sandboxes of an instance refuse, until
// ctx ends. The gateway does not change the file of a project, so it does not
// ask there.
func askHosts(ctx context.Context, in *instance.Instance, a *env.Env) {
	if in.Config.Project {
		return
	}
	x := &hostAsker{ctx: ctx, servers: consoleServers{in: in, env: a}, asked: map[string]map[string]context.CancelFunc{}}
	in.Watchers.Add(x.withdrawObsolete)
	ask := x.ask
	in.AskHost.Store(&ask)
}

// ask asks about a host of a server, once.
func (x *hostAsker) ask(server, host string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	hosts := x.asked[server]
	if _, known := hosts[host]; known || len(hosts) >= maxHosts || x.waiting >= maxHostsWaiting || x.ctx.Err() != nil || !x.lacks(server, host) {
		return
	}
	if hosts == nil {
		hosts = map[string]context.CancelFunc{}
		x.asked[server] = hosts
	}
	ctx, cancel := context.WithCancel(x.ctx)
	hosts[host] = cancel
	x.waiting++
	x.servers.in.Background.Go(func() {
		defer cancel()
		denied := x.wait(ctx, server, host)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.waiting--
		if !denied {
			delete(hosts, host)
		}
	})
}

// wait waits for the answer of a person and applies it. denied is set if the
// question must not be asked again.
func (x *hostAsker) wait(ctx context.Context, server, host string) (denied bool) {
	schema, name, _ := strings.Cut(server, "/")
	params := map[string]string{"host": host, "message": name + " wanted " + host + ": allow it always?"}
	x.record(schema, name, host, inbox.Answer{Action: "asked"})
	for {
		raw, err := json.Marshal(params)
		if err != nil {
			return false
		}
		var failed error
		answer, err := x.servers.in.Inbox.Ask(ctx, inbox.Question{Kind: "host", Schema: schema, Server: name, Params: raw, Apply: func(a inbox.Answer) error {
			if a.Action == "accept" {
				failed = x.allow(schema, name, host)
			}
			return failed
		}})
		if err != nil || answer.By == "" { // ctx ended, or the inbox was full
			return false
		}
		if failed != nil {
			params["failed"] = failed.Error()
			x.servers.in.Log.Warn("a host was not allowed", "server", server, "host", host, "err", failed)
			continue
		}
		x.record(schema, name, host, answer)
		return answer.Action == "decline"
	}
}

// record writes the decision on a host to the log and the audit trail.
func (x *hostAsker) record(schema, name, host string, a inbox.Answer) {
	in := x.servers.in
	o := traffic.Observation{Call: traffic.Call{
		Hop: traffic.HopClient, Start: time.Now(), Principal: a.By, Schema: schema, Server: name, Method: "sandbox/host", Name: host, Status: a.Action,
	}}
	if a.By != "" {
		o.Door = traffic.DoorConsole
		if a.Typed {
			o.Door = traffic.DoorCLI
		}
		in.Log.Info("a person decided on a host", "server", schema+"/"+name, "host", host, "action", a.Action, "by", a.By)
	}
	if in.Audit != nil {
		in.Audit.Observe(&o)
	}
}

// withdrawObsolete withdraws questions that are obsolete: the server no longer exists, or
// its list contains the host.
func (x *hostAsker) withdrawObsolete() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for server, hosts := range x.asked {
		for host, cancel := range hosts {
			if !x.lacks(server, host) {
				cancel()
			}
		}
		if x.server(server) == nil {
			delete(x.asked, server)
		}
	}
}

// server returns a server as configured now, which for a moment may differ from
// the running one; nil if there is none.
func (x *hostAsker) server(id string) *config.Server {
	schema, name, _ := strings.Cut(id, "/")
	if s := x.servers.in.Set.Snapshot().Config.Schema(schema); s != nil {
		return s.Server(name)
	}
	return nil
}

// lacks reports whether the list of a server does not contain a host.
func (x *hostAsker) lacks(id, host string) bool {
	s := x.server(id)
	return s != nil && s.Sandbox.On && s.Sandbox.Hosts.Listed && !sandbox.Reaches(s.Sandbox.Hosts.Names, host)
}

// allow adds a host to the list of a server, but only if the entry is the one
// that runs.
func (x *hostAsker) allow(schema, name, host string) error {
	s := x.server(schema + "/" + name)
	if s == nil {
		return i18n.Errorf("there is no server %s any more", "服务器 %s 已不存在", name)
	}
	return x.servers.edit(func(d *edit.Draft) error {
		if s.Waits() != nil || d.ApprovalHash(schema, name) != s.ApprovalHash() {
			return i18n.Errorf("the entry of %s is not the one that runs: reload the file or approve the entry first", "%s 的条目不是正在运行的条目：请先重新加载文件或批准条目", name)
		}
		entry := d.Entry(schema, name)
		var hosts []json.RawMessage
		if err := json.Unmarshal(jsonrpc.Get(entry, "sandbox", "hosts"), &hosts); err != nil {
			return i18n.Errorf("the entry of %s has no list of hosts in its sandbox: %w", "%s 的条目的 sandbox 中没有主机列表：%w", name, err)
		}
		raw, err := json.Marshal(append(hosts, jsonrpc.Quote(host)))
		if err != nil {
			return err
		}
		return d.SetServer(schema, name, jsonrpc.Set(entry, raw, "sandbox", "hosts"))
	})
}
