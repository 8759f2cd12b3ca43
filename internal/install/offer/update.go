package offer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
	"mcp-all-in-one/internal/jsonrpc"
)

// An Update is the version that the origin of a server offers now.
type Update struct {
	// Offer is nil if that version is installed.
	*Offer
	From, To string
	// Older says that the version is older than the installed one.
	Older bool
	// Moved says that secrets of the entry would be sent to another host. Ready
	// sets it.
	Moved bool
	// OtherSigner says that the bundle has another signer than the installed one,
	// or none.
	OtherSigner bool
	// Asked are the questions of the installed version; empty if they are
	// unknown.
	Asked []install.Question
	// Answers are the answers from which the entry was made, as far as they can
	// be recovered.
	Answers install.Answers

	server *config.Server
	entry  []byte // the entry in the file
	recall *install.Recall
	made   *install.Filled // the entry as it was installed; nil if unknown
}

// FindUpdate looks up the origin of a server. to is a version in a registry, or
// "" for the latest. It writes nothing.
func FindUpdate(ctx context.Context, a *env.Env, cfg *config.Config, s *config.Server, to string) (*Update, error) {
	from := s.Origin
	switch {
	case s.Waits() != nil:
		return nil, i18n.Errorf("%s waits for approval; approve it first, or remove it", "%s 正在等待批准；请先批准或移除", s.Name)
	case from.Registry == "" && from.Bundle == "" && from.Image == "":
		return nil, i18n.Errorf("%s was not added from a registry or a bundle, so its newer versions cannot be found", "%s 不是从注册表或安装包添加的，无法查找新版本", s.Name)
	case from.Bundle != "" && from.Registry == "" && to != "":
		return nil, i18n.Errorf("%s came from a bundle, which has only one version: the one at %s", "%s 来自安装包，只有一个版本，即 %s 中的版本", s.Name, install.Show(from.Bundle))
	}
	u := &Update{From: from.Version, server: s}
	var err error
	switch {
	case from.Registry != "":
		err = u.findRecord(ctx, a, cfg, to)
	case from.Image != "":
		err = u.findImage(ctx, cfg, to)
	default:
		err = u.findBundle(ctx, a)
	}
	if err != nil || u.Offer == nil {
		return u, err
	}
	if err = u.read(a, cfg); err == nil {
		u.remember(ctx, a, cfg)
	} else {
		u.Close()
	}
	return u, err
}

// findRecord asks the registries for the record.
func (u *Update) findRecord(ctx context.Context, a *env.Env, cfg *config.Config, to string) error {
	from := u.server.Origin
	r := registries(ctx, cfg)
	defer r.Close()
	rec, err := r.Find(ctx, from.Name, to)
	if err != nil {
		return err
	}
	if u.To = rec.Server.Version; u.To == from.Version {
		return nil
	}
	if u.Offer, err = ofRecord(ctx, a, cfg, rec, u.way()); err != nil {
		return err
	}
	u.compare()
	u.compareSigner()
	if rec.Registry != from.Registry {
		u.Alarms = append(u.Alarms, i18n.New("it comes from the registry %s now; the installed one came from %s", "现在来自注册表 %s；已安装的来自 %s", rec.Registry, install.Show(from.Registry)))
	}
	return nil
}

// findBundle reads the bundle from its origin.
func (u *Update) findBundle(ctx context.Context, a *env.Env) error {
	from := u.server.Origin
	o, err := findBundle(ctx, a, from.Bundle, "")
	if err != nil {
		return err
	}
	u.To = o.bundle.Manifest.Release
	if o.bundle.SHA256 == from.SHA256 {
		o.Close()
		return nil
	}
	u.Offer = o
	u.compare()
	u.compareSigner()
	if o.bundle.Manifest.Name != from.Name {
		u.Alarms = append(u.Alarms, i18n.New("it calls itself %s now; the installed one is %s", "现在自称 %s；已安装的是 %s", install.Show(o.bundle.Manifest.Name), install.Show(from.Name)))
	}
	return nil
}

// findImage asks the registry of the image for the digest of its tag, or of the tag
// to. A tag can be moved, so the digest is part of the version.
func (u *Update) findImage(ctx context.Context, cfg *config.Config, to string) error {
	im, err := install.NewImage(u.server.Origin.Image)
	if err != nil {
		return err
	}
	was := *im
	was.PinnedIn(u.server.Args)
	im.Tag = cmp.Or(to, im.Tag)
	if err := im.Pin(ctx, bases(cfg)); err != nil {
		return err
	}
	if u.From, u.To = was.Version(), im.Version(); was.Digest == im.Digest && was.Tag == im.Tag {
		return nil
	}
	s := u.server
	u.Offer = ofImage(im, im.In(install.Entry{Command: s.Command, Args: s.Args}), i18n.Text{})
	return nil
}

