package config

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/config/digest"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// Sandbox says what a stdio server may do on this machine.
type Sandbox struct {
	// On reports whether the server is confined. Without the key, the approval
	// of the entry decides.
	On bool `json:"-"`
	// Written reports whether the entry has the key.
	Written bool `json:"-"`

	Read   []string `json:"read" doc:"Files and folders it may read besides the system's and its own." zh:"除系统与自身文件外可读取的文件与目录。"`
	Write  []string `json:"write" doc:"Files and folders it may also write." zh:"还可写入的文件与目录。"`
	Hosts  Hosts    `json:"hosts" doc:"Hosts it may reach: \"any\" public one, \"none\", or a list such as api.github.com, *.example.com, 10.0.0.5:5432." zh:"可访问的主机：\"any\"（任意公网主机）、\"none\"，或列表，如 api.github.com、*.example.com、10.0.0.5:5432。"`
	Unix   bool     `json:"unix" doc:"Allow unix sockets, such as those of the desktop and of container engines." zh:"允许 unix 套接字，如桌面会话与容器引擎的套接字。"`
	Listen bool     `json:"listen" doc:"Allow it to accept connections." zh:"允许监听端口。"`
	Home   bool     `json:"home" doc:"Let it read your home directory; otherwise it gets a separate one." zh:"允许读取用户主目录；否则使用它自己的主目录。"`
}

// Hosts are the hosts that a server may reach. The zero value allows any host.
type Hosts struct {
	Listed bool // only Names
	Names  []string
}

// String writes hosts as the file has them.
func (h Hosts) String() string {
	switch {
	case !h.Listed:
		return "any"
	case len(h.Names) == 0:
		return "none"
	}
	return strings.Join(h.Names, ", ")
}

var typeSandbox, typeHosts = reflect.TypeFor[Sandbox](), reflect.TypeFor[Hosts]()

// sandbox reads "on", "off", or an object, which means on.
func (d *decoder) sandbox(n *document.Node, v reflect.Value, path string) {
	out := Sandbox{On: true, Written: true}
	switch {
	case n.Kind == document.KindString && n.Text == "on":
	case n.Kind == document.KindString && n.Text == "off":
		out.On = false
	case n.Kind == document.KindObject:
		d.object(n, reflect.ValueOf(&out).Elem(), path)
	default:
		d.report(n, path, problem.NotOneOf, shown(n), i18n.New(`"on", "off" or an object`, ` "on"、"off" 或对象`))
	}
	// An invalid value must not turn the sandbox off.
	v.Set(reflect.ValueOf(out))
}

// hosts reads "any", "none" or a list.
func (d *decoder) hosts(n *document.Node, v reflect.Value, path string) {
	out := Hosts{Listed: true}
	switch {
	case n.Kind == document.KindString && n.Text == "any":
		out.Listed = false
	case n.Kind == document.KindString && n.Text == "none":
	case n.Kind == document.KindArray:
		d.list(n, reflect.ValueOf(&out.Names).Elem(), field{typ: reflect.TypeFor[[]string]()}, path)
		for i, name := range out.Names {
			if _, _, ok := SplitHost(name); !ok && i < len(n.Items) && !n.Items[i].Unresolved {
				d.report(n.Items[i], path, problem.NotOneOf, shown(n.Items[i]), i18n.New("a host such as api.github.com, *.example.com or 10.0.0.5:5432", "主机（例如 api.github.com、*.example.com、10.0.0.5:5432）"))
			}
		}
	default:
		d.report(n, path, problem.NotOneOf, shown(n), i18n.New(`"any", "none" or a list of hosts`, ` "any"、"none" 或主机列表`))
	}
	v.Set(reflect.ValueOf(out))
}

var hostName = lazy.Regexp(`^(\*\.)?([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$`)

// SplitHost splits a host of a list into its lower-case name or its address,
// and its port. The port is zero if none is written.
func SplitHost(text string) (host string, port uint16, ok bool) {
	host = strings.ToLower(text)
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String(), 0, addr.Zone() == ""
	}
	if ap, err := netip.ParseAddrPort(host); err == nil {
		return ap.Addr().Unmap().String(), ap.Port(), ap.Addr().Zone() == "" && ap.Port() != 0
	}
	if name, number, found := strings.Cut(host, ":"); found {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || n == 0 {
			return "", 0, false
		}
		host, port = name, uint16(n)
	}
	return host, port, hostName().MatchString(host)
}

// sandbox checks the paths of a sandbox.
func (k *serverChecker) sandbox() {
	s := &k.s.Sandbox
	n := k.raw.Get("sandbox")
	if n == nil {
		return
	}
	if k.s.Type != TypeStdio {
		if s.On {
			k.report(problem.SeverityWarning, "sandbox", problem.NoEffect, "sandbox", i18n.New("only a command that is started here can be confined", "只有在本机启动的命令才能隔离"))
		}
		return
	}
	k.absolute("read", s.Read)
	k.absolute("write", s.Write)
}

// absolute expands ~ in the paths of a list and reports relative paths.
func (k *serverChecker) absolute(key string, list []string) {
	for i, path := range list {
		if list[i] = disk.ExpandHome(path, k.home); !filepath.IsAbs(list[i]) && len(k.s.Missing) == 0 {
			k.report(problem.SeverityError, "sandbox", problem.NotOneOf, path, i18n.New("an absolute path", "绝对路径")).Path += "." + key + "[" + strconv.Itoa(i) + "]"
		}
	}
}

func (s *Sandbox) hashEntry(h *digest.Hash) {
	if !s.On {
		return
	}
	h.Add("sandbox", fmt.Sprint(s.Unix), fmt.Sprint(s.Listen), fmt.Sprint(s.Home), fmt.Sprint(s.Hosts.Listed))
	h.Add("read", s.Read...)
	h.Add("write", s.Write...)
	h.Add("hosts", slices.Clone(s.Hosts.Names)...)
}

// ErrConfined is returned for a path to any file but the config file.
var ErrConfined = i18n.Errorf("路径遍历检测：不允许访问系统敏感文件", "路径遍历检测：不允许访问系统敏感文件")

// Confine returns the file that a client means by path. Only the current config
// file is allowed, by any path that leads to it; "" also means the current
// file.
func Confine(current, path string, o LoadOptions) (string, error) {
	o = o.WithDefaults()
	if path == "" {
		return current, nil
	}
	if strings.ContainsRune(path, 0) {
		return "", ErrConfined
	}
	if !disk.SameFile(current, disk.From(filepath.Dir(current), disk.ExpandHome(path, o.Home))) {
		return "", ErrConfined
	}
	return current, nil
}
