package config

import (
	"cmp"
	"net"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// Cluster joins several gateways: behind a load balancer, each of them can
// serve any client.
type Cluster struct {
	Name       string            `json:"name" def:"default" doc:"Name of the cluster. Replicas with another name do not join it." zh:"集群名称；名称不同的副本互不相认。"`
	Secret     Secret            `json:"secret" doc:"Secret that all replicas share, 32 bytes or more, as ${file:PATH}; cluster secret new creates one. To change it, list several, separated by spaces or line breaks: the first encrypts, all of them decrypt." zh:"集群密钥：所有副本相同，至少 32 字节，写作 ${file:PATH}（可用 cluster secret new 生成）。更换时可写多个，以空格或换行分隔：第一个用于加密，全部可解密。"`
	Node       string            `json:"node" doc:"Name of this replica, unique and stable. Absent: the host name." zh:"本副本的名称，须唯一且稳定；缺省为主机名。"`
	Peer       string            `json:"peer" doc:"Address and port where the other replicas reach this one, such as 0.0.0.0:3096. Never behind the balancer. nats: no port; NATS carries the connections between this replica and the others, for a machine that the others cannot reach." zh:"其他副本访问本副本的地址与端口，如 0.0.0.0:3096；不要放在负载均衡之后。nats 表示不开端口：本副本与其他副本之间的连接由 NATS 承载，用于其他副本无法访问的机器。"`
	Advertise  string            `json:"advertise" doc:"Address and port that this replica announces to the others. Absent: node, with the port of peer." zh:"告知其他副本的地址与端口；缺省为 node 加上 peer 的端口。"`
	Members    []string          `json:"members" doc:"Addresses and ports of all replicas, or one name that resolves to all of them. They take over the sessions of a replica that ended. Absent: the replica that notices it does." zh:"所有副本的地址与端口，或指向全部副本的一个域名；用于接管已结束副本的会话。缺省由发现者接管。"`
	Labels     map[string]string `json:"labels" doc:"Labels of this replica's machine, such as gpu: yes. The other replicas see them." zh:"本副本所在机器的标签，如 gpu: yes；其他副本可见。"`
	Weight     int               `json:"weight" def:"0" min:"0" max:"1000000" doc:"How many of the servers that run once this replica takes, relative to the other replicas. 0: the number of its processors." zh:"本副本承担多少只运行一份的服务器，相对于其他副本而言；0 为其处理器数量。"`
	Engine     string            `json:"engine" def:"none" enum:"none|nats" doc:"Where the replicas find each other, and share keys, approvals, pins and sign-ins: nats is your own NATS with JetStream; with none, members names them, and nothing is shared." zh:"副本间的共享方式：副本借此互相发现，并共享 API 密钥、批准、工具定义记录和登录状态。nats 为你自己的 NATS（启用 JetStream）；none 时由 members 列出各副本，不共享任何内容。"`
	Config     string            `json:"config" def:"file" enum:"file|shared" doc:"Where the configuration comes from. file: each replica has its own file. shared: one configuration in the engine for all; the file of each replica is a copy of it, except for the sections server, cluster and logging." zh:"配置来自何处：file 为各副本自己的文件；shared 为引擎中所有副本共用的一份配置，各副本的文件是它的拷贝，但 server、cluster 与 logging 三节各自保留。"`
	NATS       ClusterNATS       `json:"nats" doc:"The NATS servers of engine nats. No call waits for them." zh:"engine 为 nats 时使用的 NATS；任何调用都不会等待它。"`
	DrainDelay time.Duration     `json:"drainDelay" def:"5s" min:"0s" max:"10m" doc:"How long a replica that is told to stop keeps serving while /ready fails, so that the load balancer notices." zh:"停止前的缓冲时间：副本收到停止信号后，在 /ready 返回失败的同时继续提供服务多久，以便负载均衡器察觉。"`
}

// ClusterNATS says how to connect to the NATS servers that the replicas share.
type ClusterNATS struct {
	URLs  []string `json:"urls" doc:"Addresses of NATS servers, such as tls://nats.example:4222; one that answers is enough." zh:"NATS 服务器地址，如 tls://nats.example:4222；有一个应答即可。"`
	Creds string   `json:"creds" doc:"File with the credentials for it; relative to the folder of the config file." zh:"访问 NATS 的凭据文件；相对于配置文件所在目录。"`
}

// The engines.
const (
	EngineNone = "none"
	EngineNATS = "nats"
)

// PeerNATS is the value of Peer of a replica that the others cannot reach.
const PeerNATS = "nats"

// ConfigShared means that all replicas use the same configuration text.
const ConfigShared = "shared"

// Enabled reports whether the gateway is a replica of a cluster. A file that has
// only the secret is for the flags --peer and --join.
func (c *Cluster) Enabled() bool {
	return c.Peer != "" || c.Secret != "" && (c.Engine != EngineNone || c.Advertise != "" || len(c.Members) > 0)
}

// Agrees reports whether the replicas share state through an engine.
func (c *Cluster) Agrees() bool { return c.Enabled() && c.Engine != EngineNone }

// Shares reports whether the replicas share one configuration through an
// engine.
func (c *Cluster) Shares() bool { return c.Agrees() && c.Config == ConfigShared }

// Carried reports whether NATS carries the connections to this replica.
func (c *Cluster) Carried() bool { return c.Peer == PeerNATS }

// ClusterFlags are values of flags that override the section cluster; empty ones
// override nothing.
type ClusterFlags struct {
	Node, Peer, Engine string
	// Join is the address of the NATS that alone connects this gateway with the
	// others.
	Join string
}

// override applies flags.
func (c *Cluster) override(f *ClusterFlags) {
	c.Node, c.Peer, c.Engine = cmp.Or(f.Node, c.Node), cmp.Or(f.Peer, c.Peer), cmp.Or(f.Engine, c.Engine)
	if f.Join != "" {
		c.Peer, c.Advertise, c.Members = PeerNATS, "", nil
		c.Engine, c.NATS.URLs = EngineNATS, []string{f.Join}
	}
}

// Secrets returns the secrets of the cluster. The first one is used to seal.
func (c *Cluster) Secrets() []string { return strings.Fields(c.Secret.Reveal()) }

// leastClusterSecret is the minimum length of a secret in bytes.
const leastClusterSecret = 32

// checkCluster fills in the node name and the advertised address of this
// machine, and refuses settings that cannot work.
func (r *reader) checkCluster() {
	c := &r.cfg.Cluster
	for _, f := range fieldsOf(reflect.TypeFor[Cluster]()) {
		if f.name == "engine" && r.o.Cluster.Engine != "" && !slices.Contains(f.enum, c.Engine) {
			r.reportTop(problem.SeverityError, "cluster.engine", problem.NotOneOf, "--engine "+c.Engine, i18n.New("one of %s", "允许的取值 %s 之一", strings.Join(f.enum, ", ")))
		}
	}
	if !c.Enabled() && c.Secret == "" {
		return
	}
	short := func(s string) bool { return len(s) < leastClusterSecret }
	if secrets := c.Secrets(); !r.vars.AsWritten && (len(secrets) == 0 || slices.ContainsFunc(secrets, short)) {
		p := r.c.Add(problem.SeverityError, r.at("cluster.secret").Pos, "cluster.secret", problem.Cluster, "secret", i18n.New("is absent or shorter than %d bytes", "缺失或少于 %d 字节", leastClusterSecret))
		p.Hint = "all replicas need the same one; make it with: mcp-all-in-one cluster secret new"
		p.HintZH = "所有副本须使用相同的密钥；用 mcp-all-in-one cluster secret new 生成"
	}
	if !c.Enabled() {
		r.reportTop(problem.SeverityWarning, "cluster.secret", problem.Cluster, "secret", i18n.New("has no effect without peer, except with http --peer or --join", "在没有 peer 时不起作用，除非使用 http --peer 或 --join"))
		return
	}
	if c.Node == "" {
		c.Node, _ = os.Hostname() // an empty name is reported below
	}
	if _, port, err := net.SplitHostPort(c.Peer); c.Advertise == "" && err == nil {
		c.Advertise = net.JoinHostPort(c.Node, port)
	}
	r.checkMembers()
	r.checkEngine()
	if fault := spelling.Fault(c.Node); !fault.Empty() {
		p := reportFlag(r, "--node", r.o.Cluster.Node, "cluster.node", cmp.Or(c.Node, "node"), fault)
		p.Hint, p.HintZH = "write a name without white space and without $ { }, such as gw1", "名称不能含空白字符和 $ { }，例如 gw1"
	}
	if c.Carried() {
		checkCarried(r)
	} else if !isAddress(c.Peer, false) {
		reportFlag(r, "--peer", r.o.Cluster.Peer, "cluster.peer", cmp.Or(c.Peer, "peer"), i18n.New("is not an address with a port, such as 0.0.0.0:3096", "不是带端口的地址，例如 0.0.0.0:3096"))
	} else if !isAddress(c.Advertise, true) {
		r.reportTop(problem.SeverityError, "cluster.advertise", problem.Cluster, c.Advertise, i18n.New("is not an address with a port", "不是带端口的地址"))
	}
}

// reportFlag reports a value of the section cluster, or of the flag that is given in
// its place.
func reportFlag(r *reader, flag, given, path, value string, fault i18n.Text) *problem.Problem {
	if given == "" {
		return r.reportTop(problem.SeverityError, path, problem.Cluster, value, fault)
	}
	p := r.c.Add(problem.SeverityError, problem.Pos{}, "", problem.Cluster, flag+" "+safeURL(value), fault)
	p.File = ""
	return p
}

// checkCarried refuses settings for a port that a replica does not have.
func checkCarried(r *reader) {
	c := &r.cfg.Cluster
	if c.Engine != EngineNATS {
		r.reportTop(problem.SeverityError, "cluster.peer", problem.Cluster, "peer: nats", i18n.New("needs engine: nats", "需要 engine: nats"))
	}
	if c.Advertise != "" {
		r.reportTop(problem.SeverityError, "cluster.advertise", problem.Cluster, "advertise", i18n.New("has no effect with peer: nats, which opens no port", "在 peer: nats 时不起作用：不打开端口"))
	}
	if len(c.Members) > 0 {
		r.reportTop(problem.SeverityError, "cluster.members", problem.Cluster, "members", i18n.New("has no effect with peer: nats: the replicas are found by NATS", "在 peer: nats 时不起作用：副本由 NATS 发现"))
	}
}

// checkMembers refuses addresses that cannot be dialled.
func (r *reader) checkMembers() {
	for _, address := range r.cfg.Cluster.Members {
		if !isAddress(address, true) {
			r.reportTop(problem.SeverityError, "cluster.members", problem.Cluster, address, i18n.New("is not an address with a port", "不是带端口的地址"))
		}
	}
}

// checkEngine refuses addresses of NATS that cannot be dialled, and warns about
// NATS settings that are not used.
func (r *reader) checkEngine() {
	c := &r.cfg.Cluster
	if c.Engine != EngineNATS {
		if c.Config == ConfigShared {
			r.reportTop(problem.SeverityError, "cluster.config", problem.Cluster, "config: shared", i18n.New("needs engine: nats, which stores the shared configuration", "需要 engine: nats 来保存共用的配置"))
		}
		if len(c.NATS.URLs) > 0 || c.NATS.Creds != "" {
			r.reportTop(problem.SeverityWarning, "cluster.nats", problem.Cluster, "nats", i18n.New("is not used without engine: nats", "在 engine 不是 nats 时不起作用"))
		}
		return
	}
	if !isBucket(c.Name) {
		r.reportTop(problem.SeverityError, "cluster.name", problem.Cluster, c.Name, i18n.New("has other characters than letters, digits, - and _, which NATS needs", "含有 NATS 不允许的字符：只能用字母、数字、- 和 _"))
	}
	if len(c.NATS.URLs) == 0 {
		r.reportTop(problem.SeverityError, "cluster.nats.urls", problem.Cluster, "nats.urls", i18n.New("is absent, and engine: nats needs it", "缺失，而 engine: nats 需要它"))
	}
	for _, text := range c.NATS.URLs {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme):
			reportFlag(r, "--join", r.o.Cluster.Join, "cluster.nats.urls", text, i18n.New("is not an address of NATS, such as nats://host:4222", "不是 NATS 地址，例如 nats://host:4222"))
		case u.User != nil:
			reportFlag(r, "--join", r.o.Cluster.Join, "cluster.nats.urls", u.Host, i18n.New("has a password in it: put the credentials into the file of cluster.nats.creds", "含有密码：请把凭据放入 cluster.nats.creds 所指的文件"))
		}
	}
	if c.NATS.Creds == "" || r.vars.AsWritten {
		return
	}
	if _, err := os.Stat(c.NATS.Creds); err != nil {
		r.reportTop(problem.SeverityError, "cluster.nats.creds", problem.Cluster, c.NATS.Creds, i18n.New("cannot be read", "无法读取"))
	}
}

