package i18n

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// chinese translates a known error that is not ours. It returns the text of an
// unknown error unchanged.
func chinese(err error) string {
	if text, ok := ofKind(err); ok {
		return text.In(Chinese)
	}
	for _, w := range wellKnown {
		if errors.Is(w.err, err) {
			return w.zh
		}
	}
	if errno, ok := err.(syscall.Errno); ok {
		return errnoText(errno)
	}
	return err.Error()
}

// wellKnown are error values with one meaning each.
var wellKnown = []struct {
	err error
	zh  string
}{
	{context.DeadlineExceeded, "超时"}, {os.ErrDeadlineExceeded, "超时"}, {context.Canceled, "已取消"},
	{io.EOF, "已到结尾"}, {io.ErrUnexpectedEOF, "内容在中途结束"}, {io.ErrClosedPipe, "管道已关闭"},
	{fs.ErrNotExist, "没有这个文件或目录"}, {fs.ErrExist, "文件已存在"}, {fs.ErrPermission, "没有权限"},
	{fs.ErrInvalid, "参数无效"}, {fs.ErrClosed, "文件已关闭"}, {net.ErrClosed, "连接已关闭"},
	{exec.ErrNotFound, "在 PATH 中找不到该命令"},
	{strconv.ErrSyntax, "格式不正确"}, {strconv.ErrRange, "超出范围"},
}

// reasons are the common errors of the system.
var reasons = []struct {
	errno syscall.Errno
	zh    string
}{
	{syscall.ENOENT, "没有这个文件或目录"}, {syscall.EACCES, "没有权限"}, {syscall.EPERM, "操作不被允许"},
	{syscall.EEXIST, "文件已存在"}, {syscall.EISDIR, "是目录"}, {syscall.ENOTDIR, "不是目录"},
	{syscall.ENOTEMPTY, "目录不为空"}, {syscall.EROFS, "文件系统只读"}, {syscall.ENOSPC, "磁盘空间不足"},
	{syscall.EMFILE, "打开的文件过多"}, {syscall.ENFILE, "系统打开的文件过多"}, {syscall.ENOMEM, "内存不足"},
	{syscall.EINVAL, "参数无效"}, {syscall.EPIPE, "管道已断开"}, {syscall.ENOEXEC, "不是可执行的格式"},
	{syscall.ELOOP, "符号链接层数过多"}, {syscall.ENAMETOOLONG, "文件名过长"}, {syscall.EAGAIN, "资源暂时不可用"},
	{syscall.ECONNREFUSED, "连接被拒绝"}, {syscall.ECONNRESET, "连接被对方重置"}, {syscall.ECONNABORTED, "连接已中止"},
	{syscall.EADDRINUSE, "地址已被占用"}, {syscall.EADDRNOTAVAIL, "地址不可用"}, {syscall.ETIMEDOUT, "连接超时"},
	{syscall.ENETUNREACH, "网络不可达"}, {syscall.EHOSTUNREACH, "主机不可达"}, {syscall.ESRCH, "没有这个进程"},
}

func errnoText(e syscall.Errno) string {
	for _, r := range reasons {
		if r.errno == e {
			return r.zh
		}
	}
	// Systems with other error numbers map them to these values.
	for _, w := range wellKnown {
		if e.Is(w.err) {
			return w.zh
		}
	}
	return e.Error()
}

