package manage

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
)

func statusCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: a.T("show the gateways of the cluster, and what is wrong", "显示集群中的网关及其问题"), Args: command.NoArgs(a),
		Long: a.T("Asks the gateway that runs on this machine, which asks all others. It shows which\ngateways are reachable, which have a different configuration, and whether the engine is\nreachable. The exit code is 4 if a gateway or the engine is not reachable.",
			"询问本机正在运行的网关，由它询问其他网关：显示哪些可以访问、哪些配置不同，以及引擎是否可用。\n有网关或引擎无法访问时退出码为 4。"),
		Example: "  mcp-all-in-one cluster status --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := clusterStatus(cmd.Context(), a)
			if err != nil {
				return err
			}
			if !env.ShowJSON(a, s) {
				fmt.Fprintln(a.Stdout, engineLine(a, s))
				printMembers(a, s)
				printPlaced(a, s)
				warnDiffering(a, s)
				if n := s.Engine.Unopened; n > 0 {
					fmt.Fprintln(a.Stderr, a.T("warning: ", "警告：")+cluster.OtherSecret(n).In(a.Lang)+a.T("; correct cluster.secret", "；请修正 cluster.secret"))
				}
			}
			if !s.Well() {
				return env.Silent(env.ExitUnreachable)
			}
			return nil
		},
	}
}

func membersCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "members", Short: a.T("list the gateways of the cluster", "列出集群中的网关"), Args: command.NoArgs(a),
		Long: a.T("Lists the gateways of the cluster, as the gateway on this machine sees them.", "列出集群中的网关，以本机正在运行的网关所见为准。"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := clusterStatus(cmd.Context(), a)
			if err != nil {
				return err
			}
			if env.ShowJSON(a, s.Members) {
				return nil
			}
			printMembers(a, s)
			return nil
		},
	}
}

func drainCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "drain NODE", Short: a.T("move the servers and sessions of a gateway to the others", "把一个网关的服务器和会话移到其他网关"), Args: command.ArgCount(a, 1, 1),
		Long: a.T("Lets a gateway of the cluster finish its calls, and moves its sessions to the others, with\nits servers that run as one process in the whole cluster. It returns at once; cluster status\nshows where each server is. Until that gateway is restarted, it takes no servers and /ready\nfails, so that a balancer sends it no new clients; it serves those that come anyway.",
			"让集群中的一个网关完成正在进行的调用，并把它的会话和只运行一份的服务器移交给其他网关。\n命令立即返回；cluster status 显示各服务器所在的网关。在重新启动之前，该网关不再接收服务器，\n/ready 返回失败，负载均衡器不再分配新客户端；直接到来的客户端仍得到服务。"),
		Example: "  mcp-all-in-one cluster drain gateway-2",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := control.RunningHere(cmd.Context(), a)
			if err != nil {
				return err
			}
			if err := r.Post(cmd.Context(), "/cluster/drain/"+url.PathEscape(args[0]), nil, nil); err != nil {
				return err
			}
			fmt.Fprintf(a.Stderr, a.T("%s is draining; it is done when cluster status shows no servers on it\n",
				"%s 正在移交其服务器和会话；当 cluster status 不再显示其上有服务器时即完成\n"), args[0])
			return nil
		},
	}
}

func rebalanceCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "rebalance", Short: a.T("move idle servers to the gateways where they belong", "把空闲的服务器移到应在的网关"), Args: command.NoArgs(a),
		Long: a.T("Moves servers that run as one process in the whole cluster to the gateways where they would be\nif all were placed now, such as after a gateway was added. A server that is in use stays. A server that moves is restarted and loses\nwhat it kept in memory.",
			"把只运行一份的服务器移到按当前成员应在的网关，例如在新增网关之后。\n正在使用的服务器不移动。移动的服务器会重新启动：其内存中的内容会丢失。"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := control.RunningHere(cmd.Context(), a)
			if err != nil {
				return err
			}
			var out cluster.Rebalanced
			if err := r.Post(cmd.Context(), "/cluster/rebalance", nil, &out); err != nil {
				return err
			}
			if env.ShowJSON(a, out) {
				return nil
			}
			for _, m := range out.Moved {
				fmt.Fprintf(a.Stdout, a.T("%s moves from %s to %s\n", "%s 从 %s 移到 %s\n"), m.Server, m.From, m.To)
			}
			for _, m := range out.Busy {
				fmt.Fprintf(a.Stdout, a.T("%s is in use, and stays on %s\n", "%s 正在使用，留在 %s\n"), m.Server, m.From)
			}
			for _, node := range out.Silent {
				fmt.Fprintf(a.Stderr, a.T("warning: %s was not reached, and keeps its servers\n", "警告：无法访问 %s，其服务器保持不动\n"), node)
			}
			if len(out.Moved)+len(out.Busy) == 0 {
				fmt.Fprintln(a.Stdout, a.T("every server is where it belongs", "每个服务器都在应在的位置"))
			}
			return nil
		},
	}
}

