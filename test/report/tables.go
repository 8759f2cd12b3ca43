package main

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// A part is a group of requirements with a name.
type part struct {
	name     string
	document string
	ids      []int
}

func span(from, to int, more ...int) []int {
	var list []int
	for n := from; n <= to; n++ {
		list = append(list, n)
	}
	return append(list, more...)
}

var protocolParts = []part{
	{"initialization", "S001", span(4, 9, 54, 55)},
	{"ping, cancellation, progress", "S001", span(30, 32)},
	{"tools", "S001", span(10, 13, 36, 53)},
	{"resources", "S001", span(14, 17, 33, 34, 35)},
	{"prompts", "S001", span(18, 19, 37)},
	{"logging", "S001", span(20, 29, 38, 39)},
	{"completion", "S001", span(40, 42)},
	{"roots", "S001", span(43, 44)},
	{"sampling", "S001", span(45, 46)},
	{"elicitation", "S001", span(47, 51)},
}

var clauseParts = []part{
	{"条款 1：声明式工具注册", "S002", span(1, 1)},
	{"条款 2：工具注册表与缓存", "S002", span(2, 6)},
	{"条款 3：长连接执行器", "S002", span(7, 12)},
	{"条款 4：MCP 代理服务器", "S002", span(13, 19)},
	{"条款 5：双传输方式支持", "S002", span(20, 24)},
	{"条款 6：配置驱动", "S002", span(25, 29)},
	{"条款 7：错误处理与降级", "S002", span(30, 33)},
	{"条款 8：E2E 测试覆盖", "S002", span(34, 40)},
}

// share counts the ids of a part that passing tests cover.
func (r *results) share(p part) (shown int, missing []string) {
	for _, n := range p.ids {
		id := fmt.Sprintf("%s-%d", p.document, n)
		if r.shown[id] {
			shown++
		} else {
			missing = append(missing, id)
		}
	}
	return shown, missing
}

func mark(ok bool) string {
	if ok {
		return "✅"
	}
	return "❌"
}

// protocol prints the totals and the table of the protocol's parts.
func (r *results) protocol(w io.Writer, coverage string) {
	fmt.Fprintf(w, "\ncases %d, passed %d, failed %d, skipped %d", r.passed+r.failed+r.skipped, r.passed, r.failed, r.skipped)
	if coverage != "" {
		fmt.Fprintf(w, ", coverage %s%%", coverage)
	}
	fmt.Fprintf(w, ", time %s\n\nprotocol coverage:\n", r.last.Sub(r.first).Round(time.Second))
	for _, p := range protocolParts {
		shown, missing := r.share(p)
		fmt.Fprintf(w, "%s %s: %d%%", mark(len(missing) == 0), p.name, 100*shown/len(p.ids))
		if len(missing) > 0 {
			fmt.Fprintf(w, " (no test names %v)", missing)
		}
		fmt.Fprintln(w)
	}
}

// minimumCoverage is the share of statements that tests must reach.
const minimumCoverage = 70

// clauses prints a line per clause and returns whether all hold.
func (r *results) clauses(w io.Writer, coverage string, linted bool) bool {
	all := true
	for _, p := range clauseParts {
		shown, missing := r.share(p)
		ok := len(missing) == 0
		all = all && ok
		fmt.Fprintf(w, "%s %s (%d/%d)", mark(ok), p.name, shown, len(p.ids))
		if !ok {
			fmt.Fprintf(w, " %v", missing)
		}
		fmt.Fprintln(w)
	}
	percent, err := strconv.ParseFloat(coverage, 64)
	covered := err == nil && percent >= minimumCoverage
	fmt.Fprintf(w, "%s 代码质量：gofmt, go vet, staticcheck, go mod tidy\n", mark(linted))
	fmt.Fprintf(w, "%s %d passed, coverage %s%%\n", mark(covered && r.failed == 0), r.passed, coverage)
	all = all && linted && covered && r.failed == 0
	if all {
		fmt.Fprintln(w, "验证通过")
	} else {
		fmt.Fprintln(w, "验证未通过")
	}
	return all
}
