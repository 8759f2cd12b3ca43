//go:build !linux

package pressure

import "time"

// machineMemory is not known here: GOMEMLIMIT or the configuration sets the
// limit.
func machineMemory() uint64 { return 0 }

func containerMemory() uint64 { return 0 }

func processorTime() time.Duration { return 0 }
