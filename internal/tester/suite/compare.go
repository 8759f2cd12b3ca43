package suite

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
)

// A Step is one request of a script that is run in several ways.
type Step struct {
	Name   string
	Method string
	Params json.RawMessage
	// List, if set, fetches a whole list.
	List   *catalog.Kind
	Answer map[string]json.RawMessage
}

// maxWalk limits the items of each kind that Walk visits.
const maxWalk = 20

// Walk returns a script of all requests that change nothing: the lists, the
// resources, the prompts without required arguments, and the read-only tools
// without required arguments.
func Walk(ctx context.Context, s *probe.Session) ([]Step, error) {
	var steps []Step
	for _, k := range []catalog.Kind{catalog.Tools, catalog.Resources, catalog.Templates, catalog.Prompts} {
		if !s.Offers(k) {
			continue
		}
		steps = append(steps, Step{Name: probe.ListMethods[k], List: &k})
		l, err := s.List(ctx, k)
		if err != nil {
			return nil, err
		}
		for i := range l.Items[:min(len(l.Items), maxWalk)] {
			if step, ok := walkItem(k, &l.Items[i]); ok {
				steps = append(steps, step)
			}
		}
	}
	return steps, nil
}

func walkItem(k catalog.Kind, it *catalog.Item) (Step, bool) {
	switch k {
	case catalog.Tools:
		readOnly := it.ReadOnly()
		params := jsonrpc.Set([]byte(`{"arguments":{}}`), jsonrpc.Quote(it.Key), "name")
		return Step{Name: "tools/call " + it.Key, Method: mcp.MethodToolsCall, Params: params}, readOnly && len(it.Required) == 0
	case catalog.Resources:
		params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(it.Key), "uri")
		return Step{Name: "resources/read " + it.Key, Method: mcp.MethodResourcesRead, Params: params}, true
	case catalog.Prompts:
		step := Step{Name: "prompts/get " + it.Key, Method: mcp.MethodPromptsGet, Params: probe.PromptParams(it.Key, nil)}
		return step, probe.CheckPrompt(probe.PromptArguments(it.Raw), nil) == nil
	}
	return Step{}, false
}

// Steps returns a test file as a script.
func (s *Suite) Steps(ctx context.Context) ([]Step, error) {
	r := &SuiteRunner{Suite: s}
	var steps []Step
	for i := range s.Tests {
		t := &s.Tests[i]
		if t.Skip != "" {
			continue
		}
		step := Step{Name: t.Name, Answer: make(map[string]json.RawMessage)}
		for key, v := range t.Answer {
			step.Answer[key] = JSONOf(v)
		}
		for k := range probe.ListMethods {
			if t.List == probe.KindWord(k) {
				step.List = &k
			}
		}
		var err error
		if step.Method, step.Params, err = r.request(ctx, t); err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// An Outcome is the outcome of one step: a result, an error that the server
// answered, or neither.
type Outcome struct {
	Result json.RawMessage `json:"result,omitempty"`
	Err    json.RawMessage `json:"error,omitempty"`
	Failed string          `json:"failed,omitempty"`
}

// RunSteps runs a script. answers is the Answerer of the session.
func RunSteps(ctx context.Context, s *probe.Session, steps []Step, answers *TestAnswers) []Outcome {
	out := make([]Outcome, len(steps))
	for i := range steps {
		answers.prepare(steps[i].Answer)
		out[i] = runStep(ctx, s, &steps[i])
	}
	return out
}

func (a *TestAnswers) prepare(values map[string]json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.script, a.asked = &probe.Script{Values: values, Else: a.other}, nil
}

func runStep(ctx context.Context, s *probe.Session, step *Step) Outcome {
	if step.List != nil {
		l, err := s.List(ctx, *step.List)
		if err != nil {
			return failedOutcome(err)
		}
		raw := append([]json.RawMessage{}, l.Raw...)
		return Outcome{Result: JSONOf(map[string]any{step.List.Member(): raw})}
	}
	x, err := s.Call(ctx, step.Method, step.Params, probe.CallOptions{Idle: probe.CallPatience, Limit: probe.CallPatience})
	if err != nil {
		return failedOutcome(err)
	}
	if x.Err != nil {
		return Outcome{Err: jsonrpc.AppendError(nil, x.Err)}
	}
	return Outcome{Result: x.Result}
}

func failedOutcome(err error) Outcome {
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return Outcome{Err: jsonrpc.AppendError(nil, wire)}
	}
	return Outcome{Failed: err.Error()}
}

// allowed lists the places where a bridge may differ: members of one era only,
// and the identity of the server.
var allowed = []string{
	".resultType", ".ttlMs", ".cacheScope", `._meta["` + mcp.MetaServerInfo + `"]`,
}

// A StepDifference is one step whose outcomes differ.
type StepDifference struct {
	Step        string             `json:"step"`
	Differences []probe.Difference `json:"differences"`
	// At is the position of the step.
	At int `json:"-"`
}

// CompareOutcomes returns the steps whose outcomes differ, except at the places
// that a bridge may change and at the ignored paths.
func CompareOutcomes(steps []Step, a, b []Outcome, ignore []probe.Places) ([]StepDifference, error) {
	paths := append([]probe.Places(nil), ignore...)
	for _, text := range allowed {
		p, err := probe.ParsePlaces(text)
		if err != nil {
			return nil, err
		}
		paths = append(paths, p)
	}
	var found []StepDifference
	for i := range steps {
		differences, err := compareOutcome(&a[i], &b[i], paths)
		if err != nil {
			return nil, err
		}
		if len(differences) > 0 {
			found = append(found, StepDifference{steps[i].Name, differences, i})
		}
	}
	return found, nil
}

// SetAside removes from found what also differs between two runs against the
// same server, because it changes by itself. It returns the names of these
// steps.
func SetAside(found, changes []StepDifference) (kept []StepDifference, changing []string) {
	for _, change := range changes {
		changing = append(changing, change.Step)
		for i := range found {
			if d := &found[i]; d.At == change.At {
				d.Differences = slices.DeleteFunc(d.Differences, func(x probe.Difference) bool {
					return slices.ContainsFunc(change.Differences, func(y probe.Difference) bool { return x.Path == y.Path })
				})
			}
		}
	}
	return slices.DeleteFunc(found, func(d StepDifference) bool { return len(d.Differences) == 0 }), changing
}

func compareOutcome(a, b *Outcome, paths []probe.Places) ([]probe.Difference, error) {
	if a.Failed != b.Failed || (a.Result == nil) != (b.Result == nil) {
		return []probe.Difference{{Path: ".", A: JSONOf(a), B: JSONOf(b)}}, nil
	}
	if a.Result != nil {
		found, err := probe.DiffJSON(a.Result, b.Result, paths)
		return withoutEmptyMeta(found), err
	}
	return probe.DiffJSON(a.Err, b.Err, paths)
}

// withoutEmptyMeta removes differences that are an empty _meta.
func withoutEmptyMeta(found []probe.Difference) []probe.Difference {
	var kept []probe.Difference
	for _, d := range found {
		if d.Path == "._meta" && (string(d.A) == "{}" || string(d.B) == "{}") {
			continue
		}
		kept = append(kept, d)
	}
	return kept
}
