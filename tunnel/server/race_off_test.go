//go:build !race

package server

const raceEnabled = false

const crowd = 200
