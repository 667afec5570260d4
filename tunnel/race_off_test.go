//go:build !race

package tunnel

const raceEnabled = false

const crowd = 200
