// Package monitordiff compares what the bus answers to its monitoring with what the
// reference server does, after the same traffic: every field that the reference
// always has must be there, of a type that its own structures take, and what both
// count must be the same.
package monitordiff