// compareSigner finds out whether the new bundle has the same signer as the
// installed one.
func (u *Update) compareSigner() {
	was := u.server.Origin.Signer
	if u.bundle == nil || was == "" || u.bundle.Signature.By(was) {
		return
	}
	u.OtherSigner = true
	u.Alarms = append(u.Alarms, i18n.New("the installed bundle was signed by %s; this one: %v", "已安装的安装包由 %s 签名；这一个：%v", install.Show(was), signedBy(u.bundle.Signature)))
}

// compare finds out whether the version is older than the installed one. Versions
// of another form than 1.2.3 cannot be compared; then the origin decides what is new.
func (u *Update) compare() {
	from, to := "v"+u.From, "v"+u.To
	if u.Older = semver.IsValid(from) && semver.IsValid(to) && semver.Compare(to, from) < 0; u.Older {
		u.Alarms = append(u.Alarms, i18n.New("this is an older version: %s is installed, and this is %s", "这是旧版本：已安装 %s，而这是 %s", install.Show(u.From), install.Show(u.To)))
	}
}

// way returns how the server runs now. An update keeps it.
func (u *Update) way() string {
	switch s := u.server; {
	case s.Origin.SHA256 != "":
		return install.MCPB
	case s.URL != "":
		return install.Remote
	default:
		return install.WayOf(s.Command)
	}
}

// read reads the entry from the file.
func (u *Update) read(a *env.Env, cfg *config.Config) error {
	s := u.server
	_, err := edit.Update(cfg.Path, a.WriteOptions(), func(d *edit.Draft) error {
		if d.ApprovalHash(s.Schema, s.Name) != s.ApprovalHash() {
			return changedMeanwhile(s.Name)
		}
		u.entry = d.Entry(s.Schema, s.Name)
		return env.ErrLookOnly
	})
	if errors.Is(err, env.ErrLookOnly) {
		return nil
	}
	return err
}

func changedMeanwhile(name string) error {
	return i18n.Errorf("the entry of %s changed in the meantime, so nothing was written", "%s 的条目在此期间已改变，没有写入任何内容", name)
}

// remember finds the questions of the installed version, and the answers in its
// entry. If the installed version is not available any more, it uses the
// questions of the new one.
func (u *Update) remember(ctx context.Context, a *env.Env, cfg *config.Config) {
	var was install.Entry
	_ = json.Unmarshal(u.entry, &was) // an entry in another form was not made by add and contains no answers
	list, fill := u.Questions, u.fill
	if asked, made := u.installed(ctx, a, cfg); made != nil {
		u.Asked, list, fill = asked, asked, made
	}
	u.recall = install.NewRecall(list, u.server.Name, &was, fill)
	u.Answers = install.Answers{}
	for kind, answers := range u.recall.Answers {
		for id, texts := range answers {
			if slices.ContainsFunc(u.Questions, func(q install.Question) bool { return q.Kind == kind && q.ID == id }) {
				u.Answers.Set(&install.Question{Kind: kind, ID: id}, texts...)
			}
		}
	}
	if made, err := fill(u.server.Name, u.recall.Answers); err == nil {
		u.recall.Keep(made)
		made.Entry.Confine()
		u.made = made
	}
}

// installed returns the questions of the installed version, and the function
// that made its entry.
func (u *Update) installed(ctx context.Context, a *env.Env, cfg *config.Config) ([]install.Question, func(string, install.Answers) (*install.Filled, error)) {
	from := u.server.Origin
	if from.SHA256 != "" {
		b, err := install.Unpacked(bundlesDir(), from.SHA256)
		if err != nil {
			return nil, nil
		}
		if plan, err := b.Plan(thisSystem(ctx, a)); err == nil {
			return plan.Questions, plan.Fill
		}
		return nil, nil
	}
	if from.Image != "" {
		return nil, nil
	}
	r := registries(ctx, cfg)
	defer r.Close()
	rec, err := r.Find(ctx, from.Name, from.Version)
	if err != nil {
		return nil, nil
	}
	if plan, err := planOf(cfg, rec, u.way(), func() string { return u.server.Command }); err == nil {
		if plan.Image != nil {
			plan.Image.PinnedIn(u.server.Args)
		}
		return plan.Questions, plan.Fill
	}
	return nil, nil
}

