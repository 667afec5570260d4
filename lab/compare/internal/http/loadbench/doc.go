// Package loadbench holds the goals of bench-load: `paddock bench http` beside wrk, ab, hey
// and oha, each a process of its own, before services that cost little or whose response
// times are known.
package loadbench
