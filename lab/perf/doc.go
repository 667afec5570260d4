// Package perf measures wire, and proves what it carries: the perf server,
// and the runs against it that `paddock bench wire` makes.
//
// A run deals its operations to the routines of its connections, lets them go at
// the same moment, and times each call. What a run says at the end does not rest
// on the client alone: a run of posts asks the server how many it has had, a
// stream ends with the receiver's count, and the processor time of both processes
// is in the report.
//
// A verifying run mixes posts, acknowledged posts, requests and streams, each
// body with its number and checksum, and both ends check every one. It reports
// exactly which calls failed.
package perf
