package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
)

// askCluster checks the other replicas of a running gateway.
func askCluster(ctx context.Context, a *env.Env, r *control.Remote, show *findingList) error {
	var s cluster.Status
	if err := r.Get(ctx, "/cluster?check", &s); err != nil {
		return err
	}
	if s.Engine.State == cluster.EngineAway {
		show.add(finding{What: a.T("engine of the cluster", "集群引擎"), Detail: a.T(s.Engine.Error, s.Engine.ErrorZH),
			Fix: fixEngine(a, s.Engine.Error)})
	}
	if n := s.Engine.Unopened; n > 0 {
		show.add(finding{What: "cluster.secret", Detail: cluster.OtherSecret(n).In(a.Lang), Fix: a.T("give all replicas the same cluster.secret, and restart those that had another one", "请使所有副本的 cluster.secret 相同，并重新启动原先不同的副本")})
	}
	if seen := s.Strangers; seen != nil {
		show.add(finding{What: a.T("port for other replicas", "供其他副本访问的端口"), Detail: fmt.Sprintf(a.T("cluster.peer: %d connections of programs that are no replicas in the last minutes, the last one from %s at %s",
			"cluster.peer：最近几分钟有 %d 个连接并非来自副本，最后一个来自 %s，时间 %s"), seen.Count, seen.From, seen.Last.Local().Format(time.TimeOnly)),
			Fix: a.T("remove this port from the balancer, and let only the other replicas reach it", "请从负载均衡器中去掉该端口，只允许其他副本访问")})
	}
	if seen := s.HostsRefused; seen != nil {
		show.add(finding{What: "server.hosts", Detail: fmt.Sprintf(a.T("%d requests for hosts that are not in it were refused in the last minutes, the last one for %.200q from %s at %s",
			"最近几分钟拒绝了 %d 个请求，因为其主机不在其中，最后一个的主机为 %.200q，来自 %s，时间 %s"), seen.Count, seen.What, seen.From, seen.Last.Local().Format(time.TimeOnly)),
			Fix: a.T("if that is the name of the balancer, add it to server.hosts on all replicas", "如果这是负载均衡器的名称，请在所有副本的 server.hosts 中加入它")})
	}
	for i := range s.Members {
		if m := &s.Members[i]; !m.Self || m.Rejected != "" || m.State == cluster.Draining {
			show.add(ofReplica(a, m, s.Carries(m)))
		}
	}
	return nil
}

// fixEngine returns what to do about an engine that is away, derived from its error.
func fixEngine(a *env.Env, why string) string {
	if strings.Contains(why, "set cluster.node") {
		return a.T("give each replica its own cluster.node, and restart the one that has another replica's name", "请为每个副本设置各自的 cluster.node，并重新启动与其他副本重名的副本")
	}
	return a.T("start nats-server, or correct cluster.nats.urls; calls go on meanwhile", "请启动 nats-server，或修正 cluster.nats.urls；其间调用照常进行")
}

// ofReplica returns the finding for one replica. carried means that NATS
// carries the connections to it.
func ofReplica(a *env.Env, m *cluster.MemberStatus, carried bool) finding {
	f := finding{What: strings.TrimSpace(a.T("replica ", "副本 ") + m.Node), Detail: m.Address}
	if carried {
		f.Detail = a.T("through NATS", "经由 NATS")
	}
	switch {
	case !m.Reachable && carried:
		f.Detail += "  " + a.T(m.Error, m.ErrorZH)
		f.Fix = a.T("start it, or let it reach NATS; no port has to be open", "请启动它，或确保它能连接 NATS；无需开放端口")
	case !m.Reachable:
		f.Detail += "  " + a.T(m.Error, m.ErrorZH)
		f.Fix = a.T("start it, or open the port of cluster.peer between the machines", "请启动它，或在各机器之间开放 cluster.peer 的端口")
		switch {
		case strings.Contains(m.Error, "does not look like a TLS handshake"):
			f.Fix = a.T("this is no port for replicas: correct it in cluster.members, or in cluster.advertise of that replica", "这不是供副本访问的端口：请在 cluster.members 中，或该副本的 cluster.advertise 中修正")
		case strings.Contains(m.Error, "tls: ") || strings.Contains(m.Error, "x509: "):
			f.Fix = a.T("give all replicas the same cluster.secret and cluster.name", "请使所有副本的 cluster.secret 与 cluster.name 相同")
		case strings.Contains(m.Error, "does not resolve") || strings.Contains(m.Error, "the address that it announces"):
			f.Fix = a.T("set cluster.advertise there to an address that the other machines reach", "请将其 cluster.advertise 设为其他机器可达的地址")
		}
	case m.Back != "":
		f.Detail += "  " + a.T("it does not reach this replica: "+m.Back, "它无法访问本副本："+m.BackZH)
		f.Fix = a.T("let its machine reach the port of cluster.peer here, or set cluster.advertise here to an address that it reaches", "请允许该机器访问本机 cluster.peer 的端口，或将本机的 cluster.advertise 设为它可达的地址")
	case m.Skew != 0:
		apart := fmt.Sprintf(a.T("its clock is %d s behind ours", "其时钟比本机慢 %d 秒"), m.Skew)
		if m.Skew < 0 {
			apart = fmt.Sprintf(a.T("its clock is %d s ahead of ours", "其时钟比本机快 %d 秒"), -m.Skew)
		}
		f.Detail += "  " + apart
		f.Fix = a.T("set the clocks of all machines by NTP", "请用 NTP 校准各机器的时钟")
	case m.State == cluster.Draining:
		f.Detail += "  " + a.T("it drains: its sessions and servers move to the others, and its /ready fails", "它正在移交：其会话和服务器移往其他副本，/ready 返回失败")
		f.Fix = a.T("start it again, unless it is about to stop anyway", "请重新启动它，除非它本来就要停止")
	case m.Rejected != "":
		f.Detail += "  " + a.T(m.Rejected, m.RejectedZH)
		f.Fix = a.T("correct that on its machine and reload it there, or change the configuration", "请在该机器上修正后重新加载，或修改配置")
	case m.Differs:
		f.Detail += "  " + a.T("its configuration differs from this replica's: what a client sees depends on the replica", "其配置与本机不同：客户端看到的内容会不一致")
		f.Fix = a.T("give all replicas the same file, then ", "请使所有副本的配置文件相同，然后执行 ") + a.Again("reload")
	default:
		f.OK = true
	}
	return f
}
