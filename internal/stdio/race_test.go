//go:build race

package stdio

// raceDetector multiplies the memory of a process.
const raceDetector = true
