package config

import (
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// Cluster makes several gateways one: behind a balancer any of them answers
// any client.
type Cluster struct {
	Name       string        `json:"name" def:"default" doc:"Name of the cluster; replicas of another name are strangers." zh:"集群名称；名称不同的副本互不相认。"`
	Secret     Secret        `json:"secret" doc:"What makes replicas one: ${file:PATH} with the same text on each, 32 bytes or more (cluster secret new makes one). Several, with spaces or line breaks between them, while it is changed: the first seals, all open." zh:"使各副本成为一体的密钥：各处内容相同的 ${file:PATH}，至少 32 字节（可用 cluster secret new 生成）。更换期间可写多个，以空格或换行分隔：第一个用于加密，全部可解密。"`
	Node       string        `json:"node" doc:"Name of this replica, unique and stable. Absent: the host name." zh:"本副本的名称，须唯一且稳定；缺省为主机名。"`
	Peer       string        `json:"peer" doc:"Address and port where the other replicas reach this one, such as 0.0.0.0:3096. Never behind the balancer." zh:"其他副本访问本副本的地址与端口，如 0.0.0.0:3096；不要放在负载均衡之后。"`
	Advertise  string        `json:"advertise" doc:"The address and port that the others are told. Absent: node, with the port of peer." zh:"告知其他副本的地址与端口；缺省为 node 加上 peer 的端口。"`
	Members    []string      `json:"members" doc:"Addresses and ports of all replicas, or one name that leads to all of them. They take over the sessions of one that ended. Absent: the replica that notices does." zh:"所有副本的地址与端口，或指向全部副本的一个域名；用于接管已结束副本的会话。缺省由发现者接管。"`
	DrainDelay time.Duration `json:"drainDelay" def:"5s" min:"0s" max:"10m" doc:"How long a replica that was told to stop goes on as usual while /ready says no, so that the balancer notices." zh:"副本收到停止信号后，在 /ready 返回否的同时照常服务多久，以便负载均衡器察觉。"`
}

// Enabled says that there are other replicas.
func (c *Cluster) Enabled() bool { return c.Secret != "" || c.Peer != "" }

// Secrets are the secrets, the one that seals first.
func (c *Cluster) Secrets() []string { return strings.Fields(c.Secret.Reveal()) }

// leastClusterSecret is how many bytes a secret has at least.
const leastClusterSecret = 32

// checkCluster fills in what this machine is called, and refuses what cannot
// work.
func (r *reader) checkCluster() {
	c := &r.cfg.Cluster
	if !c.Enabled() {
		return
	}
	short := func(s string) bool { return len(s) < leastClusterSecret }
	if secrets := c.Secrets(); !r.vars.asWritten && (len(secrets) == 0 || slices.ContainsFunc(secrets, short)) {
		r.c.Add(problem.SeverityError, r.at("cluster.secret").Pos, "cluster.secret", problem.Cluster, "secret", i18n.New("is absent or shorter than %d bytes", "缺失或少于 %d 字节", leastClusterSecret))
	}
	if c.Node == "" {
		c.Node, _ = os.Hostname() // without one the name is said to be wrong
	}
	if _, port, err := net.SplitHostPort(c.Peer); c.Advertise == "" && err == nil {
		c.Advertise = net.JoinHostPort(c.Node, port)
	}
	r.checkMembers()
	if !spelling.Fault(c.Node).Empty() {
		r.reportTop(problem.SeverityError, "cluster.node", problem.Cluster, c.Node, i18n.New("is not a name", "不是名称"))
	}
	if !isAddress(c.Peer, false) {
		r.reportTop(problem.SeverityError, "cluster.peer", problem.Cluster, c.Peer, i18n.New("is not an address with a port", "不是带端口的地址"))
	} else if !isAddress(c.Advertise, true) {
		r.reportTop(problem.SeverityError, "cluster.advertise", problem.Cluster, c.Advertise, i18n.New("is not an address with a port", "不是带端口的地址"))
	}
}

// checkMembers refuses addresses of replicas that cannot be dialled.
func (r *reader) checkMembers() {
	for _, address := range r.cfg.Cluster.Members {
		if !isAddress(address, true) {
			r.reportTop(problem.SeverityError, "cluster.members", problem.Cluster, address, i18n.New("is not an address with a port", "不是带端口的地址"))
		}
	}
}

// isAddress says whether a text is a host and a port other than 0. An address
// that others dial (found) needs a host other than 0.0.0.0 and ::.
func isAddress(s string, found bool) bool {
	host, port, err := net.SplitHostPort(s)
	n, bad := strconv.ParseUint(port, 10, 16)
	ip := net.ParseIP(host)
	return err == nil && bad == nil && n > 0 && !(found && (host == "" || ip.IsUnspecified()))
}
