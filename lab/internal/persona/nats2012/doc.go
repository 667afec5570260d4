// Package nats2012 makes the Go benchmarks of the NATS server of 2012 again, as they were
// made: operations rendered once, written through a buffer of 32 KiB over one connection,
// a PING behind them; the time runs until its PONG, or until the last byte of what is
// delivered. Against any server, and as lines that benchstat reads.
package nats2012
