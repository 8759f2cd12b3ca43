package traffic

import (
	"path"
	"strconv"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
)

var stringFields = map[string]func(*Call) string{
	"client":    func(c *Call) string { return c.Client },
	"server":    func(c *Call) string { return c.Server },
	"schema":    func(c *Call) string { return c.Schema },
	"session":   func(c *Call) string { return c.Session },
	"principal": func(c *Call) string { return c.Principal },
	"door":      func(c *Call) string { return string(c.Door) },
	"method":    func(c *Call) string { return c.Method },
	"name":      func(c *Call) string { return c.Name },
	"status":    func(c *Call) string { return c.Status },
	"hop":       func(c *Call) string { return string(c.Hop) },
	"kind":      func(c *Call) string { return string(c.Kind) },
	"code":      func(c *Call) string { return strconv.FormatInt(c.Code, 10) },
	"id":        func(c *Call) string { return strconv.FormatUint(c.ID, 10) },
	"parent":    func(c *Call) string { return strconv.FormatUint(c.Parent, 10) },
	"bench":     func(c *Call) string { return map[bool]string{true: "yes", false: "no"}[c.Bench] },
	"tool": func(c *Call) string {
		if c.Method != "tools/call" {
			return ""
		}
		return c.Server + "." + c.Name
	},
}

var durationFields = map[string]func(*Call) int64{
	"dur":       func(c *Call) int64 { return int64(c.Total) },
	"gateway":   func(c *Call) int64 { return int64(c.Gateway) },
	"transport": func(c *Call) int64 { return int64(c.Transport) },
	"srv":       func(c *Call) int64 { return int64(c.ServerTime) },
}

var sizeFields = map[string]func(*Call) int64{
	"size": func(c *Call) int64 { return c.ReqSize + c.ResSize },
	"req":  func(c *Call) int64 { return c.ReqSize },
	"res":  func(c *Call) int64 { return c.ResSize },
}

func fieldMatch(field, value string) (func(*Call, time.Time) bool, error) {
	if get := stringFields[field]; get != nil {
		return globMatch(get, value)
	}
	if get := durationFields[field]; get != nil {
		return compare(get, value, func(s string) (int64, error) {
			d, err := time.ParseDuration(s)
			return int64(d), err
		})
	}
	if get := sizeFields[field]; get != nil {
		return compare(get, value, parseSize)
	}
	if field == "since" {
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return nil, i18n.Errorf("want a duration such as 10m", "应为时长，如 10m")
		}
		return func(c *Call, now time.Time) bool { return now.Sub(c.Start) <= d }, nil
	}
	if field == "from" || field == "to" {
		at, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return nil, i18n.Errorf("want a time such as 2026-11-16T13:45:00Z", "应为时间，如 2026-11-16T13:45:00Z")
		}
		return func(c *Call, _ time.Time) bool { return c.Start.Before(at) == (field == "to") }, nil
	}
	return nil, i18n.Errorf("unknown field %q", "未知的字段 %q", field)
}

// globMatch ignores case; commas separate alternatives.
func globMatch(get func(*Call) string, value string) (func(*Call, time.Time) bool, error) {
	patterns := strings.Split(strings.ToLower(value), ",")
	for i, p := range patterns {
		// A name may contain slashes, which path.Match treats as separators.
		patterns[i] = strings.ReplaceAll(p, "/", "\x00")
		if _, err := path.Match(patterns[i], ""); err != nil {
			return nil, i18n.Errorf("unclosed bracket in the pattern", "模式中的方括号没有闭合")
		}
	}
	return func(c *Call, _ time.Time) bool {
		s := strings.ReplaceAll(strings.ToLower(get(c)), "/", "\x00")
		for _, p := range patterns {
			if ok, _ := path.Match(p, s); ok {
				return true
			}
		}
		return false
	}, nil
}

// compare parses >, >=, < or <= before the value; without an operator it means at
// least.
func compare(get func(*Call) int64, value string, parse func(string) (int64, error)) (func(*Call, time.Time) bool, error) {
	op := ">="
	for _, o := range []string{">=", "<=", ">", "<"} {
		if rest, ok := strings.CutPrefix(value, o); ok {
			op, value = o, rest
			break
		}
	}
	want, err := parse(value)
	if err != nil {
		return nil, i18n.Errorf("%q is neither a time such as 500ms nor a size such as 10kb", "%q 既不是时间（如 500ms）也不是大小（如 10kb）", value)
	}
	return func(c *Call, _ time.Time) bool {
		switch got := get(c); op {
		case ">":
			return got > want
		case "<":
			return got < want
		case "<=":
			return got <= want
		default:
			return got >= want
		}
	}, nil
}

func parseSize(s string) (int64, error) {
	s = strings.ToLower(s)
	unit := int64(1)
	for _, u := range []struct {
		suffix string
		bytes  int64
	}{{"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30}, {"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"b", 1}} {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			s, unit = rest, u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	return int64(n * float64(unit)), err
}