// ofKind translates the standard library's errors that have an operation and an
// object. Only the error itself is used, because an error that wraps it says
// more.
func ofKind(err error) (Text, bool) {
	switch e := err.(type) {
	case *fs.PathError:
		return New("", "%s %s 失败：%v", operation(e.Op), e.Path, e.Err), true
	case *os.LinkError:
		return New("", "%s %s 到 %s 失败：%v", operation(e.Op), e.Old, e.New, e.Err), true
	case *os.SyscallError:
		return New("", "%v", e.Err), true
	case *exec.Error:
		return New("", "启动 %q 失败：%v", e.Name, e.Err), true
	case *exec.ExitError:
		return New("", "退出状态 %d", e.ExitCode()), true
	case *url.Error:
		return New("", "%s %q 失败：%v", operation(e.Op), e.URL, e.Err), true
	case *net.OpError:
		return ofNetwork(e), true
	case *net.DNSError:
		return ofName(e), true
	case *net.AddrError:
		return New("", "地址 %q 无效：%s", e.Addr, e.Err), true
	case *tls.CertificateVerificationError:
		return New("", "证书验证失败：%v", e.Err), true
	case *strconv.NumError:
		return New("", "%q 不是有效的数字：%v", e.Num, e.Err), true
	case *time.ParseError:
		return New("", "%q 不是有效的时间", e.Value), true
	case *json.SyntaxError:
		return New("", "JSON 语法错误（第 %d 个字节）：%v", e.Offset, JSONSyntax(e.Error())), true
	case *json.UnmarshalTypeError:
		return New("", "JSON 值的类型不符：%s 应为%s，实际为%s", orTop(e.Field), kindName(e.Type.Kind()), valueName(e.Value)), true
	}
	if e, ok := err.(net.Error); ok && e.Timeout() {
		return New("", "超时"), true
	}
	return Text{}, false
}

// kindName returns the JSON name of a Go kind.
func kindName(k reflect.Kind) string {
	switch k {
	case reflect.Slice, reflect.Array:
		return "数组"
	case reflect.Map, reflect.Struct:
		return "对象"
	case reflect.String:
		return "字符串"
	case reflect.Bool:
		return "布尔值"
	}
	return "数字"
}

// valueName translates the name of a value in encoding/json; a number may
// follow its kind.
func valueName(value string) string {
	kind, rest, _ := strings.Cut(value, " ")
	names := map[string]string{"array": "数组", "object": "对象", "string": "字符串", "bool": "布尔值", "number": "数字"}
	if name, ok := names[kind]; ok {
		return strings.TrimSpace(name + " " + rest)
	}
	return value
}

func orTop(field string) string {
	if field == "" {
		return "顶层的值"
	}
	return strconv.Quote(field)
}

func ofNetwork(e *net.OpError) Text {
	switch {
	case e.Timeout():
		return New("", "连接 %v 超时", orUnknown(e.Addr))
	case e.Op == "listen":
		return New("", "监听 %v 失败：%v", orUnknown(e.Addr), e.Err)
	case e.Op == "dial" && e.Addr == nil:
		return New("", "连接失败：%v", e.Err)
	case e.Op == "dial":
		return New("", "连接 %v 失败：%v", e.Addr, e.Err)
	case e.Op == "read":
		return New("", "读取 %v 失败：%v", orUnknown(e.Addr), e.Err)
	case e.Op == "write":
		return New("", "写入 %v 失败：%v", orUnknown(e.Addr), e.Err)
	}
	return New("", "%s %v 失败：%v", e.Op, orUnknown(e.Addr), e.Err)
}

func orUnknown(addr net.Addr) any {
	if addr == nil {
		return "对方"
	}
	return addr
}

func ofName(e *net.DNSError) Text {
	switch {
	case e.IsNotFound:
		return New("", "找不到主机 %s", e.Name)
	case e.IsTimeout:
		return New("", "查询主机 %s 超时", e.Name)
	}
	return New("", "查询主机 %s 失败：%s", e.Name, e.Err)
}

// operation returns an operation in Chinese.
func operation(op string) string {
	if zh, ok := operations[op]; ok {
		return zh
	}
	return op
}

var operations = map[string]string{
	"open": "打开", "openat": "打开", "read": "读取", "write": "写入", "close": "关闭", "stat": "查看", "lstat": "查看",
	"mkdir": "创建目录", "remove": "删除", "unlinkat": "删除", "rename": "重命名", "chmod": "修改权限", "chdir": "进入目录",
	"readdirent": "列出目录", "fdopendir": "列出目录", "readlink": "读取链接", "symlink": "创建链接", "link": "创建链接",
	"fork/exec": "启动", "truncate": "截断", "sync": "保存", "lock": "锁定",
	"Get": "请求", "Post": "请求", "Delete": "请求", "Put": "请求", "Head": "请求", "parse": "解析",
}
