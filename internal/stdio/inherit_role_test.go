//go:build unix

package stdio

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// roleFiles is a gateway with open files. It prints the open files of its helper
// and of two children.
func roleFiles(args []string) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer ln.Close()
	_, _, err = os.Pipe()
	must(err)
	_, err = os.Open(args[0])
	must(err)
	_, err = unix.Open(args[0], unix.O_RDONLY, 0)
	must(err)
	_, err = unix.FcntlInt(3, unix.F_DUPFD, 200)
	must(err)
	l := NewLauncher(LauncherOptions{})
	defer l.Close()
	for _, name := range []string{"first", "second"} {
		c, err := l.Start(context.Background(), Command{Name: name, Path: "/bin/cat"})
		must(err)
		must(c.Stream().Write([]byte("1"))) // its response shows that it has loaded
		_, _, err = c.Stream().Read()
		must(err)
		printFiles(name, c.pid)
		// Files opened after the helper was started must not be inherited either.
		_, err = unix.Open(args[0], unix.O_RDONLY, 0)
		must(err)
	}
	printFiles("helper", l.platform.current.cmd.Process.Pid)
}

func printFiles(name string, pid int) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		target, _ := os.Readlink(filepath.Join(dir, e.Name()))
		fmt.Println(name, e.Name(), target)
	}
}
