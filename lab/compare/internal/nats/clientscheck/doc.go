// Package clientscheck runs the same programs of a NATS client against two
// servers, nats-server and ours, and compares what they print.
//
// A program is given the name of a scenario and prints one line for each thing
// that its user would notice: a message, an error, an event. It writes nothing
// that differs from run to run, so its output against nats-server is kept in a
// file, and every run of either server has to repeat it.
//
// A line that begins with @ asks the runner for something that only it can do,
// such as to start the server again or to stop the program for a while. The
// program goes on when it has read a line from the runner.
package clientscheck
