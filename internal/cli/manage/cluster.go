package manage

import (
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/seal"
)

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
