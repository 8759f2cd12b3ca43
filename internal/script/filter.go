package script

import (
	"context"
	"encoding/json"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
)

// filterLimits are the limits of a filter and of parsing its result: the largest
// result must fit as a Go value, and parsing it may take 2 s. The filter itself has a
// limit in package kept.
var filterLimits = Limits{Memory: 384 << 20, CPU: 3 * time.Second}

// filterWait limits the time of a filter, including the start of its process.
const filterWait = 10 * time.Second

// Filter runs a jq filter in its own process. It is a kept.Filter.
func (r *Runner) Filter(ctx context.Context, data []byte, filter string, limit int64) (kept.Part, error) {
	if r == nil {
		return kept.Part{}, i18n.Errorf("jq cannot be used here: use lines or grep", "此处不能使用 jq：请用 lines 或 grep")
	}
	tooLong := i18n.Errorf("jq: it took too long", "jq：耗时过长")
	ctx, cancel := context.WithTimeoutCause(ctx, filterWait, tooLong)
	defer cancel()
	// As text, because a result may break rules that messages have to keep.
	o, err := r.Run(ctx, &Job{JQ: filter, Args: jsonrpc.Quote(string(data)), Most: limit, Limits: filterLimits}, nil)
	switch {
	case err != nil:
		return kept.Part{}, err
	case o.Fault == nil:
	case o.Fault.Limit == LimitMemory:
		return kept.Part{}, i18n.Errorf("jq: it needs more than %d MB", "jq：所需内存超过 %d MB", filterLimits.Memory>>20)
	case o.Fault.Limit != "":
		return kept.Part{}, tooLong
	default:
		return kept.Part{}, i18n.Errorf("%s", "%s", o.Fault.Message)
	}
	var part kept.Part
	if err := json.Unmarshal(o.Value, &part); err != nil {
		return kept.Part{}, i18n.Errorf("reading the outcome of a filter: %w", "读取 jq 结果失败：%w", err)
	}
	return part, nil
}

// runFilter runs the filter of a job.
func runFilter(ctx context.Context, job *Job, m *meter) *Outcome {
	m.work()
	var data string
	if err := json.Unmarshal(job.Args, &data); err != nil {
		return faulty("JQ", err.Error())
	}
	part, err := kept.Filtered(ctx, []byte(data), job.JQ, job.Most)
	if err != nil {
		return faulty("JQ", err.Error())
	}
	raw, err := json.Marshal(part)
	if err != nil {
		return faulty("JQ", err.Error())
	}
	return &Outcome{Value: raw}
}
