// Package release installs each artefact of a release in a clean place, makes a
// first call with it, and removes it again. It needs the release in DIST, and
// root for the Linux packages.
package release

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
)

const name = "mcp-all-in-one"

var version = mcp.ProductVersion

// artefact returns the path of a part of the release.
func artefact(t *testing.T, path string) string {
	t.Helper()
	dist := os.Getenv("DIST")
	if dist == "" {
		t.Fatal("DIST names no release: make release release-test")
	}
	path = filepath.Join(dist, path)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// tool returns a program of packaging/tools.sh.
func tool(t *testing.T, program string) string {
	t.Helper()
	return filepath.Join(strings.TrimSpace(must(t, nil, "../../packaging/tools.sh")), "bin", program)
}

// run runs a program and returns its output and exit code.
func run(t *testing.T, env []string, program string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", program, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must is run for commands that must succeed.
func must(t *testing.T, env []string, program string, args ...string) string {
	t.Helper()
	out, code := run(t, env, program, args...)
	if code != 0 {
		t.Fatalf("%s %s: %d\n%s", program, strings.Join(args, " "), code, out)
	}
	return out
}

// firstCall makes a first call with a command that runs the program; self is
// the path of the program there.
func firstCall(t *testing.T, env []string, self string, command ...string) {
	t.Helper()
	args := slices.Concat(command[1:], []string{"--version"})
	if out := must(t, env, command[0], args...); !strings.Contains("\n"+out, "\n"+version+"\n") {
		t.Errorf("--version says %q", out)
	}
	args = slices.Concat(command[1:], []string{"call", "add", "a=19", "b=23", "--", self, "demo"})
	if out := must(t, env, command[0], args...); !strings.Contains(out, `{"sum":42}`) {
		t.Errorf("the first call says %q", out)
	}
}

func TestArchive(t *testing.T) {
	t.Run("get/archive", func(t *testing.T) {
		dir := t.TempDir()
		must(t, nil, "tar", "-xzf", artefact(t, name+"-"+version+"-linux-amd64.tar.gz"), "-C", dir)
		dir = filepath.Join(dir, name+"-"+version)
		firstCall(t, nil, filepath.Join(dir, name), filepath.Join(dir, name))
		for _, file := range []string{"README.md", "LICENSE", "THIRD_PARTY_NOTICES", "man/" + name + ".1", "man/" + name + "-call.1",
			"completions/" + name + ".bash", "completions/_" + name, "completions/" + name + ".fish", "completions/" + name + ".ps1"} {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Error(err)
			}
		}
		must(t, nil, "bash", "-n", filepath.Join(dir, "completions", name+".bash"))
		file, err := os.ReadFile(filepath.Join(dir, "THIRD_PARTY_NOTICES"))
		if err != nil {
			t.Fatal(err)
		}
		for _, notices := range []string{string(file), must(t, nil, filepath.Join(dir, name), "version", "--notices")} {
			if !strings.Contains(notices, "Inter and JetBrains Mono") {
				t.Errorf("the notices, %d bytes, do not name the fonts", len(notices))
			}
		}
	})
	t.Run("get/checksums", func(t *testing.T) {
		// A release page has no folders.
		dist, dir := filepath.Dir(artefact(t, "SHA256SUMS")), t.TempDir()
		must(t, nil, "find", dist, "-type", "f", "-not", "-path", "*/deploy/chart/*", "-exec", "ln", "-s", "-t", dir, "{}", "+")
		cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", "--quiet", "SHA256SUMS")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

func TestWheel(t *testing.T) {
	t.Run("get/uvx", func(t *testing.T) {
		wheels, _ := filepath.Glob(artefact(t, "pypi") + "/*manylinux*x86_64*.whl")
		if len(wheels) != 1 {
			t.Fatalf("wheels: %v", wheels)
		}
		env := []string{"UV_CACHE_DIR=" + t.TempDir(), "UV_TOOL_DIR=" + t.TempDir(), "UV_OFFLINE=1"}
		firstCall(t, env, name, tool(t, "uvx"), "--from", wheels[0], name)
		// pip checks the content of a wheel more strictly, and can remove it
		// again.
		dir := t.TempDir()
		must(t, nil, "python3", "-m", "venv", dir)
		pip := filepath.Join(dir, "bin", "pip")
		must(t, nil, pip, "install", "--quiet", "--no-index", wheels[0])
		firstCall(t, nil, filepath.Join(dir, "bin", name), filepath.Join(dir, "bin", name))
		must(t, nil, pip, "uninstall", "--quiet", "--yes", name)
		if _, err := os.Stat(filepath.Join(dir, "bin", name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after its removal: %v", err)
		}
	})
}

// TestDescriptions checks the descriptions for package managers with their own
// tools, if those are available.
func TestDescriptions(t *testing.T) {
	for what, command := range map[string][]string{
		"homebrew formula": {"ruby", "-c", artefact(t, "manifests/homebrew/"+name+".rb")},
		"AUR":              {"bash", "-n", artefact(t, "manifests/aur/PKGBUILD")},
		"helm lint":        {tool(t, "helm"), "lint", "--strict", "--set", "key=0123456789abcdef0123456789abcdef", artefact(t, "deploy/"+name+"-chart-"+version+".tgz")},
		"mcpb":             {"npx", "--yes", "@anthropic-ai/mcpb@2.1.2", "info", artefact(t, "mcpb/"+name+"-"+version+"-linux-amd64.mcpb")},
	} {
		t.Run("get/"+what, func(t *testing.T) { must(t, nil, command[0], command[1:]...) })
	}
	t.Run("get/mcpb manifest", func(t *testing.T) {
		dir := t.TempDir()
		must(t, nil, "unzip", "-q", artefact(t, "mcpb/"+name+"-"+version+"-linux-amd64.mcpb"), "-d", dir)
		must(t, nil, "npx", "--yes", "@anthropic-ai/mcpb@2.1.2", "validate", filepath.Join(dir, "manifest.json"))
		firstCall(t, nil, filepath.Join(dir, "server", name), filepath.Join(dir, "server", name))
	})
	t.Run("get/helm template", func(t *testing.T) {
		chart := artefact(t, "deploy/"+name+"-chart-"+version+".tgz")
		out := must(t, nil, tool(t, "helm"), "template", "gate", chart, "--set", "existingSecret=mine", "--set", "persistence.enabled=true", "--set", "ingress.enabled=true", "--set", "ingress.host=mcp.example.com")
		for _, part := range []string{"kind: PersistentVolumeClaim", "kind: Ingress", `args: ["http","--host","0.0.0.0","--port","3095"]`, "secretName: mine"} {
			if !strings.Contains(out, part) {
				t.Errorf("no %q in\n%s", part, out)
			}
		}
		for flag, parts := range map[string][]string{"tlsSecret=": {`"insecure": true`, "scheme: HTTP }"}, "tlsSecret=cert": {`"cert": "/run/secrets/tls/tls.crt"`, "scheme: HTTPS }", "secretName: cert"}} {
			out := must(t, nil, tool(t, "helm"), "template", "gate", chart, "--set", "existingSecret=mine", "--set", flag)
			for _, part := range parts {
				if !strings.Contains(out, part) {
					t.Errorf("%s: no %s in\n%s", flag, part, out)
				}
			}
		}
		out = must(t, nil, tool(t, "helm"), "template", "gate", chart, "--set", "existingSecret=mine", "--set", "replicas=3", "--set", "persistence.enabled=true",
			"--set", "config.cluster.engine=nats", "--set", "config.cluster.nats.urls={nats://nats:4222}")
		for _, part := range []string{"kind: StatefulSet", "serviceName: gate-peers", "kind: PodDisruptionBudget", "kind: NetworkPolicy", `"engine": "nats"`, `"nats://nats:4222"`, "volumeClaimTemplates:", `"advertise": "${HOSTNAME}.gate-peers:3096"`, "containerPort: 3096"} {
			if !strings.Contains(out, part) {
				t.Errorf("three replicas: no %q in\n%s", part, out)
			}
		}
		if out, code := run(t, nil, tool(t, "helm"), "template", "gate", chart); code == 0 || !strings.Contains(out, "set key") {
			t.Errorf("without a key: %d %s", code, out)
		}
	})
}

// TestKubernetes checks the deployment files against the schemas of Kubernetes.
func TestKubernetes(t *testing.T) {
	valid := func(t *testing.T, path string) {
		t.Helper()
		must(t, nil, tool(t, "kubernetes-validate"), "--strict", path)
	}
	chart := artefact(t, "deploy/"+name+"-chart-"+version+".tgz")
	for replicas, kind := range map[string]string{"1": "Deployment", "3": "StatefulSet"} {
		t.Run("get/kubernetes replicas "+replicas, func(t *testing.T) {
			secret := strings.Repeat("k", 64)
			out := must(t, nil, tool(t, "helm"), "template", "gate", chart, "--set", "replicas="+replicas, "--set", "key="+secret, "--set", "clusterSecret="+secret,
				"--set", "tlsSecret=cert", "--set", "persistence.enabled=true", "--set", "ingress.enabled=true", "--set", "ingress.host=mcp.example.com")
			if !strings.Contains(out, "kind: "+kind+"\n") {
				t.Errorf("no %s in\n%s", kind, out)
			}
			path := filepath.Join(t.TempDir(), "chart.yaml")
			if err := os.WriteFile(path, []byte(out), 0o600); err != nil {
				t.Fatal(err)
			}
			valid(t, path)
		})
	}
	t.Run("get/kubernetes plain", func(t *testing.T) { valid(t, artefact(t, "deploy/kubernetes.yaml")) })
}

func TestVSIX(t *testing.T) {
	t.Run("get/vsix", func(t *testing.T) {
		found, _ := filepath.Glob(artefact(t, "vsix") + "/*linux-x64*.vsix")
		if len(found) != 1 {
			t.Fatalf("packages: %v", found)
		}
		dir := t.TempDir()
		must(t, nil, "unzip", "-q", found[0], "-d", dir)
		if _, err := os.Stat(filepath.Join(dir, "extension/THIRD_PARTY_NOTICES.txt")); err != nil {
			t.Error(err)
		}
		manifest, err := os.ReadFile(filepath.Join(dir, "extension.vsixmanifest"))
		if err != nil || !bytes.Contains(manifest, []byte(`TargetPlatform="linux-x64"`)) {
			t.Errorf("%v: %s", err, manifest)
		}
		firstCall(t, nil, filepath.Join(dir, "extension", "bin", name), filepath.Join(dir, "extension", "bin", name))
	})
}