func clusterStatus(ctx context.Context, a *env.Env) (*cluster.Status, error) {
	r, err := control.RunningHere(ctx, a)
	if err != nil {
		return nil, err
	}
	s := new(cluster.Status)
	return s, r.Get(ctx, "/cluster", s)
}

// engineLine returns the state of the engine as a line.
func engineLine(a *env.Env, s *cluster.Status) string {
	line := a.T("cluster ", "集群 ") + s.Cluster + a.T(", engine ", "，引擎 ") + s.Engine.Name
	since := s.Engine.Since.Local().Format(time.DateTime)
	switch s.Engine.State {
	case cluster.EngineReached:
		line += fmt.Sprintf(a.T(": reached since %s, %d shared records", "：自 %s 起可用，共享记录 %d 条"), since, s.Engine.Shared)
	case cluster.EngineAway:
		line += fmt.Sprintf(a.T(": unreachable since %s; calls continue, changes among the replicas are not seen", "：自 %s 起无法连接；调用照常进行，但看不到副本的变化"), since)
	}
	if why := a.T(s.Engine.Error, s.Engine.ErrorZH); why != "" {
		line += a.T(": ", "：") + why
	}
	if s.Shares {
		line += a.T("; one configuration for all", "；各副本共用一份配置")
	}
	return line
}

const (
	unreachable = "unreachable"
	rejected    = "rejected"
)

var memberStatesZH = map[string]string{string(cluster.Ready): "就绪", string(cluster.Draining): "正在移交", unreachable: "无法访问"}

// changesSecret reports whether a replica has several secrets, or others than
// the first one.
func changesSecret(s *cluster.Status) bool {
	return slices.ContainsFunc(s.Members, func(m cluster.MemberStatus) bool {
		return len(m.Secrets) > 1 || len(m.Secrets) > 0 && !slices.Equal(m.Secrets, s.Members[0].Secrets)
	})
}

func printMembers(a *env.Env, s *cluster.Status) {
	t := &env.Table{
		Head: []string{a.T("NODE", "节点"), a.T("STATE", "状态"), a.T("ADDRESS", "地址"), a.T("VERSION", "版本"), a.T("CONFIG", "配置"), a.T("LABELS", "标签"), a.T("STARTED", "启动时间"), a.T("REASON", "原因")},
		Paint: func(column int, cell string) env.Colour {
			switch {
			case column == 1 && cell == unreachable || column == 4 && cell == rejected:
				return env.Red
			case column == 1 && cell == string(cluster.Ready):
				return env.Green
			case column == 1 || column == 4 && cell == "differs":
				return env.Yellow
			}
			return ""
		},
		Word: func(column int, cell string) string {
			switch column {
			case 1:
				return a.T(cell, cmp.Or(memberStatesZH[cell], cell))
			case 4:
				return a.T(cell, map[string]string{"same": "相同", "differs": "不同", rejected: "无法使用"}[cell])
			}
			return cell
		},
	}
	secrets := changesSecret(s)
	if secrets {
		t.Head = append(t.Head, a.T("SECRETS", "密钥"))
	}
	for _, m := range s.Members {
		state, started, config := string(m.State), "", ""
		if !m.Reachable {
			state = unreachable
		}
		if !m.Started.IsZero() {
			started = m.Started.Local().Format(time.DateTime)
		}
		switch {
		case m.Rejected != "":
			config = rejected
		case m.Differs:
			config = "differs"
		case m.Config != "":
			config = "same"
		}
		var labels []string
		for _, name := range env.SortedKeys(m.Labels) {
			labels = append(labels, name+"="+m.Labels[name])
		}
		address := m.Address
		if s.Carries(&m) {
			address = a.T("through NATS", "经由 NATS")
		}
		row := []string{m.Node, state, address, m.Version, config, strings.Join(labels, " "), started, a.T(cmp.Or(m.Error, m.Rejected), cmp.Or(m.ErrorZH, m.RejectedZH))}
		if secrets {
			row = append(row, strings.Join(m.Secrets, " "))
		}
		t.Add(row...)
	}
	a.Print(t)
}

// printPlaced prints the replicas of the servers that run once.
func printPlaced(a *env.Env, s *cluster.Status) {
	if len(s.Placed) == 0 {
		return
	}
	t := &env.Table{Head: []string{a.T("SERVER", "服务器"), a.T("NODE", "节点")}}
	for _, p := range s.Placed {
		t.Add(p.Server, cmp.Or(p.Node, "-"))
	}
	fmt.Fprintln(a.Stdout)
	a.Print(t)
}

// warnDiffering names the replicas that have read another configuration.
func warnDiffering(a *env.Env, s *cluster.Status) {
	var names []string
	for _, m := range s.Members {
		if m.Differs {
			names = append(names, m.Node)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(a.Stderr, a.T("warning: the configuration of %s differs from that of %s: clients may see either\n", "警告：%s 的配置与 %s 不同：客户端看到的内容会不一致\n"), strings.Join(names, a.T(", ", "、")), s.Node)
	}
}
