// Package helm holds the test of the chart. It is a module of its own: helm needs the libraries of
// Kubernetes, which nothing else here does.
package helm
