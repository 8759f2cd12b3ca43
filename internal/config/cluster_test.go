package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest/must"
)

const clusterSecret = "0123456789abcdef0123456789abcdef"

// Settings that cannot work are reported before a gateway starts.
func TestCluster(t *testing.T) {
	for name, tt := range map[string]struct{ section, fault string }{
		"absent":            {``, ""},
		"whole":             {`{"peer": ":3096", "secret": "` + clusterSecret + `"}`, ""},
		"two secrets":       {`{"peer": "0.0.0.0:3096", "advertise": "a.example:3096", "secret": "` + clusterSecret + `\n` + clusterSecret + `x\n"}`, ""},
		"no peer":           {`{"engine": "nats", "nats": {"urls": ["nats://a"]}, "secret": "` + clusterSecret + `"}`, "cluster.peer"},
		"no peer, members":  {`{"members": ["a:1"], "secret": "` + clusterSecret + `"}`, "cluster.peer"},
		"carried":           {`{"peer": "nats", "engine": "nats", "nats": {"urls": ["wss://a"]}, "secret": "` + clusterSecret + `"}`, ""},
		"carried by none":   {`{"peer": "nats", "secret": "` + clusterSecret + `"}`, "needs engine: nats"},
		"carried, a port":   {`{"peer": "nats", "advertise": "a:1", "engine": "nats", "nats": {"urls": ["wss://a"]}, "secret": "` + clusterSecret + `"}`, "cluster.advertise"},
		"carried, members":  {`{"peer": "nats", "members": ["a:1"], "engine": "nats", "nats": {"urls": ["wss://a"]}, "secret": "` + clusterSecret + `"}`, "cluster.members"},
		"only a port":       {`{"peer": ":3096"}`, "cluster.secret"},
		"member, no port":   {`{"peer": ":3096", "members": ["a:1", "b"], "secret": "` + clusterSecret + `"}`, "cluster.members"},
		"no port":           {`{"peer": "10.0.0.1", "secret": "` + clusterSecret + `"}`, "cluster.peer"},
		"any port":          {`{"peer": "10.0.0.1:0", "secret": "` + clusterSecret + `"}`, "cluster.peer"},
		"advertised by all": {`{"peer": ":3096", "advertise": "0.0.0.0:3096", "secret": "` + clusterSecret + `"}`, "cluster.advertise"},
		"node with a space": {`{"peer": ":3096", "node": "a b", "secret": "` + clusterSecret + `"}`, "cluster.node"},
		"short secret":      {`{"secret": "0123456789abcdef0123456789abcde"}`, "shorter than 32 bytes"},
		"one of two short":  {`{"secret": "` + clusterSecret + ` short"}`, "shorter than 32 bytes"},
		"blank secret":      {`{"secret": " \n"}`, "shorter than 32 bytes"},
		"undefined secret":  {`{"secret": "${file:nowhere}"}`, "is not defined"},
		"nats":              {`{"peer": ":3096", "engine": "nats", "nats": {"urls": ["nats://a:4222", "tls://b:4222"]}, "labels": {"gpu": "yes"}, "secret": "` + clusterSecret + `"}`, ""},
		"another engine":    {`{"peer": ":3096", "engine": "etcd", "secret": "` + clusterSecret + `"}`, "cluster.engine"},
		"nats, nowhere":     {`{"peer": ":3096", "engine": "nats", "secret": "` + clusterSecret + `"}`, "cluster.nats.urls"},
		"nats over http":    {`{"peer": ":3096", "engine": "nats", "nats": {"urls": ["http://a"]}, "secret": "` + clusterSecret + `"}`, "is not an address of NATS"},
		"nats, a password":  {`{"peer": ":3096", "engine": "nats", "nats": {"urls": ["nats://me:` + clusterSecret + `@a:4222"]}, "secret": "` + clusterSecret + `"}`, "cluster.nats.creds"},
		"nats, no creds":    {`{"peer": ":3096", "engine": "nats", "nats": {"urls": ["nats://a"], "creds": "nowhere"}, "secret": "` + clusterSecret + `"}`, "cannot be read"},
		"nats, odd name":    {`{"name": "a.b", "peer": ":3096", "engine": "nats", "nats": {"urls": ["nats://a"]}, "secret": "` + clusterSecret + `"}`, "cluster.name"},
		"label of a list":   {`{"peer": ":3096", "labels": {"gpu": ["a"]}, "secret": "` + clusterSecret + `"}`, "cluster.labels"},
		"list of something": {`{"secret": ["a"]}`, "cluster.secret"},
	} {
		t.Run("cluster/config/"+name, func(t *testing.T) {
			content := `{"mcpServers": {}}`
			if tt.section != "" {
				content = `{"cluster": ` + tt.section + `, "mcpServers": {}}`
			}
			cfg, err := config.Check("a.json", []byte(content), config.LoadOptions{Home: t.TempDir()})
			if tt.fault == "" && (err != nil || cfg.Cluster.Enabled() != (tt.section != "")) {
				t.Errorf("%+v, %v", cfg, err)
			}
			if tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
				t.Errorf("error %v, want %q", err, tt.fault)
			}
			if err != nil && strings.Contains(err.Error(), clusterSecret) {
				t.Errorf("the secret is told: %v", err)
			}
		})
	}
}

