//go:build linux

// Command init is the first process of a small system in a virtual machine: it
// runs the steps of a test and switches the machine off. Under the names true and
// sleep it is what these are elsewhere.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A step is a command of the test.
type step struct {
	Name string
	User uint32
	Args []string
	// Write sets files of the system before the command runs.
	Write map[string]string
}

func main() {
	switch filepath.Base(os.Args[0]) {
	case "true":
		return
	case "sleep":
		time.Sleep(time.Minute)
		return
	}
	if err := boot(); err != nil {
		fmt.Println("KERNELS boot:", err)
	} else if err := steps(); err != nil {
		fmt.Println("KERNELS steps:", err)
	}
	fmt.Println("KERNELS off")
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {}
}

// boot mounts what programs expect, with a disk at /tmp, and brings the loopback
// interface up.
func boot() error {
	for _, m := range [][3]string{{"proc", "/proc", "proc"}, {"sysfs", "/sys", "sysfs"}, {"devtmpfs", "/dev", "devtmpfs"}} {
		if err := unix.Mount(m[0], m[1], m[2], 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mounting %s: %w", m[1], err)
		}
	}
	list, err := os.ReadFile("/modules/list")
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(string(list)) {
		if err := load(name); err != nil {
			return fmt.Errorf("loading %s: %w", name, err)
		}
	}
	if err := mountDisk(); err != nil {
		return fmt.Errorf("mounting the disk: %w", err)
	}
	return errors.Join(os.Chmod("/tmp", 0o1777), loopback())
}

func load(name string) error {
	f, err := os.Open("/modules/" + name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

// mountDisk mounts the image of a file system that has all that the attacks touch,
// such as attributes, which the memory file systems of older kernels lack.
func mountDisk() error {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer control.Close()
	n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	if err != nil {
		return err
	}
	device := fmt.Sprintf("/dev/loop%d", n)
	loop, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer loop.Close()
	image, err := os.OpenFile("/disk", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer image.Close()
	if err := unix.IoctlSetInt(int(loop.Fd()), unix.LOOP_SET_FD, int(image.Fd())); err != nil {
		return err
	}
	return unix.Mount(device, "/tmp", "ext4", 0, "")
}

func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}

// steps runs the commands one after the other, and prints how each ended.
func steps() error {
	data, err := os.ReadFile("/steps")
	if err != nil {
		return err
	}
	var list []step
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, s := range list {
		for path, text := range s.Write {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return err
			}
		}
		home := fmt.Sprintf("/tmp/%d", s.User)
		if err := errors.Join(os.MkdirAll(home, 0o700), os.Chown(home, int(s.User), int(s.User))); err != nil {
			return err
		}
		cmd := exec.Command(s.Args[0], s.Args[1:]...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = home, os.Stdout, os.Stdout
		cmd.Env = []string{"PATH=/bin", "HOME=" + home, "TMPDIR=" + home, "MCP_AIO_LANG=en"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: s.User, Gid: s.User}, Setpgid: true}
		fmt.Printf("\nKERNELS begin %s\n", s.Name)
		code := -1
		if err := cmd.Run(); cmd.ProcessState != nil {
			code = cmd.ProcessState.ExitCode()
		} else {
			fmt.Println(err)
		}
		fmt.Printf("\nKERNELS end %s %d\n", s.Name, code)
	}
	return nil
}
