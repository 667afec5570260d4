// Package tunnelstats exports the stats of tunnel servers and clients to Prometheus. A program that
// imports only tunnel does not depend on Prometheus.
//
// The figures are read at each scrape; nothing runs in between. Labels are the names that the
// policy gives to clients, and fixed words of the library: the input of visitors makes no series.
package tunnelstats
