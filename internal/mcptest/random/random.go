// Package random gives each run of a test other random numbers, and lets a run
// that failed be repeated.
package random

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable with the seed of a run to repeat.
const Variable = "TEST_SEED"

// Seed returns a new seed, or the one of TEST_SEED. A test that fails prints it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(Variable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", Variable, err)
		}
	}
	t.Logf("%s=%d repeats this run", Variable, seed)
	return seed
}

// New returns random numbers with a seed of their own.
func New(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0))
}
