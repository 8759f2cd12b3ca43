package mcptest

import (
	"net"
	"os/exec"
	"path/filepath"
	"time"
)

// A NATS is a running nats-server with JetStream, for tests.
type NATS struct {
	*Process
	URL  string
	t    TB
	port string
	dir  string
}

// natsModule is where the version of nats-server is pinned. It is a module of
// its own, so that the product cannot link it.
const natsModule = "test/cluster/natsserver"

// StartNATS runs nats-server.
func StartNATS(t TB) *NATS {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("finding a port: %v", err)
	}
	ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	n := &NATS{t: t, URL: "nats://127.0.0.1:" + port, port: port, dir: t.TempDir()}
	n.Restart()
	return n
}

// Restart runs nats-server again, at the same address.
func (n *NATS) Restart() {
	n.t.Helper()
	n.Process = Start(n.t, Program{Path: buildNATS(n.t), Args: []string{"-a", "127.0.0.1", "-p", n.port, "-js", "-sd", n.dir}})
	n.Says("Server is ready")
}

// Down ends nats-server at once.
func (n *NATS) Down() {
	n.t.Helper()
	if err := Kill(n.PID()); err != nil {
		n.t.Fatalf("ending nats-server: %v", err)
	}
	n.Wait(10 * time.Second)
}

// buildNATS builds nats-server in a folder that all test processes of this
// working tree share.
func buildNATS(t TB) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatalf("building nats-server: %v", err)
	}
	return buildOnce(t, "nats-server", func(out string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-o", out, "github.com/nats-io/nats-server/v2")
		cmd.Dir = filepath.Join(root, filepath.FromSlash(natsModule))
		return cmd
	})
}
