// Package runfile writes down what came of a run of package load, so that people and other
// programs can look at it later.
//
// A [Recorder] is told of each second while the run goes on. It keeps what a [Document]
// says about all of them, in bounded room, and hands them on to the files of a
// [Directory], which are written as the run goes: however long that is, memory does not
// grow. The document itself, run.json, is written at the end; schema.json describes it.
//
//	run.json       everything, for programs
//	seconds.csv    one line for each second, for spreadsheets
//	seconds.ndjson the same with more in it, one JSON object for each
//	run.hlog       the histograms of each second, as HdrHistogram's log
//	response.hgrm  the percentiles of the response times, to be plotted; service, lag too
//	bench.txt      one Go benchmark line, which benchstat reads
//
// A file that cannot be written does not end the run: the document names what is missing.
// What is not known is null, and so is everything about no requests at all. Times in files
// for programs are in ns and their names say so.
package runfile
