// Package wrk is what people who use wrk give to it and read from it: its numbers with
// units, its statistics, its block of text and its Lua scripts, over package load.
//
// wrk (since version 4) bends the response times of a run after it: it adds what it takes
// for requests that were left out while the service stood still. [Stats.Correct] does the
// same, so that the numbers can be set beside what was measured. Nothing else here changes
// a measured number.
package wrk