// What is reported is named: a value that is absent, one with a variable, and the
// flag in the place of the file.
func TestClusterNamed(t *testing.T) {
	t.Setenv("AIO_TEST_VALUE", "10.0.0.1")
	const member = `"secret": "${file:secret}"`
	for name, tt := range map[string]struct {
		section string
		flags   config.ClusterFlags
		want    string
	}{
		"absent":   {`{` + member + `, "peer": ":3096", "engine": "nats"}`, config.ClusterFlags{}, `: the cluster: nats.urls is absent`},
		"no peer":  {`{` + member + `, "engine": "nats", "nats": {"urls": ["nats://a"]}}`, config.ClusterFlags{}, `: the cluster: peer is not an address`},
		"variable": {`{` + member + `, "peer": "${AIO_TEST_VALUE}"}`, config.ClusterFlags{}, `: the cluster: ${AIO_TEST_VALUE} is not an address`},
		"item":     {`{` + member + `, "peer": ":3096", "members": ["a:1", "${AIO_TEST_VALUE}"]}`, config.ClusterFlags{}, `: the cluster: ${AIO_TEST_VALUE} is not an address`},
		"plain":    {`{` + member + `, "peer": ":3096", "members": ["b", "${AIO_TEST_VALUE}:1"]}`, config.ClusterFlags{}, `: the cluster: b is not an address`},
		"--peer":   {`{` + member + `}`, config.ClusterFlags{Peer: "nonsense"}, `error[AIO2055]: the cluster: --peer nonsense is not an address`},
		"--node":   {`{` + member + `, "peer": ":3096"}`, config.ClusterFlags{Node: "a b"}, `error[AIO2055]: the cluster: --node a b has white space`},
		"--join":   {`{` + member + `}`, config.ClusterFlags{Join: "http://x"}, `error[AIO2055]: the cluster: --join http://x is not an address of NATS`},
		"password": {`{` + member + `}`, config.ClusterFlags{Join: "nats://me:" + clusterSecret + "@x"}, `the cluster: --join x has a password`},
	} {
		t.Run("cluster/config/named/"+name, func(t *testing.T) {
			dir := t.TempDir()
			must.Write(t, filepath.Join(dir, "secret"), clusterSecret)
			_, err := config.Check(filepath.Join(dir, "a.json"), []byte(`{"cluster": `+tt.section+`, "mcpServers": {}}`), config.LoadOptions{Home: dir, Cluster: tt.flags, LookupEnv: os.LookupEnv})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			if said := err.Error(); strings.Contains(said, clusterSecret) || strings.Contains(said, "10.0.0.1") || strings.Contains(said, "needs cluster.secret") || strings.HasPrefix(name, "--") && strings.Contains(said, "a.json") {
				t.Errorf("%s", said)
			}
		})
	}
}

