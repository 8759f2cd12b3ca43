//go:build unix

package stdio

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/sandbox"
)

// maxFrame bounds one message between gateway and helper. The arguments and
// environment that a kernel accepts are far smaller.
const maxFrame = 64 << 20

// Operations of an order.
const (
	opStart  = "start"
	opSignal = "signal"
	opKill   = "kill"
	opLook   = "look"
)

// An order is a message from the gateway to the helper. Strings are sent as bytes,
// because file names and environments need not be UTF-8. A start order comes with
// three files.
type order struct {
	Op     string   `json:"op"`
	ID     uint64   `json:"id"`
	Path   []byte   `json:"path,omitempty"`
	Argv   [][]byte `json:"argv,omitempty"`
	Env    [][]byte `json:"env,omitempty"`
	Dir    []byte   `json:"dir,omitempty"`
	Signal int      `json:"signal,omitempty"`
	// Profile confines the child; nil for no confinement.
	Profile *sandbox.Profile `json:"profile,omitempty"`
}

// Kinds of a report.
const (
	kindStarted = "started"
	kindFailed  = "failed"
	kindExit    = "exit"
	kindLooked  = "looked"
)

// A report is a message from the helper to the gateway.
type report struct {
	Kind   string `json:"kind"`
	ID     uint64 `json:"id"`
	PID    int    `json:"pid,omitempty"`
	Errno  int    `json:"errno,omitempty"`
	Error  string `json:"error,omitempty"`
	Stage  string `json:"stage,omitempty"` // of the sandbox launcher
	Code   int    `json:"code,omitempty"`
	Signal int    `json:"signal,omitempty"`
}

// A link is one end of the socket between gateway and helper. It carries JSON
// messages, each after its length in four bytes, together with open files. It is a
// stream socket, because datagrams would limit the size of an environment and macOS
// has no sequenced packets.
type link struct {
	conn *net.UnixConn
	mu   sync.Mutex // held while a message is written
}

// newLink takes over a socket.
func newLink(f *os.File) (*link, error) {
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	uc, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, i18n.Errorf("file descriptor %d is not a unix socket", "文件描述符 %d 不是 unix 套接字", f.Fd())
	}
	return &link{conn: uc}, nil
}

// send writes one message with files.
func (l *link) send(message any, files ...*os.File) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(body) > maxFrame {
		return i18n.Errorf("arguments and environment are too large: %d bytes", "参数与环境变量过大：%d 字节", len(body))
	}
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			// Fd makes the file blocking, as the child expects it.
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n, _, err := l.conn.WriteMsgUnix(frame, rights, nil)
	if err == nil && n < len(frame) {
		_, err = l.conn.Write(frame[n:])
	}
	return err
}

// recv reads one message and its file descriptors, which the caller must close.
func (l *link) recv(message any) (fds []int, err error) {
	var header [4]byte
	oob := make([]byte, unix.CmsgSpace(3*4))
	n, oobn, _, _, err := l.conn.ReadMsgUnix(header[:], oob)
	if err != nil {
		return nil, err
	}
	if oobn > 0 {
		if fds, err = parseRights(oob[:oobn]); err != nil {
			return nil, err
		}
	}
	if n < len(header) {
		if _, err := io.ReadFull(l.conn, header[n:]); err != nil {
			return fds, err
		}
	}
	size := binary.BigEndian.Uint32(header[:])
	if size > maxFrame {
		return fds, i18n.Errorf("message of %d bytes on the helper's socket", "辅助进程的套接字上有 %d 字节的消息", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(l.conn, body); err != nil {
		return fds, err
	}
	return fds, json.Unmarshal(body, message)
}

func parseRights(oob []byte) (fds []int, err error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		got, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return fds, err
		}
		fds = append(fds, got...)
	}
	return fds, nil
}

// socketPair returns both ends, marked close-on-exec.
func socketPair() (ours, theirs *os.File, err error) {
	// A fork takes this lock for writing, so it cannot inherit the sockets before
	// they are marked.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return os.NewFile(uintptr(fds[0]), "helper"), os.NewFile(uintptr(fds[1]), "helper"), nil
}
