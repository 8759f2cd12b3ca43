package main_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	familyLiteral = regexp.MustCompile(`\.Family\((\w+\+)?"(\w+)"(\+)?`)
	serverFamily  = regexp.MustCompile(`\{"(\w+)", telemetry\.`)
	reasonLiteral = regexp.MustCompile(`Reason += "(\w+)"`)
	auditField    = regexp.MustCompile("`json:\"(\\w+)")
	metricName    = regexp.MustCompile("`((?:mcp_|process_|_)\\w+)`")
)

// TestObservabilityIsDocumented checks that docs/observability.md names every
// metric, every reason, and every field of the audit trail.
func TestObservabilityIsDocumented(t *testing.T) {
	page := readFile(t, "docs/observability.md")
	named := metricNames(page)
	source := readFile(t, "internal/daemon/metrics.go") + readFile(t, "internal/daemon/metrics_cluster.go")
	families := familyLiteral.FindAllStringSubmatch(source, -1)
	if len(families) < 25 {
		t.Errorf("found only %d metrics", len(families))
	}
	for _, m := range families {
		switch before, name, after := m[1], m[2], m[3]; {
		case before != "": // of clients, servers and tools
			if !strings.Contains(page, name+"`") {
				t.Errorf("docs/observability.md has no metric that ends in %s: add it to the table", name)
			}
		case after != "":
			for _, row := range serverFamily.FindAllStringSubmatch(source, -1) {
				if !slices.Contains(named, name+row[1]) {
					t.Errorf("docs/observability.md does not name %s: add it to the table", name+row[1])
				}
			}
		case !slices.Contains(named, name):
			t.Errorf("docs/observability.md does not name %s: add it to the table", name)
		}
	}
	for _, m := range reasonLiteral.FindAllStringSubmatch(readFile(t, "internal/mcp/reason.go"), -1) {
		if !strings.Contains(page, "`"+m[1]+"`") {
			t.Errorf("docs/observability.md does not name the reason %s", m[1])
		}
	}
	_, audit, _ := strings.Cut(page, "## Audit trail")
	audit, _, _ = strings.Cut(audit, "\n## ")
	fields := auditField.FindAllStringSubmatch(readFile(t, "internal/telemetry/audit.go"), -1)
	if len(fields) < 20 {
		t.Errorf("found only %d fields of the audit trail", len(fields))
	}
	for _, m := range fields {
		if !strings.Contains(audit, "`"+m[1]+"`") && !strings.Contains(audit, `"`+m[1]+`":`) {
			t.Errorf("docs/observability.md does not explain the field %s of the audit trail", m[1])
		}
	}
}

// metricNames returns the metrics in the tables of the page. A name that begins
// with _ shares the beginning of the one before it, up to any of its underscores.
func metricNames(page string) (names []string) {
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		last := ""
		for _, m := range metricName.FindAllStringSubmatch(cells[1], -1) {
			if !strings.HasPrefix(m[1], "_") {
				last = m[1]
				names = append(names, last)
				continue
			}
			for at, r := range last {
				if r == '_' {
					names = append(names, last[:at]+m[1])
				}
			}
		}
	}
	return names
}
