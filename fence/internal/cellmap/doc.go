// Package cellmap is the default index of package fence: the plane is divided into cells, and most
// cells know their answer without looking at an edge.
//
// # DESIGN
//
// A cellmap has a grid of equal root cells over the box of all fences. A root cell with many edges
// is divided into 2 x 2 cells, again and again, until a cell has at most splitEdges edges or is
// 2^MinShift units wide. A unit is 2^-23 degrees. All borders are whole units, so the cell of a
// coordinate is found by shifts, without rounding.
//
//	root cells (Dir, row by row from the south)        one root cell, divided twice
//	+-------+-------+-------+                          +-------+---+---+
//	| none  | list  | one 7 |                          |       | e | 3 |   3: one fence, ref 3
//	+-------+-------+-------+                          |   e   +---+---+   e: edges, a record
//	| one 3 | node -+-> -----------------------------> |       | 3 | 3 |
//	+-------+-------+-------+                          +-------+---+---+
//	| none  | edges | one 3 |                          |   3   |  none |
//	+-------+-------+-------+                          +-------+-------+
//
// An entry is a word of 32 bits. Its upper two bits are the kind, the others an offset or a ref:
//
//	00 list   offset in Words of a count and so many refs; offset 0 is the empty list
//	01 one    a ref: the cell is wholly inside this fence and in no other
//	10 edges  offset in Words of a record
//	11 node   index in Dir of the four entries of a divided cell: south-west, south-east,
//	          north-west, north-east
//
// A record has the edges that may touch its cell. Of a long edge it has the piece within the window
// around the cell, which is three cells wide and high:
//
//	bit      31              16 15        5 4      0
//	head     corner mask        edges       locals
//	refs     one word for each local: a part of a fence that has an edge here, or holds the corner
//	edges    three words for each: lo (x, y), size (dx, dy), sides
//	places   one word for each edge: its vertex in the fence's own ring
//
// Coordinates in edges are 16 bits, from the cell's south-west corner, in units or in a multiple of
// units that fits. The word sides has a bit for each local that the edge bounds, and two flags.
// record.go has the details, wide.go the form for cells with more than 16 locals.
//
// A look-up finds the cell, and takes the corner mask: the locals that hold the cell's south-west
// corner. A path leads from the corner north, and then east to the point. Each edge that the path
// crosses flips the bits of its locals. The bits that are set in the end are the answer. Where
// whole units cannot decide a crossing, the coordinates of the edge are read through its place, and
// geometry.Orient decides exactly.
//
// # Invariants
//
//   - A Map never changes after it was built; readers need no lock.
//   - Every look-up stays within Dir and Words: Check verifies it for an image from a file.
//   - A cell without a record is crossed by no edge, not even at its border.
//   - Words[0] is 0, the empty list. No node is reached by two entries.
//   - The answer of a point is that of geometry.Polygon.Decide for each fence, at every float64.
//   - Memory is bounded: wordsPerEdge words for each edge and wordsPerRoot for each root cell.
//     Beyond that the root cells become larger.
//
// # An edit
//
// An edit does not change the cellmap. A patch lies over it: tiles of 4 x 4 root cells, each a
// small cellmap of its own. An entry "as built" of a tile means the cell below it.
//
// Example: fence 3 moves its eastern border by one root cell.
//
//  1. The window of the change has the root cells of the box of the old and the new fence 3. If
//     they are more than patchCells, or beyond the grid, the fence goes into an R-tree beside the
//     cells.
//  2. mark finds the cells of the window that an edge of either fence may touch, or that are inside
//     one of the two only: the columns of both eastern borders, and those between.
//  3. know collects the other fences with edges in these cells: fence 7, a neighbour.
//  4. build makes these cells from the edges of 3 and 7 alone, with the same code as a whole build.
//  5. assemble copies the tiles of these cells, and puts the new cells into them. All other tiles,
//     and the base, are shared with the patch before. A tile with no changed cell is dropped.
//
// The new snapshot has the new patch. Snapshots that readers still use keep the patch before. When
// the R-tree has OverlayFences fences, or the set has Outgrown times as many edges as the base, the
// whole is built again beside the readers.
package cellmap