// place sets where a server runs in a cluster. If it cannot run once in the
// cluster, place says why and lets it run on each replica. A command runs once
// by default, as it does in a single gateway; processes of sessions, projects
// and users run on the replica of their client.
func (k *serverChecker) place() {
	s := k.s
	if s.Place == "" && k.engine && s.Type == TypeStdio && !s.ByProject() && len(s.PerUser) == 0 && (s.Share != "session" || len(s.On) > 0 || s.Fence) {
		s.Place = PlaceOne
	}
	remark := func(key string, why i18n.Text) {
		k.report(problem.SeverityWarning, key, problem.Cluster, s.Name+": "+key, why)
	}
	switch {
	case s.Once() && s.Type != TypeStdio:
		remark("place", i18n.New("one applies only to servers with a command; every replica reaches an HTTP server itself", "为 one 只适用于带 command 的服务器；HTTP 服务器每个副本都能访问"))
	case s.Once() && len(s.PerUser) > 0:
		remark("place", i18n.New("one has no effect with perUser: the values of users are on each machine", "为 one 时不能与 perUser 同时使用：用户的值保存在各台机器上"))
	case s.Once() && !k.engine:
		remark("place", i18n.New("one has no effect without cluster.engine: nats", "为 one 在没有 cluster.engine: nats 时不起作用"))
	case s.Once() && s.ByProject():
		remark("place", i18n.New("one has no effect with share: project, whose processes run beside their clients", "为 one 在 share: project 时不起作用：其进程与客户端在同一副本上运行"))
	case s.Once():
		return
	case len(s.On) > 0:
		remark("on", i18n.New("has no effect without place: one", "在没有 place: one 时不起作用"))
	case s.Fence:
		remark("fence", i18n.New("has no effect without place: one", "在没有 place: one 时不起作用"))
	}
	s.Place = PlaceEach
}

// isBucket reports whether s can be part of the name of a NATS bucket.
func isBucket(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	})
}

// isAddress reports whether s is a host and a port other than 0. With found,
// the address is dialled by others and needs a host other than 0.0.0.0 and ::.
func isAddress(s string, found bool) bool {
	host, port, err := net.SplitHostPort(s)
	n, bad := strconv.ParseUint(port, 10, 16)
	ip := net.ParseIP(host)
	return err == nil && bad == nil && n > 0 && !(found && (host == "" || ip.IsUnspecified()))
}
