package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// egress lists every file of the product that makes an HTTP client, a transport
// or a connection, with the test that shows where it may connect. Addresses
// from untrusted sources are fetched only through safehttp; icons, schemas and
// links in content are never fetched.
var egress = map[string]struct{ why, test string }{
	"internal/safehttp/safehttp.go":                   {"addresses that strangers name", "internal/safehttp TestForbiddenURLs"},
	"internal/safehttp/configured.go":                 {"the sampling backend and the collector, as configured", "internal/safehttp TestConfigured"},
	"internal/sandbox/proxy.go":                       {"hosts that the sandbox of a server lists, at public addresses", "internal/sandbox TestProxyLeadsOnlyToItsHosts"},
	"internal/mcphttp/httpclient/client_transport.go": {"configured servers, redirects off", "internal/mcphttp/httpclient TestServerLeadsNowhere"},
	"internal/probe/trace.go":                         {"the url of a configured server, without credentials, redirects off", "internal/probe TestTrace"},
	"internal/access/oauth_keys.go":                   {"the issuer's keys, over a client of safehttp", "internal/access TestIssuerLeadsNowherePrivate"},
	"internal/daemon/certs/certs.go":                  {"the configured ACME authority, over safehttp", "test/interop TestACME"},
	"internal/control/remote.go":                      {"the gateway that runs, over its socket", "internal/cli TestReloadUnderLoad"},
	"internal/peer/conn.go":                           {"replicas of the cluster, which prove that they have its secret", "internal/peer TestOnlyReplicas"},
	"internal/peer/streams.go":                        {"the same replicas, over connections of conn.go", "internal/peer TestOnlyReplicas"},
	"internal/cluster/natsengine/natsengine.go":       {"the configured NATS, with engine: nats alone", "internal/cluster/natsengine TestAway"},
	"internal/daemon/notify.go":                       {"the socket of systemd on this machine", "test/release TestService"},
	"internal/upgrade/upgrade.go":                     {"the release page that was compiled in, when a person asks, over safehttp", "internal/cli TestUpgrade"},
	"internal/install/bundle.go":                      {"bundles, over safehttp", "internal/install TestBundleFromAddress"},
	"internal/install/image.go":                       {"registries of images, over safehttp", "internal/install TestImagePin"},
	"internal/install/registry.go":                    {"registries of servers, over safehttp", "internal/install TestRegistryLeadsNowhere"},
	"internal/oauth/discover.go":                      {"metadata, registration and tokens, over safehttp", "internal/oauth TestFetchesReachNothingPrivate"},
	"internal/access/oauth.go":                        {"metadata of the issuer, over safehttp", "internal/access TestIssuerLeadsNowherePrivate"},
	"internal/sharing/share.go":                       {"documents of clients that want access, over safehttp", "internal/sharing TestDocumentLeadsNowhere"},
	"internal/telemetry/otlp.go":                      {"the collector, over safehttp", "internal/safehttp TestConfigured"},
	"internal/web/inbox/webhook.go":                   {"the receiver of messages, over safehttp", "internal/safehttp TestConfigured"},
	"internal/tester/eval/model.go":                   {"the model of a test file, when a person runs eval, over safehttp", "internal/tester/eval TestKeyStaysHere"},
	"internal/answers/answers.go":                     {"the sampling backend, over safehttp", "internal/safehttp TestConfigured"},
}

var dials = regexp.MustCompile(`http\.(Client|Transport)\{|http\.Default(Client|Transport)|http\.(Get|Head|Post|PostForm)\(|net\.(Dial\w*\(|Dialer\b)|tls\.Dial|safehttp\.New|nats\.Connect\(`)

func TestEveryWayOutIsKnown(t *testing.T) {
	found := make(map[string]bool)
	err := filepath.WalkDir("internal", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/mcptest/") {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && dials.Match(text) {
			found[filepath.ToSlash(path)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range found {
		if _, known := egress[path]; !known {
			t.Errorf("fault/T27: %s connects to somewhere: fetch through safehttp, and add it to the table with a test", path)
		}
	}
	for path, way := range egress {
		if !found[path] {
			t.Errorf("%s connects to nowhere any more", path)
		}
		dir, test, _ := strings.Cut(way.test, " ")
		if !hasTest(t, dir, test) {
			t.Errorf("%s: there is no test %s", path, way.test)
		}
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
