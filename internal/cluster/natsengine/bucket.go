package natsengine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"mcp-all-in-one/internal/cluster"
)

// kept is how many versions of a document are kept, so that people can restore
// an earlier one.
const kept = 10

// Error codes of JetStream that its client library does not name.
const (
	codeNoPeers     = 10005 // there are fewer servers than replicas of the bucket
	codeNotReplicas = 10074 // there is only one server
)

// bucket opens a bucket, and creates it if it does not exist.
func (e *Engine) bucket(ctx context.Context, name string) (jetstream.KeyValue, error) {
	e.mu.Lock()
	kv := e.buckets[name]
	e.mu.Unlock()
	if kv != nil {
		return kv, nil
	}
	kv, err := e.openBucket(ctx, name)
	if err != nil {
		return nil, e.failed(name, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.buckets[name] = kv
	return kv, nil
}

func (e *Engine) openBucket(ctx context.Context, name string) (jetstream.KeyValue, error) {
	cfg := jetstream.KeyValueConfig{
		Bucket: e.bucketName(name), Description: "mcp-all-in-one, cluster " + e.name, History: 1, LimitMarkerTTL: markers, Replicas: copies,
		Storage: jetstream.FileStorage,
	}
	switch name {
	case cluster.Live:
		cfg.Storage = jetstream.MemoryStorage
	case cluster.Records:
		cfg.History = kept
	}
	kv, err := e.js.CreateOrUpdateKeyValue(ctx, cfg)
	var api *jetstream.APIError
	if !errors.As(err, &api) || api.ErrorCode != codeNotReplicas && api.ErrorCode != codeNoPeers {
		return kv, err
	}
	if kv, err = e.js.KeyValue(ctx, cfg.Bucket); err == nil {
		return kv, nil
	}
	cfg.Replicas = 1
	kv, err = e.js.CreateKeyValue(ctx, cfg)
	if errors.Is(err, jetstream.ErrBucketExists) { // another replica was faster
		return e.js.KeyValue(ctx, cfg.Bucket)
	}
	return kv, err
}

func (e *Engine) bucketName(bucket string) string { return bucketName(e.name, bucket) }

func bucketName(cluster, bucket string) string { return "aio_" + cluster + "_" + bucket }

// subject returns the subject of a topic of a cluster.
func subject(cluster, topic string) string { return "aio." + cluster + "." + topic }

// encode converts a key to a subject: words separated by dots. Other characters
// become = and two hex digits.
func encode(key string) string {
	var b strings.Builder
	for _, c := range []byte(key) {
		switch {
		case c == '/':
			b.WriteByte('.')
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// decode is the inverse of encode.
func decode(subject string) string {
	var b strings.Builder
	for i := 0; i < len(subject); i++ {
		switch c := subject[i]; c {
		case '.':
			b.WriteByte('/')
		case '=':
			if n, err := strconv.ParseUint(subject[i+1:min(i+3, len(subject))], 16, 8); err == nil {
				b.WriteByte(byte(n))
			}
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

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