// Open returns the questions that a person must answer: new ones, and required
// ones without an answer.
func (u *Update) Open() []install.Question {
	missing := install.Missing(u.Questions, u.Answers)
	return slices.DeleteFunc(slices.Clone(u.Questions), func(q install.Question) bool {
		same := func(other install.Question) bool { return other.Kind == q.Kind && other.ID == q.ID }
		return slices.ContainsFunc(u.Asked, same) && !slices.ContainsFunc(missing, same)
	})
}

// Ready returns the entry of the new version. It keeps everything that a person
// has added to the old entry.
func (u *Update) Ready(cfg *config.Config) (*Ready, error) {
	s := u.server
	r, err := u.Offer.Ready(cfg, Terms{Schema: s.Schema, Local: s.Name, Answers: u.Answers, Confined: jsonrpc.Get(u.entry, "sandbox") != nil, Replace: true})
	if err != nil {
		return nil, err
	}
	u.recall.Keep(r.filled)
	fresh, err := r.filled.Entry.JSON()
	if err != nil {
		return nil, err
	}
	r.was, r.wasHash = u.entry, s.ApprovalHash()
	if r.Entry, err = u.merge(fresh); err != nil {
		return nil, err
	}
	was, now := hostOf(u.entry), hostOf(r.Entry)
	if u.Moved = was != now && hasSecrets(r.Entry, u.Answers); u.Moved {
		u.Alarms = append(u.Alarms, i18n.New("its secrets would be sent to another host: %s, and until now %s", "其密钥将发送到另一主机：%s，此前为 %s", install.Show(now), install.Show(was)))
	}
	return r, nil
}

// hostOf returns the scheme and the host of the URL of an entry.
func hostOf(entry []byte) string {
	text, _ := jsonrpc.GetString(entry, "url")
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// hasSecrets reports whether an entry has values that may be secret.
func hasSecrets(entry []byte, answers install.Answers) bool {
	text, _ := jsonrpc.GetString(entry, "url")
	return len(answers) > 0 || strings.Contains(text, "${") || jsonrpc.Get(entry, "headers") != nil || jsonrpc.Get(entry, "env") != nil
}

// Was returns the entry that will be replaced.
func (u *Update) Was() []byte { return u.entry }

// merge puts the keys that add writes into the existing entry.
func (u *Update) merge(fresh []byte) ([]byte, error) {
	entry := u.entry
	for _, key := range []string{"type", "command", "args", "url", "origin"} {
		entry = jsonrpc.Set(entry, jsonrpc.Get(fresh, key), key)
	}
	for _, key := range []string{"env", "headers"} {
		values := map[string]json.RawMessage{}
		for name, value := range jsonrpc.Members(jsonrpc.Get(u.entry, key)) {
			if !u.wrote(key, name) {
				values[name] = value
			}
		}
		for name, value := range jsonrpc.Members(jsonrpc.Get(fresh, key)) {
			values[name] = value
		}
		raw, err := json.Marshal(values)
		if err != nil {
			return nil, err
		}
		if len(values) == 0 {
			raw = nil
		}
		entry = jsonrpc.Set(entry, raw, key)
	}
	return jsonrpc.Set(entry, u.sandbox(fresh), "sandbox"), nil
}

// wrote reports whether add wrote a variable or a header of the entry.
func (u *Update) wrote(key, name string) bool {
	if u.made == nil {
		return false
	}
	values := u.made.Entry.Env
	if key == "headers" {
		values = u.made.Entry.Headers
	}
	_, ok := values[name]
	return ok
}

// sandbox keeps the sandbox of the entry if a person chose it, with the folder
// of the new bundle.
func (u *Update) sandbox(fresh []byte) []byte {
	now := jsonrpc.Get(u.entry, "sandbox")
	if u.made != nil {
		if was, err := u.made.Entry.JSON(); err == nil && sameJSON(jsonrpc.Get(was, "sandbox"), now) {
			return jsonrpc.Get(fresh, "sandbox")
		}
	}
	if from := u.server.Origin.SHA256; from != "" && now != nil {
		now = bytes.ReplaceAll(now, []byte(from), []byte(u.bundle.SHA256))
	}
	return now
}

func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
