package i18n

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/mcptest/must"
)

func TestText(t *testing.T) {
	inner := New("a %s", "一个%s", "x")
	for _, tt := range []struct {
		text   Text
		en, zh string
	}{
		{New("100%", "百分之百"), "100%", "百分之百"},
		{New("%s of %d", "%[2]d 中的 %[1]s", "a", 3), "a of 3", "3 中的 a"},
		{New("with %v", "带有%v", inner), "with a x", "带有一个x"},
		{New("why: %v", "原因：%v", fs.ErrPermission), "why: permission denied", "原因：没有权限"},
		{New("%q", "%q", inner), `"a x"`, `"一个x"`},
		{Plain("50% off"), "50% off", "50% off"},
		{Pair("one", "一"), "one", "一"},
		{Text{}, "", ""},
		{Why(nil), "", ""},
	} {
		if en, zh := tt.text.Both(); en != tt.en || zh != tt.zh {
			t.Errorf("got %q and %q, want %q and %q", en, zh, tt.en, tt.zh)
		}
		raw, err := json.Marshal(tt.text)
		if want, _ := json.Marshal(tt.en); err != nil || string(raw) != string(want) {
			t.Errorf("as JSON %s, %v", raw, err)
		}
	}
	if !(Text{}).Empty() || !Why(nil).Empty() || inner.Empty() {
		t.Error("Empty is wrong")
	}
}

func TestErrorf(t *testing.T) {
	err := Errorf("reading %q: %w", "读取 %q 失败：%w", "x", Errorf("line %d: %w", "第 %d 行：%w", 3, fs.ErrNotExist))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
	if err.Error() != `reading "x": line 3: file does not exist` {
		t.Errorf("English: %v", err)
	}
	if got := Chinese.Of(err); got != `读取 "x" 失败：第 3 行：没有这个文件或目录` {
		t.Errorf("Chinese: %s", got)
	}
	if got := Chinese.Of(errors.Join(err, Errorf("b", "乙"))); !strings.HasSuffix(got, "目录\n乙") {
		t.Errorf("joined: %s", got)
	}
	// Errors that are not ours stay unchanged.
	if got := Chinese.Of(fmt.Errorf("theirs: %w", err)); !strings.HasPrefix(got, "theirs: reading") {
		t.Errorf("a stranger's: %s", got)
	}
}

// TestSystem translates real errors of the system and the standard library.
func TestSystem(t *testing.T) {
	dir := t.TempDir()
	listener := must.Listen(t)
	address := listener.Addr().String()
	_, inUse := net.Listen("tcp", address)
	listener.Close()
	_, refused := net.Dial("tcp", address)
	_, missing := os.ReadFile(filepath.Join(dir, "none"))
	_, folder := os.ReadFile(dir)
	_, number := strconv.Atoi("x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var list []string
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"no such file":  {missing, "打开 " + dir + "/none 失败：没有这个文件或目录"},
		"folder":        {folder, "读取 " + dir + " 失败：是目录"},
		"in use":        {inUse, "监听 " + address + " 失败：地址已被占用"},
		"refused":       {refused, "连接 " + address + " 失败：连接被拒绝"},
		"no such host":  {&net.DNSError{Name: "h.invalid", IsNotFound: true}, "找不到主机 h.invalid"},
		"no program":    {exec.Command("no-such-program-here").Run(), `启动 "no-such-program-here" 失败：在 PATH 中找不到该命令`},
		"exit":          {exec.Command("false").Run(), "退出状态 1"},
		"number":        {number, `"x" 不是有效的数字：格式不正确`},
		"cancelled":     {ctx.Err(), "已取消"},
		"too late":      {context.DeadlineExceeded, "超时"},
		"JSON":          {json.Unmarshal([]byte(`{"a":}`), new(any)), "JSON 语法错误（第 6 个字节）：此处应为一个值，而不是 '}'"},
		"cut JSON":      {json.Unmarshal([]byte(`{"a":`), new(any)), "JSON 语法错误（第 5 个字节）：内容在中途结束"},
		"wide JSON":     {json.Unmarshal([]byte(`{"a"：1}`), new(any)), `JSON 语法错误（第 5 个字节）：此处请用半角 " : ,（现为全角字符）`},
		"type in JSON":  {json.Unmarshal([]byte(`5`), &list), "JSON 值的类型不符：顶层的值 应为数组，实际为数字"},
		"nothing known": {errors.New("boom"), "boom"},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.err == nil {
				t.Fatal("nothing failed")
			}
			if diff := cmp.Diff(tt.want, Chinese.Of(tt.err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestByTag(t *testing.T) {
	for tag, want := range map[string]Lang{"zh_CN.UTF-8": Chinese, "zh-CN,en;q=0.5": Chinese, "ZH": Chinese, "en_GB": English, "": English, "C": English} {
		if got := ByTag(tag); got != want {
			t.Errorf("%q: %v", tag, got)
		}
	}
	for _, l := range []Lang{English, Chinese} {
		if ByTag(l.Tag()) != l {
			t.Errorf("%v is not %s", l, l.Tag())
		}
	}
}
