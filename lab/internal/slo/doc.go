// Package slo reads objectives for a run, and says whether they were met:
//
//	p99<50ms, err<0.1%, rate>=0.99*target
//
// Semicolons and spaces stand between them as well.
//
// An objective is a measure, one of < <= > >=, and a limit:
//
//	p50, p99.9, ...   of the response times; p100 is the longest
//	mean, min, max    of the response times
//	err               the share of requests that failed or had no answer: 0.1%, 0.001
//	rate              good answers per second: 1000, 1000/s, 0.99*target, target
//
// Of other times than the response they are service.p99, lag.max, connect.mean,
// first-byte.p50.
//
// A request that was never answered is slower than any limit: leaving it out would make a
// service that stops answering look good.
//
// Where the generator was the bottleneck, the numbers are bounds, see [CheckBounds].
package slo
