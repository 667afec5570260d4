// Package ticker ticks every few microseconds, for loads that have a schedule.
package ticker
