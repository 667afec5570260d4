// Package tunnelstats exports what tunnel servers and clients count to Prometheus. A
// program that wants none of it does not import any of that with tunnel.
//
// Everything is read when somebody asks; nothing runs in between. Labels are what the
// policy calls its clients, and words of the library's own: no visitor makes a series.
package tunnelstats
