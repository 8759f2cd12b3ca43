package config

import (
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// Cluster makes several gateways one: behind a balancer any of them answers
// any client.
type Cluster struct {
	Name   string `json:"name" def:"default" doc:"Name of the cluster; replicas of another name are strangers." zh:"集群名称；名称不同的副本互不相认。"`
	Secret Secret `json:"secret" doc:"What makes replicas one: ${file:PATH} with the same text on each, 32 bytes or more (cluster secret new makes one). Several, with spaces or line breaks between them, while it is changed: the first seals, all open." zh:"使各副本成为一体的密钥：各处内容相同的 ${file:PATH}，至少 32 字节（可用 cluster secret new 生成）。更换期间可写多个，以空格或换行分隔：第一个用于加密，全部可解密。"`
}

// Enabled says that there are other replicas.
func (c *Cluster) Enabled() bool { return c.Secret != "" }

// Secrets are the secrets, the one that seals first.
func (c *Cluster) Secrets() []string { return strings.Fields(c.Secret.Reveal()) }

// leastClusterSecret is how many bytes a secret has at least.
const leastClusterSecret = 32

// checkCluster refuses what cannot work.
func (r *reader) checkCluster() {
	c := &r.cfg.Cluster
	short := func(s string) bool { return len(s) < leastClusterSecret }
	if secrets := c.Secrets(); c.Enabled() && !r.vars.asWritten && (len(secrets) == 0 || slices.ContainsFunc(secrets, short)) {
		r.c.Add(problem.SeverityError, r.at("cluster.secret").Pos, "cluster.secret", problem.Cluster, "secret", i18n.New("is shorter than %d bytes", "少于 %d 字节", leastClusterSecret))
	}
}
