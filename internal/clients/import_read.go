package clients

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mcp-all-in-one/internal/env"
)

// An ImportSource is a client, or a file that may belong to a client.
type ImportSource struct {
	client *Client
	file   string // "-" is standard input
}

// SourceOf interprets an argument as a client or else as a file. Clients come
// first, so that a folder named vscode does not hide VS Code.
func SourceOf(a *env.Env, arg string) (ImportSource, error) {
	c, unknown := Find(a, arg)
	if unknown == nil {
		return ImportSource{client: c}, nil
	}
	info, err := os.Stat(arg)
	switch {
	case arg == "-":
		return ImportSource{anyClient(), arg}, nil
	case err != nil && strings.ContainsAny(arg, "./"):
		return ImportSource{}, env.Fail(env.ExitUsage, env.CodeClientFile, a.T("give the path of a file; mcp-all-in-one import lists the known clients", "请给出文件路径；mcp-all-in-one import 列出已知的客户端"), "%v", err)
	case err != nil:
		return ImportSource{}, unknown
	case info.IsDir():
		return ImportSource{}, env.Fail(env.ExitUsage, env.CodeClientFile, "", "%v", unreadable(arg, errors.New(a.T("it is a folder", "这是一个文件夹"))))
	}
	return ImportSource{clientOfFile(arg), arg}, nil
}

// ReadImport reads the servers of a client or of a file.
func ReadImport(a *env.Env, s ImportSource, tree bool) (list []Translation, failed []error) {
	add := func(strange bool, servers []foreign, err error) {
		if err != nil {
			failed = append(failed, err)
		}
		for _, f := range servers {
			t := translate(a, s.client, f)
			t.strange = strange
			list = append(list, t)
		}
	}
	if s.file != "" {
		servers, err := anyFile(a, s.file)
		add(true, servers, err)
		return list, failed
	}
	c := s.client
	places := clientSources(a, c, tree)
	if len(places) == 0 {
		hint := a.T("looked for ", "已查找 ") + strings.Join(c.Paths(a.Home(), a.Getenv), ", ")
		if len(clientSources(a, c, true)) > 0 {
			hint = a.T("--from-project reads that of the working tree", "--from-project 读取工作目录中的文件")
		}
		add(false, nil, env.Fail(env.ExitUsage, env.CodeClientFile, hint, "%s", a.T(c.Name+" has no file here", "没有 "+c.Name+" 的配置文件")))
	}
	for _, place := range places {
		servers, err := readSource(a, c, place)
		add(place.scope == scopeProject, servers, err)
	}
	return list, failed
}

// anyClient returns the client for a file of an unknown client.
func anyClient() *Client { return &Client{ID: "file", key: "mcpServers"} }

// anyFile reads servers from a file. The keys in it determine its format.
func anyFile(a *env.Env, path string) ([]foreign, error) {
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
			servers, err := Parse(data, &Client{key: key, list: list, format: format})
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
		last = errors.New(a.T("no servers in it", "其中没有服务器"))
	}
	return nil, env.Fail(env.ExitUsage, env.CodeClientFile, "", "%v", unreadable(path, last))
}
