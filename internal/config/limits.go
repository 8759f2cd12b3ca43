package config

import (
	"reflect"
	"sync"
	"time"
)

// Limits holds every limit of the gateway. Each can be set in the file; each
// has its own error and metric where it is enforced.
type Limits struct {
	ClientMessage int64 `json:"clientMessage" unit:"size" def:"10MiB" min:"1024" doc:"Largest body or stdio line from a client." zh:"客户端消息的最大字节数。"`
	ServerMessage int64 `json:"serverMessage" unit:"size" def:"16MiB" min:"1024" doc:"Largest line or event from a server." zh:"服务端消息的最大字节数。"`
	Depth         int   `json:"depth" def:"1000" min:"10" max:"10000" doc:"Deepest nesting of a message." zh:"消息的最大嵌套深度。"`
	IDBytes       int   `json:"idBytes" def:"1024" min:"16" max:"65536" doc:"Longest request id." zh:"请求 id 的最大长度。"`
	Batch         int   `json:"batch" def:"50" min:"1" max:"10000" doc:"Messages in one batch." zh:"一个批次的消息数。"`
	HeaderBytes   int64 `json:"headerBytes" unit:"size" def:"64KiB" min:"4096" doc:"Size of a request's headers." zh:"请求头的总大小。"`

	InFlightPerServer  int   `json:"inFlightPerServer" def:"1024" min:"1" max:"1000000" doc:"Calls running on one server." zh:"单个服务器同时运行的调用数。"`
	QueuedPerServer    int   `json:"queuedPerServer" def:"1024" min:"0" max:"1000000" doc:"Calls waiting for one server." zh:"单个服务器排队的调用数。"`
	InFlightPerKey     int   `json:"inFlightPerKey" def:"0" min:"0" max:"1000000" doc:"Calls of one key running on one server; further ones wait. 0 takes a quarter of inFlightPerServer." zh:"单个密钥在单个服务器上同时运行的调用数，超出则排队；0 为 inFlightPerServer 的四分之一。"`
	QueuedPerKey       int   `json:"queuedPerKey" def:"0" min:"0" max:"1000000" doc:"Calls of one key waiting for one server. 0 takes a quarter of queuedPerServer." zh:"单个密钥在单个服务器上排队的调用数；0 为 queuedPerServer 的四分之一。"`
	InFlightPerSession int   `json:"inFlightPerSession" def:"64" min:"1" max:"1000000" doc:"Calls of one session at once; above it the gateway stops reading from that client." zh:"单个会话同时运行的调用数；超过后暂停读取。"`
	CallsPerMinute     int   `json:"callsPerMinute" def:"0" min:"0" max:"1000000" doc:"Calls of one key, or of one user, in a minute, of all servers together; a server, a tool and a key (scope calls:N) can have rates of their own. 0 is no limit." zh:"每分钟的调用数：单个密钥或用户对全部服务器；服务器、工具与密钥（范围 calls:N）可另设。0 为不限制。"`
	SameCall           int   `json:"sameCall" def:"0" min:"0" max:"1000000" doc:"How often the same tool may be called with the same arguments and give the same answer, with nothing else called in between, before a further such call is refused for a minute. 0 refuses none." zh:"重复调用的上限：以相同参数连续调用同一工具且每次结果相同的次数上限，中间没有其他调用；超过后一分钟内拒绝同样的调用。0 为不拒绝。"`
	OutboundMessages   int   `json:"outboundMessages" def:"1024" min:"1" max:"1000000" doc:"Messages waiting toward a client before it is cut off." zh:"等待发往客户端的消息数上限，超过则断开连接。"`
	OutboundBytes      int64 `json:"outboundBytes" unit:"size" def:"8MiB" min:"1024" doc:"Bytes waiting toward a client before it is cut off." zh:"等待发往客户端的字节数上限，超过则断开连接。"`
	Sessions           int   `json:"sessions" def:"10000" min:"1" max:"10000000" doc:"Sessions at once." zh:"同时存在的会话数。"`
	SessionsPerKey     int   `json:"sessionsPerKey" def:"0" min:"0" max:"10000000" doc:"Sessions of one key at once, at all replicas together. 0 takes a quarter of sessions, at each replica." zh:"单个密钥的会话数，全部副本合计；0 为 sessions 的四分之一，各副本分别计算。"`
	UnfinishedPerKey   int64 `json:"unfinishedPerKey" unit:"size" def:"0" min:"0" doc:"Memory for the unfinished requests of one key: bodies that have not arrived whole, and large requests until they are answered or their tasks end, also while a call waits for an answer of the client; large answers until the client has read them, half as long as it reads; and what its sessions keep: roots, subscriptions and how the client describes itself. 0 takes 16 times clientMessage." zh:"单个密钥未完成请求的内存上限：未收完的请求体，以及尚未得到响应、任务尚未结束或正在等待客户端应答的大请求；客户端尚未读完的大响应，读取期间按一半计；以及会话保存的 roots、订阅和客户端信息；0 为 clientMessage 的 16 倍。"`

	CallIdle    time.Duration `json:"callIdle" def:"5m" min:"1ms" max:"24h" doc:"How long a call may go without a sign of progress. Progress restarts the time, an open question pauses it." zh:"调用的最长静默时间；收到进度后重新计时，等待回答时暂停。"`
	CallTotal   time.Duration `json:"callTotal" def:"60m" min:"1ms" max:"168h" doc:"How long a call may take at most." zh:"调用的最长总时间。"`
	Handshake   time.Duration `json:"handshake" def:"30s" min:"1ms" max:"1h" doc:"How long a server may take for the handshake." zh:"握手的最长时间。"`
	Drain       time.Duration `json:"drain" def:"30s" min:"0s" max:"1h" doc:"How long running calls may take to finish at shutdown or when a server is replaced." zh:"关闭网关或替换服务器时，等待正在运行的调用完成的最长时间。"`
	ReadHeader  time.Duration `json:"readHeader" def:"10s" min:"1ms" max:"1h" doc:"How long a request's headers may take." zh:"读取请求头的最长时间。"`
	BodyIdle    time.Duration `json:"bodyIdle" def:"30s" min:"1ms" max:"1h" doc:"How long a request body may stall: the time within which each 32 KiB of it must arrive." zh:"读取请求体的最长停顿。"`
	WriteIdle   time.Duration `json:"writeIdle" def:"30s" min:"1ms" max:"1h" doc:"How long a write may stall." zh:"写出的最长停顿。"`
	KeepAlive   time.Duration `json:"keepAlive" def:"25s" min:"1s" max:"1h" doc:"Pause between keep-alives on a stream." zh:"流的保活间隔。"`
	SessionIdle time.Duration `json:"sessionIdle" def:"1h" min:"1s" max:"720h" doc:"How long a session without a stream is kept." zh:"无流会话的保留时间。"`

	Memory int64 `json:"memory" unit:"size" def:"0" min:"0" doc:"Memory that counts as full; 0 takes GOMEMLIMIT, else the cgroup's limit, else half of the RAM." zh:"视为已满的内存；0 依次采用 GOMEMLIMIT、cgroup 的限制、物理内存的一半。"`
}

var defaultLimits = sync.OnceValue(func() Limits {
	var l Limits
	setDefaults(reflect.ValueOf(&l).Elem())
	return l
})

// Share returns the part of whole that one key may use: set if it is positive,
// else a quarter.
func Share(set, whole int) int {
	if set > 0 {
		return set
	}
	return (whole + 3) / 4
}

// Unfinished returns the bytes that the unfinished requests of one key may have.
func (l *Limits) Unfinished() int64 {
	if l.UnfinishedPerKey > 0 {
		return l.UnfinishedPerKey
	}
	return 16 * l.ClientMessage
}

// DefaultLimits returns the limits of an empty config file.
func DefaultLimits() Limits { return defaultLimits() }
