package manage

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cluster/natsengine"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/seal"
)

func importCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: a.T("make a file the configuration of all gateways", "把一个文件作为所有网关的配置"), Args: command.ArgCount(a, 1, 1),
		Long: a.T("Makes a file, with its comments, the configuration of all gateways of the cluster, where\ncluster.config is shared. Its sections server, cluster and logging are left out: each gateway\nkeeps its own. The text is checked first. Variables stay as they are written.",
			"在 cluster.config 为 shared 时，把一个文件连同注释作为集群中所有网关的配置。\n其中的 server、cluster 与 logging 三节不采用：各网关保留自己的。文本会先经过检查；变量按原样保留。"),
		Example: "  mcp-all-in-one cluster import team.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			if _, err := sharedConfig(a); err != nil {
				return err
			}
			return editFile(cmd.Context(), a, false, func(d *edit.Draft) error { return d.ReplaceText(text) })
		},
	}
}

func exportCommand(a *env.Env) *cobra.Command {
	permissions := false
	cmd := &cobra.Command{
		Use: "export", Short: a.T("print the configuration that the gateways share", "输出各网关共享的配置"), Args: command.NoArgs(a),
		Long: a.T("Prints the configuration that the gateways of the cluster share, with its comments, as it is\nnow: without the sections that each gateway has for itself, and with variables as they are written.",
			"输出集群中各网关当前共享的配置，连同注释：不含各网关自己的几节；变量按原样输出。"),
		Example: "  mcp-all-in-one cluster export > team.json\n  mcp-all-in-one cluster export --nats-permissions > permissions.conf",
		RunE: func(*cobra.Command, []string) error {
			if permissions {
				return printPermissions(a)
			}
			doc, err := sharedConfig(a)
			if err != nil {
				return err
			}
			var text []byte
			if err := doc.Change(func(now []byte) ([]byte, error) {
				text = now
				return nil, env.ErrLookOnly
			}); text == nil {
				return err
			}
			_, err = a.Stdout.Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&permissions, "nats-permissions", false, a.T("print instead what the gateways need of NATS, for the configuration of nats-server", "改为输出网关在 NATS 中所需的权限，用于 nats-server 的配置"))
	return cmd
}

// printPermissions prints what the replicas may do in NATS.
func printPermissions(a *env.Env) error {
	cfg, err := a.Load(false)
	if err != nil {
		return err
	}
	if !cfg.Cluster.Agrees() {
		return env.Fail(env.ExitUsage, env.CodeUsage, a.T("set cluster.engine to nats", "请将 cluster.engine 设为 nats"), "%s",
			a.T(cfg.Path+": the gateway does not use NATS", cfg.Path+"：网关未使用 NATS"))
	}
	_, err = fmt.Fprint(a.Stdout, natsengine.Permissions(cfg.Cluster.Name))
	return err
}

// sharedConfig returns the configuration that all replicas share; an error if
// they share none.
func sharedConfig(a *env.Env) (record.Document, error) {
	cfg, err := a.Load(false)
	if err != nil {
		return nil, err
	}
	if !cfg.Cluster.Shares() || cfg.Project {
		return nil, env.Fail(env.ExitUsage, env.CodeUsage, a.T("set cluster.config to shared in the file of each gateway", "请在各网关的文件中把 cluster.config 设为 shared"), "%s",
			a.T(cfg.Path+": the gateways share no configuration: each reads its own file", cfg.Path+"：各网关没有共享配置，各自读取自己的文件"))
	}
	docs, err := a.Share()
	if err != nil {
		return nil, err
	}
	return docs.Document(record.Config, edit.CopyOf(cfg.Path, a.LoadOptions(false))), nil
}

// rejectionWait is how long the other replicas may take to check a new text.
const rejectionWait = 2 * time.Second

// warnRejected names the replicas that cannot use the text that was just
// written.
func warnRejected(ctx context.Context, a *env.Env) {
	ctx, cancel := context.WithTimeout(ctx, rejectionWait)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := clusterStatus(ctx, a)
		if err != nil {
			return // the gateway has the text; "cluster status" shows the state of the others
		}
		waiting := false
		for _, m := range s.Members {
			waiting = waiting || m.Reachable && m.Rejected == "" && m.Differs
		}
		select {
		case <-tick.C:
			if waiting {
				continue
			}
		case <-ctx.Done():
		}
		for _, m := range s.Members {
			if m.Rejected != "" {
				fmt.Fprintf(a.Stderr, a.T("warning: %s cannot use it: %s\n", "警告：%s 无法使用：%s\n"), m.Node, a.T(m.Rejected, m.RejectedZH))
			}
		}
		return
	}
}

// ClusterCommand returns the command cluster, which manages a cluster of
// gateways.
func ClusterCommand(a *env.Env) *cobra.Command {
	help := func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd := &cobra.Command{Use: "cluster", Short: a.T("manage a cluster of gateways", "管理网关集群"), Args: command.NoArgs(a), RunE: help,
		Long: a.T("Manages gateways that run behind one load balancer and are joined by the section cluster of their config files; see docs/cluster.md.",
			"管理位于同一负载均衡之后、通过配置文件的 cluster 一节组成集群的多个网关；见 docs/cluster.md。")}
	secret := &cobra.Command{Use: "secret", Short: a.T("manage the secret that the gateways share", "管理各网关共用的密钥"), Args: command.NoArgs(a), RunE: help}
	secret.AddCommand(&cobra.Command{Use: "new", Short: a.T("print a new secret", "生成新密钥"), Args: command.NoArgs(a),
		Long: a.T("Prints a secret for cluster.secret. Put it into a file that only the gateway can read, the same on each machine, and refer to it as ${file:PATH}.",
			"生成用于 cluster.secret 的密钥。请放入仅网关可读的文件，各机器内容相同，并以 ${file:PATH} 引用。"),
		Example: "  mcp-all-in-one cluster secret new > /etc/mcp-all-in-one/secret",
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.Stdout, seal.NewSecret())
			return err
		}})
	cmd.AddCommand(secret, statusCommand(a), membersCommand(a), drainCommand(a), rebalanceCommand(a), importCommand(a), exportCommand(a))
	return cmd
}
