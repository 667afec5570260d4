// Package fencebench holds the goals of bench-fence, and measures its contenders:
// the index kinds and other programs' indexes within this process, and `paddock
// fence` and nginx as processes under wrk.
//
// A [Bench] has one scene: the largest set of a directory, with points that vehicles
// report, points that nothing prefers, and points on the fences' own edges. Every
// index must give the same answers to them before it is timed.
package fencebench
