package mcptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A NATS is a running nats-server with JetStream, for tests.
type NATS struct {
	*Process
	URL       string
	Websocket string // address of its websocket; empty in a cluster
	t         testing.TB
	port      string
	dir       string
	more      []string // additional arguments
}

// natsModule is the module that pins the version of nats-server. It is
// separate, so that the product cannot link it.
const natsModule = "test/cluster/natsserver"

// StartNATS runs nats-server.
func StartNATS(t testing.TB) *NATS {
	t.Helper()
	return StartNATSWith(t, "")
}

// StartNATSWith runs nats-server with more settings in its configuration.
func StartNATSWith(t testing.TB, settings string) *NATS {
	t.Helper()
	return startNATS(t, "ws://", "no_tls: true", settings)
}

// StartSecureNATS runs nats-server with TLS on its websocket. It returns the file
// of the certificate.
func StartSecureNATS(t testing.TB) (n *NATS, certificate string) {
	t.Helper()
	dir := t.TempDir()
	NewCertificate(t, "127.0.0.1").Write(t, dir)
	certificate = filepath.Join(dir, "cert.pem")
	return startNATS(t, "wss://", fmt.Sprintf("tls { cert_file: %q, key_file: %q }", certificate, filepath.Join(dir, "key.pem")), ""), certificate
}

// startNATS runs nats-server with a websocket, for which there is no flag.
func startNATS(t testing.TB, scheme, websocket, settings string) *NATS {
	t.Helper()
	n := newNATS(t, FreePort(t))
	web := FreePort(t)
	n.Websocket = scheme + "127.0.0.1:" + web
	file := filepath.Join(n.dir, "nats.conf")
	if err := os.WriteFile(file, []byte("websocket { host: 127.0.0.1, port: "+web+", "+websocket+" }\n"+settings), 0o600); err != nil {
		t.Fatalf("writing the configuration of nats-server: %v", err)
	}
	n.more = []string{"-c", file}
	n.Restart()
	return n
}

// StartNATSCluster runs several nats-servers as one cluster.
func StartNATSCluster(t testing.TB, size int) (all []*NATS) {
	t.Helper()
	var routes []string
	for range size {
		all = append(all, newNATS(t, FreePort(t)))
		routes = append(routes, "nats://127.0.0.1:"+FreePort(t))
	}
	for i, n := range all {
		n.more = []string{"-n", fmt.Sprint("n", i), "-cluster_name", "test", "-cluster", routes[i], "-routes", strings.Join(routes, ",")}
		n.start()
	}
	for _, n := range all {
		n.Says("Server is ready")
	}
	return all
}

func newNATS(t testing.TB, port string) *NATS {
	return &NATS{t: t, URL: "nats://127.0.0.1:" + port, port: port, dir: t.TempDir()}
}

// Restart starts nats-server again, at the same address.
func (n *NATS) Restart() {
	n.t.Helper()
	n.start()
	n.Says("Server is ready")
}

func (n *NATS) start() {
	args := append([]string{"-a", "127.0.0.1", "-p", n.port, "-js", "-sd", n.dir}, n.more...)
	n.Process = Start(n.t, Program{Path: buildNATS(n.t), Args: args})
}

// Down kills nats-server.
func (n *NATS) Down() {
	n.t.Helper()
	if err := Kill(n.PID()); err != nil {
		n.t.Fatalf("ending nats-server: %v", err)
	}
	n.Wait(10 * time.Second)
}

// buildNATS builds nats-server in a folder that all test processes of this
// working tree share.
func buildNATS(t testing.TB) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatalf("building nats-server: %v", err)
	}
	return buildOnce(t, "nats-server", func(out string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, "github.com/nats-io/nats-server/v2")
		cmd.Dir = filepath.Join(root, filepath.FromSlash(natsModule))
		return cmd
	})
}
