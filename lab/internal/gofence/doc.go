// Package gofence reproduces the tables of the original benchmarks: what they posted,
// the load, the process that is measured, and their figures to stand beside ours.
//
// For gofence, a [Corpus] is what it posted, [Server] is `paddock fence` as a
// process, [ClosedLoop] the load, [FetchProfile] takes the profile, [Attribute]
// divides it among [Bucket]s, and [ProfileReport] is its table.
package gofence
