// Package busd runs the broker as a program. It turns flags and a configuration file
// into a [bus.Config], and adds a log, a pid file, a ports file, signals and
// monitoring over HTTP to the running server.
//
// [Source.Load] returns one value, [Settings]: the flags override the file, and the
// file overrides the defaults. A reload loads it again from the same source.
// [Program] owns everything that runs.
//
// Two command lines use the package: `paddock bus`, and [Main] for tools that start
// the broker as their test server. Main takes the flags of the program that
// [ProgramName] names.
//
// The package is outside bus because cmd/paddock cannot import bus/internal.
package busd
