// Package ab is ApacheBench over package load: its flags, the requests that it sends, and
// what it prints, in the same columns, so that what people have written around it goes on
// working. Where its figures are wrong, or its memory has no bound, the comment says what is
// different here.
//
// [Options] are a command line. They make the codec of a run; a [Recorder] is told of each
// request that ends, and its [Report] writes the text and the files.
package ab
