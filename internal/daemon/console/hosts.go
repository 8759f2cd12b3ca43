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

// maxHosts is how many hosts of one server are asked about or were denied, and
// maxHostsWaiting how many of all servers wait: a server that asks for the whole
// world fills no inbox.
const (
	maxHosts        = 8
	maxHostsWaiting = 32
)

// A hostAsker puts hosts that sandboxes refused to a person. What was refused
// stays refused; a yes is written into the entry, which starts the server anew.
type hostAsker struct {
	ctx     context.Context
	servers consoleServers

	mu      sync.Mutex
	waiting int
	asked   map[string]map[string]context.CancelFunc // by server and host; stays when it was denied
}

// askHosts asks about the hosts that the sandboxes of an instance refuse from
// now on, until ctx ends. The file of a project is not ours to change.
func askHosts(ctx context.Context, in *instance.Instance, a *env.Env) {
	if in.Config.Project {
		return
	}
	x := &hostAsker{ctx: ctx, servers: consoleServers{in: in, env: a}, asked: map[string]map[string]context.CancelFunc{}}
	in.Watchers.Add(x.settle)
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

// wait waits for the answer of a person, and does what it says. denied says
// that there is no need to ask again.
func (x *hostAsker) wait(ctx context.Context, server, host string) (denied bool) {
	schema, name, _ := strings.Cut(server, "/")
	params := map[string]string{"host": host, "message": name + " wanted " + host + ": allow it always?"}
	x.record(schema, name, host, inbox.Answer{Action: "asked"})
	for {
		raw, err := json.Marshal(params)
		if err != nil {
			return false
		}
		answer, err := x.servers.in.Inbox.Ask(ctx, inbox.Question{Kind: "host", Server: name, Params: raw})
		if err != nil || answer.By == "" { // it ended, or there was no room for it
			return false
		}
		if answer.Action == "accept" {
			if err := x.allow(schema, name, host); err != nil {
				params["failed"] = err.Error()
				x.servers.in.Log.Warn("a host was not allowed", "server", server, "host", host, "err", err)
				continue
			}
		}
		x.record(schema, name, host, answer)
		return answer.Action == "decline"
	}
}

// record writes into the log and the audit trail what became of a host.
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

// settle takes back questions that have become pointless: the server is gone, or
// its list has the host.
func (x *hostAsker) settle() {
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

// server is a server as it is configured now, which may be another way than it
// runs for a moment; nil if it is not.
func (x *hostAsker) server(id string) *config.Server {
	schema, name, _ := strings.Cut(id, "/")
	if s := x.servers.in.Set.Snapshot().Config.Schema(schema); s != nil {
		return s.Server(name)
	}
	return nil
}

// lacks says that a host is not in the list of a server.
func (x *hostAsker) lacks(id, host string) bool {
	s := x.server(id)
	return s != nil && s.Sandbox.On && s.Sandbox.Hosts.Listed && !sandbox.Reaches(s.Sandbox.Hosts.Names, host)
}

// allow writes a host into the list of a server: of the entry that runs, and of
// no other.
func (x *hostAsker) allow(schema, name, host string) error {
	s := x.server(schema + "/" + name)
	if s == nil {
		return i18n.Errorf("there is no server %s any more", "服务 %s 已不存在", name)
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
