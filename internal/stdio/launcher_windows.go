package stdio

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"mcp-all-in-one/internal/i18n"
)

// platform holds the jobs of all children. A job is killed as a whole when its last
// handle is closed. The system closes the handles when this process exits.
type platform struct {
	mu   sync.Mutex
	jobs map[*job]struct{}
}

// A job is one child with all processes that it starts.
type job struct {
	mu     sync.Mutex
	handle windows.Handle // zero when closed
	pid    int
}

// RunHelper is the main function of the helper process, which Windows does not
// need.
func RunHelper(context.Context) int {
	fmt.Fprintln(os.Stderr, "this command is not used on Windows")
	return 2
}

func (l *Launcher) spawn(_ context.Context, cmd Command, path string) (*Child, error) {
	p, err := newPipes()
	if err != nil {
		return nil, startError(cmd, err, "making its pipes: %v", "创建管道失败：%v", err)
	}
	defer closeAll(p.child[:])
	ours := []*os.File{p.stdin, p.stdout, p.stderr}
	j, err := newJob()
	if err != nil {
		closeAll(ours)
		return nil, startError(cmd, err, "making its job: %v", "创建作业失败：%v", err)
	}
	c, err := l.adopt(cmd, p)
	if err != nil {
		closeAll(ours)
		j.close()
		return nil, err
	}
	c.ctl = j
	process := execCommand(cmd, path, p)
	if err := startInJob(process, j); err != nil {
		j.close()
		failure := startError(cmd, err, "%v", "%v", err)
		c.ended(ExitStatus{Code: -1, Err: failure})
		c.stream.Close()
		return nil, failure
	}
	c.pid = j.pid
	close(c.started)
	l.platform.add(j)
	if l.isClosed() {
		j.kill(c)
	}
	l.children.Go(func() {
		err := process.Wait()
		l.platform.remove(j)
		j.close()
		c.ended(exitStatus(process, err))
	})
	return c, nil
}

func execCommand(cmd Command, path string, p pipes) *exec.Cmd {
	process := &exec.Cmd{
		Path: path, Args: append([]string{cmd.Path}, cmd.Args...), Env: cmd.Env, Dir: cmd.Dir,
		Stdin: p.child[0], Stdout: p.child[1], Stderr: p.child[2],
		SysProcAttr: &syscall.SysProcAttr{
			HideWindow:    true,
			CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
		},
	}
	if needsShell(cmd.Path) {
		if shell := envValue(cmd.Env, "COMSPEC"); shell != "" {
			process.Path = shell
		} else {
			process.Path = envValue(os.Environ(), "SYSTEMROOT") + `\System32\cmd.exe`
		}
		process.SysProcAttr.CmdLine = shellLine(process.Args)
	}
	return process
}

// startInJob creates the process suspended, so that it cannot start another process
// before it is in the job.
func startInJob(process *exec.Cmd, j *job) error {
	if err := process.Start(); err != nil {
		return err
	}
	j.pid = process.Process.Pid
	err := j.assign(uint32(j.pid))
	if err == nil {
		err = resume(uint32(j.pid))
	}
	if err != nil {
		_ = process.Process.Kill()
		_ = process.Wait()
	}
	return err
}

func newJob() (*job, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(handle)
		return nil, err
	}
	return &job{handle: handle}, nil
}

func (j *job) assign(pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return i18n.Errorf("opening the process: %w", "打开进程失败：%w", err)
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(j.handle, process); err != nil {
		return i18n.Errorf("putting the process into its job: %w", "将进程放入作业失败：%w", err)
	}
	return nil
}

// resume resumes the threads of a suspended process; there is only one.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return i18n.Errorf("listing threads: %w", "列出线程失败：%w", err)
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	found := false
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return i18n.Errorf("opening the main thread: %w", "打开主线程失败：%w", err)
		}
		_, err = windows.ResumeThread(thread)
		windows.CloseHandle(thread)
		if err != nil {
			return i18n.Errorf("resuming the main thread: %w", "恢复主线程失败：%w", err)
		}
		found = true
	}
	if !found {
		return i18n.Errorf("the main thread was not found", "找不到主线程")
	}
	return nil
}

// look does nothing: a job contains all processes that its processes start.
func (j *job) look(*Child) {}

// terminate sends Ctrl+Break to the process group.
func (j *job) terminate(*Child) {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(j.pid))
}

func (j *job) kill(*Child) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle != 0 {
		_ = windows.TerminateJobObject(j.handle, 1)
	}
}

// close kills the processes that are left in the job.
func (j *job) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle != 0 {
		windows.CloseHandle(j.handle)
		j.handle = 0
	}
}

func exitStatus(process *exec.Cmd, err error) ExitStatus {
	if process.ProcessState == nil {
		return ExitStatus{Code: -1, Err: err}
	}
	return ExitStatus{Code: process.ProcessState.ExitCode()}
}

func (p *platform) add(j *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.jobs == nil {
		p.jobs = make(map[*job]struct{})
	}
	p.jobs[j] = struct{}{}
}

func (p *platform) remove(j *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.jobs, j)
}

// shutdown kills all children.
func (l *Launcher) shutdown() {
	l.platform.mu.Lock()
	defer l.platform.mu.Unlock()
	for j := range l.platform.jobs {
		j.kill(nil)
	}
}
