package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// An importSource is a client, or a file that may be one of a client.
type importSource struct {
	client *client
	file   string // "-" is standard input
}

// sourceOf finds out what an argument names: a client before a file, so
// that a folder called vscode is not in the way of VS Code.
func sourceOf(a *app, arg string) (importSource, error) {
	c, unknown := findClient(a, arg)
	if unknown == nil {
		return importSource{client: c}, nil
	}
	info, err := os.Stat(arg)
	switch {
	case arg == "-":
		return importSource{anyClient(), arg}, nil
	case err != nil && strings.ContainsAny(arg, "./"):
		return importSource{}, fail(exitUsage, codeClientFile, "", "%v", err)
	case err != nil:
		return importSource{}, unknown
	case info.IsDir():
		return importSource{}, fail(exitUsage, codeClientFile, "", "%v", unreadable(arg, errors.New(a.t("it is a folder", "这是一个文件夹"))))
	}
	return importSource{clientOfFile(arg), arg}, nil
}

// readImport reads the servers of a client or of a file.
func readImport(a *app, s importSource, tree bool) (list []translation, failed []error) {
	add := func(servers []foreign, err error) {
		if err != nil {
			failed = append(failed, err)
		}
		for _, f := range servers {
			list = append(list, translate(a, s.client, f))
		}
	}
	if s.file != "" {
		add(anyFile(a, s.file))
		return list, failed
	}
	c := s.client
	places := clientSources(a, c, tree)
	if len(places) == 0 {
		hint := a.t("looked for ", "已查找 ") + strings.Join(c.paths(a.home(), a.Getenv), ", ")
		if len(clientSources(a, c, true)) > 0 {
			hint = a.t("--from-project reads that of the working tree", "--from-project 读取工作目录中的文件")
		}
		add(nil, fail(exitUsage, codeClientFile, hint, "%s", a.t(c.name+" has no file here", "没有 "+c.name+" 的配置文件")))
	}
	for _, place := range places {
		add(readSource(a, c, place))
	}
	return list, failed
}

// anyClient is the client of a file that none is known for.
func anyClient() *client { return &client{id: "file", key: "mcpServers"} }

// anyFile reads servers from a file whose shape its keys tell.
func anyFile(a *app, path string) ([]foreign, error) {
	read := func() ([]byte, error) { return os.ReadFile(path) }
	if path == "-" {
		read = func() ([]byte, error) { return io.ReadAll(a.Stdin) }
	}
	data, err := read()
	if err != nil {
		return nil, err
	}
	format := clientJSON
	switch {
	case strings.HasSuffix(path, ".toml"):
		format = clientTOML
	case strings.HasSuffix(path, ".yaml"), strings.HasSuffix(path, ".yml"):
		format = clientYAML
	}
	var last error
	for _, key := range []string{"mcpServers", "servers", "mcp_servers", "context_servers", "mcp", "extensions", "mcp-tester.servers"} {
		for _, list := range []bool{false, true} {
			servers, err := parseClient(data, &client{key: key, list: list, format: format})
			if err != nil {
				last = err
			}
			for i := range servers {
				servers[i].dir = filepath.Dir(path)
			}
			if len(servers) > 0 {
				return servers, nil
			}
		}
	}
	if last == nil {
		last = errors.New(a.t("no servers in it", "其中没有服务"))
	}
	return nil, fail(exitUsage, codeClientFile, "", "%v", unreadable(path, last))
}