// The flag --join makes a replica of a file that has only the secret, and
// overrides the port of one that has more.
func TestJoin(t *testing.T) {
	for name, section := range map[string]string{
		"secret": `{"secret": "` + clusterSecret + `", "config": "shared"}`,
		"port":   `{"secret": "` + clusterSecret + `", "peer": ":3096", "advertise": "a:3096", "members": ["b:3096"]}`,
	} {
		t.Run("cluster/config/join/"+name, func(t *testing.T) {
			content := []byte(`{"cluster": ` + section + `, "mcpServers": {"s": {"command": "x"}}}`)
			cfg, err := config.Check("a.json", content, config.LoadOptions{Home: t.TempDir(), Cluster: config.ClusterFlags{Join: "wss://nats.example"}})
			if err != nil {
				t.Fatal(err)
			}
			if c := &cfg.Cluster; !c.Carried() || !c.Agrees() || c.NATS.URLs[0] != "wss://nats.example" || c.Advertise != "" || len(cfg.Problems) > 0 {
				t.Errorf("%+v, %v", c, cfg.Problems)
			}
			if place := cfg.Schemas[0].Servers[0].Place; place != config.PlaceOne {
				t.Errorf("place %s", place)
			}
			alone, err := config.Check("a.json", content, config.LoadOptions{Home: t.TempDir()})
			if err != nil || alone.Cluster.Enabled() != (name == "port") || (len(alone.Problems) > 0) != (name == "secret") {
				t.Errorf("without the flag: %v, %+v", err, alone)
			}
		})
	}
	t.Run("cluster/config/join/no secret", func(t *testing.T) {
		_, err := config.Check("a.json", []byte(`{"mcpServers": {}}`), config.LoadOptions{Home: t.TempDir(), Cluster: config.ClusterFlags{Join: "wss://nats.example"}})
		if err == nil || !strings.Contains(err.Error(), "cluster.secret") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("cluster/config/join/no address", func(t *testing.T) {
		_, err := config.Check("a.json", []byte(`{"cluster": {"secret": "`+clusterSecret+`"}, "mcpServers": {}}`), config.LoadOptions{Home: t.TempDir(), Cluster: config.ClusterFlags{Join: "nats.example"}})
		if err == nil || !strings.Contains(err.Error(), "is not an address of NATS") {
			t.Errorf("error %v", err)
		}
	})
}

func TestPlace(t *testing.T) {
	engine := `"cluster": {"peer": ":3096", "engine": "nats", "nats": {"urls": ["nats://a"]}, "secret": "` + clusterSecret + `"}, `
	for name, tt := range map[string]struct{ before, server, place, remark string }{
		"once":             {engine, `"command": "x", "place": "one", "on": {"gpu": "yes"}, "fence": true`, config.PlaceOne, ""},
		"each":             {engine, `"command": "x", "place": "each"`, config.PlaceEach, ""},
		"unsaid":           {engine, `"command": "x"`, config.PlaceOne, ""},
		"unsaid, alone":    {"", `"command": "x"`, config.PlaceEach, ""},
		"unsaid, http":     {engine, `"url": "http://h/mcp"`, config.PlaceEach, ""},
		"sessions":         {engine, `"command": "x", "share": "session"`, config.PlaceEach, ""},
		"sessions, labels": {engine, `"command": "x", "share": "session", "on": {"gpu": "yes"}`, config.PlaceOne, ""},
		"projects":         {engine, `"command": "x", "share": "project"`, config.PlaceEach, ""},
		"projects, once":   {engine, `"command": "x", "share": "project", "place": "one"`, config.PlaceEach, "place one has no effect with share: project"},
		"projects, labels": {engine, `"command": "x", "share": "project", "on": {"gpu": "yes"}`, config.PlaceEach, "on has no effect without place: one"},
		"labels":           {engine, `"command": "x", "on": {"gpu": "yes"}`, config.PlaceOne, ""},
		"no engine":        {"", `"command": "x", "place": "one"`, config.PlaceEach, "place one has no effect without cluster.engine: nats"},
		"over http":        {engine, `"url": "http://h/mcp", "place": "one"`, config.PlaceEach, "one applies only to servers with a command"},
		"labels for each":  {engine, `"command": "x", "place": "each", "on": {"gpu": "yes"}`, config.PlaceEach, "on has no effect without place: one"},
		"fence for each":   {engine, `"command": "x", "place": "each", "fence": true`, config.PlaceEach, "fence has no effect without place: one"},
		"users":            {engine, `"command": "x", "perUser": {"k": {"env": "K"}}`, config.PlaceEach, ""},
		"users, once":      {engine, `"command": "x", "place": "one", "perUser": {"k": {"env": "K"}}`, config.PlaceEach, "place one has no effect with perUser"},
		"another place":    {engine, `"command": "x", "place": "two"`, "", "is not one of one, each"},
		"label of numbers": {engine, `"command": "x", "place": "one", "on": {"gpu": {}}`, "", "on"},
	} {
		t.Run("cluster/config/place/"+name, func(t *testing.T) {
			cfg, err := config.Check("a.json", []byte(`{`+tt.before+`"mcpServers": {"s": {`+tt.server+`}}}`), config.LoadOptions{Home: t.TempDir()})
			if tt.place == "" {
				if err == nil || !strings.Contains(err.Error(), tt.remark) {
					t.Errorf("error %v, want %q", err, tt.remark)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s := cfg.Schemas[0].Servers[0]; s.Place != tt.place {
				t.Errorf("place %s", s.Place)
			}
			var said []string
			for _, p := range cfg.Problems {
				said = append(said, p.Message)
			}
			if got := strings.Join(said, "\n"); tt.remark != "" && !strings.Contains(got, tt.remark) || tt.remark == "" && strings.Contains(got, "place") {
				t.Errorf("remarks %q, want %q", got, tt.remark)
			}
		})
	}
}
