package natsengine

import (
	"fmt"
	"strings"

	"mcp-all-in-one/internal/cluster"
)

// Permissions returns what the replicas of a cluster need to do in NATS, as the
// permissions of a user in the configuration of nats-server. A wildcard there is a
// whole word, so each bucket is named.
func Permissions(name string) string {
	own := subject(name, ">")
	publish := []string{own, "$JS.API.INFO"}
	for _, bucket := range []string{cluster.Live, cluster.Records, cluster.Places} {
		bucket := bucketName(name, bucket)
		stream := "KV_" + bucket
		publish = append(publish, "$KV."+bucket+".>")
		for _, verb := range []string{"STREAM.CREATE", "STREAM.UPDATE", "STREAM.INFO", "CONSUMER.CREATE"} {
			publish = append(publish, "$JS.API."+verb+"."+stream)
		}
		for _, verb := range []string{"DIRECT.GET", "CONSUMER.CREATE", "CONSUMER.DELETE"} {
			publish = append(publish, "$JS.API."+verb+"."+stream+".>")
		}
		publish = append(publish, "$JS.FC."+stream+".>") // a watch tells how much it has read
	}
	list := func(subjects ...string) string {
		return "    \"" + strings.Join(subjects, "\"\n    \"") + "\"\n"
	}
	return fmt.Sprintf("# The gateways of cluster %s need this in NATS, and nothing else.\npermissions: {\n  publish: { allow: [\n%s  ] }\n  subscribe: { allow: [\n%s  ] }\n}\n",
		name, list(publish...), list(own))
}
