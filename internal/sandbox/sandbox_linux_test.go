//go:build amd64 || arm64

package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/sandbox/launcher"
)

// TestAttacks runs each attack confined, where it must fail, and again without the
// rules that stop it, where it must succeed.
func TestAttacks(t *testing.T) {
	tcp := listenTCP(t, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(tcp)
	sock := filepath.Join(shortDir(t), "s")
	listenUnix(t, sock)
	abstract := "@mcp-all-in-one-test-" + strconv.Itoa(os.Getpid())
	listenUnix(t, abstract)
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	leaked, err := unix.Open(os.DevNull, unix.O_RDONLY, 0) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leaked)
	own, other, secret := folderPair(t)
	readable := filepath.Join(filepath.Dir(own), "readable")
	if err := os.WriteFile(readable, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	must.Folder(t, own, "mounted")
	device := filepath.Join(other, "fifo")
	must.OK(t, unix.Mkfifo(device, 0o600))
	base := Profile{Read: []string{readable}, Write: []string{own}}
	oneAddress := base
	oneAddress.Addresses = []string{"127.0.0.2:" + port}

	for _, tt := range []struct {
		name    string
		profile Profile
		attack  string
		args    []string
		without []string
	}{
		{"read a file", base, "read", []string{secret}, []string{"files"}},
		{"read the passwords", base, "read", []string{"/etc/shadow"}, []string{"files"}},
		{"list a folder", base, "list", []string{other}, []string{"files"}},
		{"create a file", base, "create", []string{filepath.Join(other, "new")}, []string{"files"}},
		{"write a readable file", base, "append", []string{readable}, []string{"files"}},
		{"truncate a file", base, "truncate", []string{secret}, []string{"files", "truncate"}},
		{"empty a readable file", base, "empty", []string{readable}, []string{"files", "truncate"}},
		{"move a file out", base, "rename", []string{filepath.Join(other, "moved")}, []string{"landlock"}},
		{"link a file in", base, "link", []string{secret}, []string{"landlock"}},
		{"read through a link", base, "symlink", []string{secret}, []string{"files"}},
		{"remove a file", base, "remove", []string{filepath.Join(other, "victim")}, []string{"files"}},
		{"environment of the gateway", base, "environ", nil, []string{"landlock", "capabilities"}},
		{"make a device", base, "device", nil, []string{"files", "capabilities"}},
		{"open by handle", base, "handle", []string{secret}, []string{"files", "handle"}},
		{"inherited file", base, "inherited", []string{strconv.Itoa(leaked)}, []string{"close"}},
		{"chmod", base, "chmod", []string{secret}, []string{"chmod"}},
		{"chmod through a link", base, "chmod through a link", []string{secret}, []string{"chmod"}},
		{"fchmodat", base, "fchmodat", []string{secret}, []string{"chmod"}},
		{"fchmodat2", base, "fchmodat2", []string{secret}, []string{"chmod"}},
		{"chmod of a device", Profile{Write: append([]string{device}, base.Write...)}, "chmod", []string{device}, []string{"chmod"}},
		{"fchmod of a readable file", base, "fchmod", []string{readable}, []string{"chmod"}},
		{"names in a folder", base, "watch", []string{other}, []string{"watch"}},
		{"names through a link", base, "watch through a link", []string{other}, []string{"watch"}},
		{"attributes of a readable file", base, "attributes", []string{readable}, []string{"ioctl"}},
		{"file with the rights of its owner", base, "set-id file", nil, []string{"set-id"}},
		{"file with rights, another call", base, "set-id file2", nil, []string{"set-id"}},
		{"file with the rights of its group", base, "set-id node", nil, []string{"set-id"}},
		{"rights of its owner by chmod", base, "set-id chmod", nil, []string{"chmod"}},
		{"chown", base, "chown", []string{secret}, []string{"chown"}},
		{"extended attribute", base, "xattr", []string{readable}, []string{"xattr"}},

		{"tcp", base, "tcp", []string{tcp}, []string{"connect", "ports"}},
		{"allowed port, another address", oneAddress, "tcp", []string{tcp}, []string{"connect", "ports"}},
		{"this machine with any host", Profile{Write: base.Write, Public: true}, "tcp", []string{tcp}, []string{"connect", "ports"}},
		{"udp", base, "udp", []string{udp.LocalAddr().String()}, []string{"socket", "connect"}},
		{"unix socket", base, "unix", []string{sock}, []string{"socket", "connect"}},
		{"abstract unix socket", base, "unix", []string{abstract}, []string{"socket", "connect", "abstract"}},
		{"multipath tcp", base, "mptcp", nil, []string{"socket"}},
		{"raw socket", base, "raw", nil, []string{"socket", "capabilities"}},
		{"packet socket", base, "packet", nil, []string{"socket", "capabilities"}},
		{"netlink of devices", base, "netlink", nil, []string{"socket"}},
		{"datagram pair", base, "dgram", nil, []string{"socketpair"}},
		{"pair of another family", base, "other pair", nil, []string{"socketpair"}},
		{"fast open", base, "fastopen", []string{tcp}, []string{"fastopen", "ports"}},
		{"listen without bind", base, "listen", nil, []string{"listen"}},
		{"bind and listen", base, "bind", nil, []string{"listen", "ports"}},
		{"io_uring", base, "io_uring", nil, []string{"io_uring"}},

		{"signal", base, "signal", nil, []string{"signals"}},
		{"memory of the gateway", base, "memory", nil, []string{"landlock", "ptrace", "capabilities"}},
		{"new namespace", base, "unshare", nil, []string{"unshare", "capabilities"}},
		{"clone into a namespace", base, "clone", nil, []string{"clone", "capabilities"}},
		{"mount", base, "mount", nil, []string{"mount", "landlock", "capabilities"}},
		{"chroot", base, "chroot", nil, []string{"mount", "capabilities"}},
		{"bpf", base, "bpf", nil, []string{"kernel", "capabilities"}},
		{"keys", base, "keys", nil, []string{"keys"}},
		{"shared memory", base, "shared memory", nil, []string{"ipc"}},
		{"orphans of its own", base, "orphans", nil, []string{"reaper"}},
		{"limits of the gateway", base, "limits", nil, []string{"prlimit"}},
	} {
		t.Run("install/attack "+tt.name, func(t *testing.T) {
			for _, name := range []string{"link", "stolen", "disk", "mine", "rights"} {
				_ = os.Remove(filepath.Join(own, name))
			}
			must.Write(t, filepath.Join(other, "victim"), "")
			argv := append([]string{"attack", tt.attack}, tt.args...)
			out, through := run(t, tt.profile, nil, own, argv...)
			if through != slices.Contains(Missing(), tt.without[0]) {
				t.Errorf("it got through: %v; this kernel lacks %v", through, Missing())
			}
			t.Logf("confined: %s", out)
			_, _ = os.Remove(filepath.Join(own, "link")), os.Remove(filepath.Join(own, "rights"))
			if out, through := run(t, tt.profile, tt.without, own, argv...); !through && !absent(tt.attack, out) {
				t.Errorf("without %q it fails, too: %s", tt.without, out)
			}
		})
	}
}

// absent reports whether an attack failed because this kernel does not have its
// system call: fchmodat2 came with Linux 6.6.
func absent(attack, out string) bool {
	return attack == "fchmodat2" && strings.Contains(out, unix.ENOSYS.Error()) && call(unix.SYS_FCHMODAT2) == unix.ENOSYS
}

// TestAllowed checks what a server must be able to do.
func TestAllowed(t *testing.T) {
	tcp := listenTCP(t, "127.0.0.1:0")
	sock := filepath.Join(shortDir(t), "s")
	listenUnix(t, sock)
	own, _, secret := folderPair(t)
	must.Write(t, filepath.Join(own, "mine"), "")
	must.Folder(t, own, "sub")
	base := Profile{Write: []string{own}}
	for _, tt := range []struct {
		name    string
		profile Profile
		attack  string
		args    []string
	}{
		{"read the system", base, "read", []string{"/etc/passwd"}},
		{"write its folder", base, "create", []string{"new"}},
		{"move between its folders", base, "rename", []string{"sub/moved"}},
		{"truncate its file", base, "truncate", []string{"new"}},
		{"chmod its file", base, "chmod", []string{"new"}},
		{"fchmod its file", base, "fchmod", []string{"new"}},
		{"fchmodat its file", base, "fchmodat", []string{"new"}},
		{"watch its folder", base, "watch and see", nil},
		{"watch a system's file", base, "watch", []string{"/etc/hosts"}},
		{"see that a file exists", base, "stat", []string{secret}},
		{"run a program", base, "exec", nil},
		{"end its own child", base, "own child", nil},
		{"list the network's interfaces", base, "route", nil},
		{"make a pair of sockets", base, "pair", nil},
		{"reach an address that is written", Profile{Write: base.Write, Addresses: []string{tcp}}, "tcp", []string{tcp}},
		{"reach it while signals arrive", Profile{Write: base.Write, Addresses: []string{tcp}}, "interrupted", []string{tcp}},
		{"unix socket when written", Profile{Write: base.Write, Unix: true}, "unix", []string{sock}},
		{"listen when written", Profile{Write: base.Write, Listen: true}, "bind", nil},
	} {
		// What the page says of older kernels.
		want := launcher.ABI() >= map[string]int{"move between its folders": 2, "truncate its file": 3}[tt.name]
		t.Run("install/allowed "+tt.name, func(t *testing.T) {
			if out, ok := run(t, tt.profile, nil, own, append([]string{"attack", tt.attack}, tt.args...)...); ok != want {
				t.Errorf("it works: %v, want %v: %s", ok, want, out)
			}
		})
	}
	t.Run("install/allowed nothing new", func(t *testing.T) {
		if _, gained := run(t, base, nil, own, "attack", "privileges"); gained {
			t.Error("an exec may give it privileges")
		}
	})
}

// TestAddressIsReadOnce runs a program that changes the address while it connects.
func TestAddressIsReadOnce(t *testing.T) {
	allowed := listenTCP(t, "127.0.0.1:0")
	reached := make(chan struct{}, 1)
	denied, err := net.Listen("tcp4", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := denied.Accept()
			if err != nil {
				return
			}
			c.Close()
			select {
			case reached <- struct{}{}:
			default:
			}
		}
	}()
	own, _, _ := folderPair(t)
	p := Profile{Write: []string{own}, Addresses: []string{allowed}}
	out, ok := run(t, p, nil, own, "attack", "race", allowed, denied.Addr().String())
	if !ok {
		t.Errorf("install/attack race: %s", out)
	}
	denied.Close()
	<-done
	if len(reached) > 0 {
		t.Error("install/attack race: it reached the other address")
	}
}

func TestLauncherSaysWhy(t *testing.T) {
	own, _, _ := folderPair(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	launcherArgs = launcherArgs[:2:2]
	_, wait, err := Launch(Request{Path: []byte(filepath.Join(own, "nothing")), Argv: [][]byte{[]byte("nothing")}, Profile: Profile{Write: []string{own}}},
		procAttr(own, null))
	if err != nil {
		t.Fatal(err)
	}
	if err := wait(); err == nil || err.Error() != "confining it failed at exec: no such file or directory" {
		t.Errorf("install/launcher: %v", err)
	}
}

func listenTCP(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l)
	return l.Addr().String()
}

func listenUnix(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l)
}

func serve(t *testing.T, l net.Listener) {
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
}

// shortDir returns a folder whose path is short enough for a socket in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
