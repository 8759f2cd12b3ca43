package kernels

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An archive is the file system that a kernel starts with: cpio, in the format
// newc.
type archive struct {
	bytes.Buffer
	inode int
}

const (
	regular = 0o100000
	folder  = 0o040000
	symlink = 0o120000
	device  = 0o020000
)

func (a *archive) add(name string, mode int, data []byte, rdev ...int) {
	a.inode++
	number := append(rdev, 0, 0)
	fmt.Fprintf(a, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00", a.inode, mode, 0, 0, 1, 0, len(data), 0, 0, number[0], number[1], len(name)+1, 0, name)
	a.pad()
	a.Write(data)
	a.pad()
}

func (a *archive) pad() { a.Write(make([]byte, -a.Len()&3)) }

// A step is a command of the test in the machine; see init.
type step struct {
	Name  string
	User  int
	Args  []string
	Write map[string]string
}

// image returns the file system of a machine: our programs, a disk, the modules of
// the kernel that the disk needs, and the steps.
func image(t *testing.T, arch, kernel string, list []step) []byte {
	t.Helper()
	a := new(archive)
	for _, dir := range []string{"bin", "dev", "etc", "modules", "proc", "sys", "tmp"} {
		a.add(dir, folder|0o755, nil)
	}
	a.add("dev/console", device|0o600, nil, 5, 1)
	for name, program := range programs(t, arch) {
		a.add("bin/"+name, regular|0o755, program)
	}
	for name, to := range map[string]string{"init": "bin/init", "bin/true": "init", "bin/sleep": "init"} {
		a.add(name, symlink|0o777, []byte(to))
	}
	for name, text := range map[string]string{
		"passwd": "root:x:0:0::/tmp/0:/bin/true\nuser:x:1000:1000::/tmp/1000:/bin/true\n", "shadow": "root:*:::::::\n", "hosts": "127.0.0.1 localhost\n",
		"mcp.json": `{"mcpServers":{"demo":{"command":"/bin/mcp-all-in-one","args":["demo"],"sandbox":"on"}}}`,
	} {
		mode := 0o644
		if name == "shadow" {
			mode = 0o600
		}
		a.add("etc/"+name, regular|mode, []byte(text))
	}
	a.add("disk", regular|0o600, disk(t))
	var loaded []string
	for _, m := range modules(t, kernel) {
		a.add("modules/"+m.name, regular|0o644, m.data)
		loaded = append(loaded, m.name)
	}
	a.add("modules/list", regular|0o644, []byte(strings.Join(loaded, "\n")))
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	a.add("steps", regular|0o644, data)
	a.add("TRAILER!!!", 0, nil)
	return a.Bytes()
}

var built = map[string]map[string][]byte{}

// programs compiles what runs in the machines of a processor.
func programs(t *testing.T, arch string) map[string][]byte {
	t.Helper()
	if built[arch] != nil {
		return built[arch]
	}
	dir := t.TempDir()
	out := map[string][]byte{}
	for name, args := range map[string][]string{
		"init":           {"build", "./init"},
		"sandbox.test":   {"test", "-c", "../../internal/sandbox"},
		"mcp-all-in-one": {"build", "../.."},
	} {
		path := filepath.Join(dir, name)
		args = slices.Insert(args, len(args)-1, "-trimpath", "-ldflags", "-s -w", "-o", path)
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = data
	}
	built[arch] = out
	return out
}

// disk returns an empty disk with a file system.
func disk(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "disk")
	if out, err := exec.CommandContext(t.Context(), "/usr/sbin/mke2fs", "-q", "-t", "ext4", path, "64m").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A module is a part of a kernel that is loaded later.
type module struct {
	name string
	data []byte
}

// modules returns what a kernel needs for the disk and does not have compiled in, in
// the order in which it is loaded. crc32c_generic is what ext4 asks for by another
// name.
func modules(t *testing.T, kernel string) []module {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(kernel, func(path string, d fs.DirEntry, err error) error {
		if name, _, ok := strings.Cut(filepath.Base(path), ".ko"); ok && err == nil {
			files[strings.ReplaceAll(name, "-", "_")] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var list []module
	var add func(name string)
	add = func(name string) {
		path := files[name]
		if path == "" || slices.ContainsFunc(list, func(m module) bool { return m.name == name }) {
			return
		}
		data, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(path, ".xz") {
			data, err = exec.CommandContext(t.Context(), "xz", "-dc", path).Output()
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, needed := range needs(t, data) {
			add(needed)
		}
		list = append(list, module{name, data})
	}
	for _, name := range []string{"crc32c_generic", "ext4", "loop"} {
		add(name)
	}
	return list
}

// needs returns the modules that a module needs.
func needs(t *testing.T, data []byte) []string {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Section(".modinfo").Data()
	if err != nil {
		t.Fatal(err)
	}
	for entry := range strings.SplitSeq(string(info), "\x00") {
		if names, ok := strings.CutPrefix(entry, "depends="); ok && names != "" {
			return strings.Split(strings.ReplaceAll(names, "-", "_"), ",")
		}
	}
	return nil
}
