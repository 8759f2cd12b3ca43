package gateway

import (
	"encoding/json"
	"fmt"
	"strconv"
)

func marshal(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("gateway: encoding %T: %v", v, err))
	}
	return raw
}

func formatID(n uint64) string { return strconv.FormatUint(n, 10) }
