// Package busd runs the broker as a program: what an operator gives it as flags and
// configuration file becomes a [bus.Config], and the running server gets what a
// program on a machine has around it: a log, a pid file, a ports file, signals,
// monitoring over HTTP.
//
// The model is one value, [Settings], made by [Source.Load]: the defaults, then the
// file, then the flags, each over the former. A reload loads it again from the same
// source. [Program] owns everything that runs.
//
// Two command lines lead here: `paddock bus`, and, for tools that start the broker
// as their test server, [Main], which takes the flags of the program whose name
// [ProgramName] is.
//
// It is not below bus, as cmd/paddock cannot import bus/internal.
package busd
