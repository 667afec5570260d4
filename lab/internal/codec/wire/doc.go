// Package wire speaks wire for load's engines, over the machine that wire's own
// connections run on: acknowledged posts, requests, and streams that the other side counts.
package wire
