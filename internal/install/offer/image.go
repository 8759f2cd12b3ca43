package offer

import (
	"bytes"
	"context"
	"os/exec"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
)

// Image returns the offer of an image that a person named. Its digest is asked
// of its registry, and nothing is downloaded.
func Image(ctx context.Context, cfg *config.Config, word string, variables map[string]string, args []string) (*Offer, error) {
	im, err := pinned(ctx, cfg, word)
	if err != nil {
		return nil, err
	}
	engine, why := engineHere(ctx)
	if engine == "" {
		return nil, install.Needs(install.Engines[0])
	}
	return ofImage(im, im.Run(engine, variables, args), why), nil
}

func pinned(ctx context.Context, cfg *config.Config, word string) (*install.Image, error) {
	im, err := install.NewImage(word)
	if err != nil {
		return nil, err
	}
	return im, im.Pin(ctx, bases(cfg))
}

func ofImage(im *install.Image, entry *install.Entry, why i18n.Text) *Offer {
	o := &Offer{Local: install.LocalName(im.Path), Way: install.OCI, Ways: []string{install.OCI}}
	o.Head = i18n.New("%s   an image", "%s   镜像", im.Name())
	o.rows = append([]Row{{i18n.Pair("sha256", "sha256"), i18n.Plain(im.Digest)}}, engineRows(why)...)
	o.fill = func(string, install.Answers) (*install.Filled, error) { return &install.Filled{Entry: entry}, nil }
	return o
}

// engineRows says why an engine was chosen, if there is something to say.
func engineRows(why i18n.Text) []Row {
	if why.Empty() {
		return nil
	}
	return []Row{{i18n.New("engine", "引擎"), why}}
}

// engineWait is how long an engine may take to say that it works.
const engineWait = 10 * time.Second

// engineHere returns the engine that runs images on this machine, "" if there is
// none. If the first engine is installed but does not work, a later one that works
// is taken, and why says so.
func engineHere(ctx context.Context) (engine string, why i18n.Text) {
	var present []string
	for _, name := range install.Engines {
		if inPath(name) {
			present = append(present, name)
		}
	}
	if len(present) == 0 {
		return "", i18n.Text{}
	}
	if len(present) == 1 { // its own error says what is wrong when it starts
		return present[0], i18n.Text{}
	}
	said := works(ctx, present[0])
	if said == "" || works(ctx, present[1]) != "" {
		return present[0], i18n.Text{}
	}
	return present[1], i18n.New("%s, because %s is installed but does not work: %s", "%s，因为 %s 已安装但无法使用：%s", present[1], present[0], install.Show(said))
}

// works asks an engine for its version, which docker has of its daemon only. It
// returns why the engine does not work; "" if it does.
func works(ctx context.Context, engine string) string {
	ctx, cancel := context.WithTimeout(ctx, engineWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, engine, "version")
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	if err == nil {
		return ""
	}
	if line := bytes.TrimSpace(said.Bytes()); len(line) > 0 {
		return string(line)
	}
	return err.Error()
}
