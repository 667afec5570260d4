//go:build race

package diff

// raceEnabled: one goroutine of much arithmetic shows no races, and takes ten times as long.
const raceEnabled = true
