package enginetest

import (
	"testing"
	"testing/synctest"
)

func TestMemory(t *testing.T) {
	for _, p := range Properties {
		t.Run("cluster/engine/memory/"+p.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p.Check(t, New())
			})
		})
	}
}
